// SPDX-License-Identifier: Apache-2.0
#include "acct/catalog_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_set>

#include "acct/catalog_deleted.h"
#include "text/printable.h"

namespace spur::acct {
namespace {

using Names = std::unordered_set<std::string>;  // look-up only

template <class List>
Names names_of(const List& list) {
  Names names;
  for (const auto& record : list) names.insert(record.name);
  return names;
}

std::unexpected<Error> bad(ErrorCode code, std::string message) {
  return fail(code, std::move(message));
}

struct Known {
  Names clusters, accounts, users, qos, tres;
  explicit Known(const model::AccountRecords& all)
      : clusters(names_of(all.clusters)),
        accounts(names_of(all.accounts)),
        users(names_of(all.users)),
        qos(names_of(all.qos)) {
    for (const auto& r : all.tres) tres.insert(r.name.empty() ? r.type : r.type + "/" + r.name);
  }
};

Status check_tres(const Known& known, std::initializer_list<const model::TresCounts*> lists) {
  for (const auto* list : lists) {
    Names seen;
    for (const model::TresCount& item : *list) {
      if (!known.tres.contains(item.tres))
        return bad(ErrorCode::InvalidTres, fmt::format("no TRES known by type {}", text::shown(item.tres)));
      if (!seen.insert(item.tres).second)
        return bad(ErrorCode::InvalidTres, fmt::format("{} is limited twice", text::shown(item.tres)));
    }
  }
  return {};
}
Status check_group(const Known& known, const model::GroupLimits& group) {
  return check_tres(known, {&group.tres, &group.tres_minutes, &group.tres_run_minutes});
}

Status check_qos_names(const Known& known, std::initializer_list<const std::vector<std::string>*> lists) {
  for (const auto* list : lists)
    for (const std::string& name : *list)
      if (!known.qos.contains(name))
        return bad(ErrorCode::InvalidQos, fmt::format("There is no qos {}", text::shown(name)));
  return {};
}

Status check_association(const Known& known, const model::AssociationRecord& r) {
  const model::Association& row = r.row;
  if (!known.clusters.contains(r.cluster))
    return bad(ErrorCode::NotFound, fmt::format("There is no cluster {}", text::shown(r.cluster)));
  if (!known.accounts.contains(row.account))
    return bad(ErrorCode::InvalidAccount, fmt::format("There is no account {}", text::shown(row.account)));
  if (row.is_user()) {
    if (!known.users.contains(row.user))
      return bad(ErrorCode::InvalidUser, fmt::format("There is no user {}", text::shown(row.user)));
    if (r.parent != row.account)
      return bad(ErrorCode::InvalidAccount,
                 fmt::format("User {} is to be below its account {}", row.user, row.account));
  } else if (!row.partition.empty() || row.is_default) {
    return bad(ErrorCode::InvalidArgument, fmt::format("Account {} itself has no partition", row.account));
  } else if ((row.account == model::kRootAccount) != r.parent.empty()) {
    return bad(ErrorCode::InvalidAccount,
               fmt::format("Account {} cannot have the parent '{}'", row.account, r.parent));
  }
  SPUR_TRY(check_qos_names(known, {&row.qos, &r.qos_added, &r.qos_removed}));
  if (!row.default_qos.empty() && !known.qos.contains(row.default_qos))
    return bad(ErrorCode::InvalidQos, fmt::format("There is no qos {}", text::shown(row.default_qos)));
  SPUR_TRY(check_group(known, row.group));
  return check_tres(known, {&row.max_tres_per_job, &row.max_tres_per_node, &row.max_tres_minutes_per_job,
                            &row.max_tres_run_minutes});
}

Status check_tree(const model::AccountRecords& all) {
  std::set<std::tuple<std::string, std::string, std::string, std::string>> seen;
  std::set<std::tuple<std::string, std::string, std::string>> defaults;  // cluster, user, account
  for (const auto& r : all.associations) {
    if (!seen.emplace(r.cluster, r.row.account, r.row.user, r.row.partition).second)
      return bad(ErrorCode::AlreadyExists,
                 fmt::format("The association of account {} user '{}' partition '{}' on {} is there already",
                             r.row.account, r.row.user, r.row.partition, r.cluster));
    if (r.row.is_default) defaults.emplace(r.cluster, r.row.user, r.row.account);
  }
  for (auto it = defaults.begin(); it != defaults.end(); ++it) {
    const auto next = std::next(it);
    if (next != defaults.end() && std::get<0>(*it) == std::get<0>(*next) && std::get<1>(*it) == std::get<1>(*next))
      return bad(ErrorCode::InvalidAccount,
                 fmt::format("User {} has two default accounts on {}", std::get<1>(*it), std::get<0>(*it)));
  }
  for (const auto& r : all.associations) {
    if (r.parent.empty()) continue;
    if (!seen.contains({r.cluster, r.parent, "", ""}))
      return bad(ErrorCode::InvalidAccount, fmt::format("Parent account '{}' of {} doesn't exist on cluster {}",
                                                        r.parent, r.row.account, r.cluster));
  }
  // What is its own ancestor is not reached from a root.
  std::size_t reached = 0;
  for (const auto& cluster : all.clusters) {
    if (!seen.contains({cluster.name, std::string(model::kRootAccount), "", ""}))
      return bad(ErrorCode::InvalidAccount, fmt::format("Cluster {} must keep its root account", cluster.name));
    reached += model::tree_of(all.associations, cluster.name).size();
  }
  if (reached != all.associations.size()) return bad(ErrorCode::InvalidAccount, "An account cannot be below itself");
  return {};
}

Status check_qos(const Known& known, const std::vector<model::Qos>& all) {
  for (const model::Qos& qos : all) {
    SPUR_TRY(check_qos_names(known, {&qos.preempts}));
    SPUR_TRY(check_group(known, qos.group));
    SPUR_TRY(check_tres(
        known, {&qos.max_tres_per_job, &qos.max_tres_per_node, &qos.max_tres_per_user, &qos.max_tres_per_account,
                &qos.max_tres_minutes_per_job, &qos.max_tres_run_minutes_per_user,
                &qos.max_tres_run_minutes_per_account, &qos.min_tres_per_job}));
    if (qos.usage_factor_thousandths < 0)
      return bad(ErrorCode::InvalidArgument, fmt::format("The usage factor of qos {} is negative", qos.name));
  }
  // A QOS that (over others) preempts itself: those that only preempt what has been looked at go, what stays is a
  // loop.
  std::vector<const model::Qos*> open;
  for (const model::Qos& qos : all) open.push_back(&qos);
  Names done;
  for (bool moved = true; moved;) {
    moved = std::erase_if(open, [&](const model::Qos* qos) {
              const bool ready =
                  std::ranges::all_of(qos->preempts, [&](const auto& name) { return done.contains(name); });
              if (ready) done.insert(qos->name);
              return ready;
            }) > 0;
  }
  if (!open.empty()) return bad(ErrorCode::InvalidQos, "QOS Preemption loop detected");
  return {};
}

Status check_rest(const Known& known, const model::AccountRecords& all) {
  for (const auto& r : all.coordinators) {
    if (!known.accounts.contains(r.account))
      return bad(ErrorCode::InvalidAccount, fmt::format("There is no account {}", text::shown(r.account)));
    if (!known.users.contains(r.user))
      return bad(ErrorCode::InvalidUser, fmt::format("There is no user {}", text::shown(r.user)));
  }
  std::set<std::tuple<std::string, std::string, std::string>> wckeys;
  for (const auto& r : all.wckeys) {
    if (!known.clusters.contains(r.cluster) || !known.users.contains(r.user))
      return bad(ErrorCode::NotFound, fmt::format("Wckey {} is of a user or cluster that is not there", r.name));
    if (!wckeys.emplace(r.name, r.user, r.cluster).second)
      return bad(ErrorCode::AlreadyExists, fmt::format("Wckey {} of {} is there already", r.name, r.user));
  }
  std::set<std::pair<std::string, std::string>> resources;
  for (const auto& r : all.resources) {
    if (!resources.emplace(r.name, r.server).second)
      return bad(ErrorCode::AlreadyExists, fmt::format("Resource {}@{} is there already", r.name, r.server));
    std::uint64_t percent = 0;
    for (const auto& share : r.shares) {
      if (!known.clusters.contains(share.cluster))
        return bad(ErrorCode::NotFound, fmt::format("There is no cluster {}", text::shown(share.cluster)));
      percent += share.percent;
    }
    if (percent > 100)
      return bad(ErrorCode::InvalidArgument,
                 fmt::format("More than 100 percent of {}@{} would be given away", r.name, r.server));
  }
  return {};
}

}  // namespace

Status check_records(const model::AccountRecords& all) {
  const Known known(all);
  if (!known.accounts.contains(std::string(model::kRootAccount)))
    return bad(ErrorCode::InvalidAccount, "You are not allowed to remove the root account");
  for (const auto& r : all.associations) SPUR_TRY(check_association(known, r));
  SPUR_TRY(check_tree(all));
  SPUR_TRY(check_qos(known, all.qos));
  return check_rest(known, all);
}

void add_root(const std::string& cluster, const std::string& qos, const model::AccountRecords& deleted, model::AccountRecords* all,
              Catalog::Counters* counters) {
  const DeletedNumbers numbers(deleted);
  const auto number = [&](model::AssociationRecord& record) {
    record.row.id = numbers.of(record);
    if (record.row.id == 0) record.row.id = counters->next_association++;
  };
  const auto is_there = [&](std::string_view user) {
    return std::ranges::any_of(all->associations, [&](const auto& r) {
      return r.cluster == cluster && r.row.account == model::kRootAccount && r.row.user == user;
    });
  };
  if (is_there("")) return;
  model::AssociationRecord top;
  top.cluster = cluster;
  top.row.account = model::kRootAccount;
  number(top);
  if (std::ranges::find(all->qos, qos, &model::Qos::name) != all->qos.end()) top.row.qos = {qos};
  all->associations.push_back(top);
  if (std::ranges::find(all->users, "root", &model::UserRecord::name) == all->users.end()) return;
  model::AssociationRecord user;
  user.cluster = cluster;
  user.parent = model::kRootAccount;
  user.order = -1;
  user.row.account = model::kRootAccount;
  user.row.user = "root";
  number(user);
  user.row.is_default = true;
  all->associations.push_back(user);
}

void give_default_qos(const model::AccountRecords& before, const std::string& qos,
                      const std::vector<model::ClusterRecord>& put, model::AccountRecords* all) {
  if (std::ranges::find(all->qos, qos, &model::Qos::name) == all->qos.end()) return;
  for (model::AssociationRecord& r : all->associations) {
    if (r.row.is_user() || r.row.account != model::kRootAccount || !r.row.qos.empty()) continue;
    const auto same = [&](const auto& cluster) { return cluster.name == r.cluster; };
    if (std::ranges::any_of(put, same) && std::ranges::none_of(before.clusters, same)) r.row.qos = {qos};
  }
}

}  // namespace spur::acct
