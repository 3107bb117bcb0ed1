// SPDX-License-Identifier: Apache-2.0
// Who may change what: root and the daemon's user everything, operators everything but an admin level above their
// own, coordinators the users, accounts and coordinators below what they coordinate, anybody his own default account
// and wckey.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "acct/catalog_check.h"

namespace spur::acct {
namespace {

using model::AdminLevel;

std::unexpected<Error> denied(std::string why) {
  return fail(ErrorCode::PermissionDenied, std::move(why));
}

// Calls f(old, new) for every record that differs; null where there is none.
template <class Record, class F>
Status each_change(const std::vector<Record>& before, const std::vector<Record>& after, F&& f) {
  std::map<std::string, const Record*> old;
  for (const Record& r : before) old.emplace(model::key_of(r), &r);
  for (const Record& r : after) {
    const auto found = old.find(model::key_of(r));
    const Record* was = found == old.end() ? nullptr : found->second;
    if (!was || *was != r) SPUR_TRY(f(was, &r));
    if (found != old.end()) old.erase(found);
  }
  for (const auto& [key, r] : old) SPUR_TRY(f(r, static_cast<const Record*>(nullptr)));
  return {};
}

// Only the account that is the default is another one.
bool only_default(const model::AssociationRecord& was, const model::AssociationRecord& is) {
  model::AssociationRecord same = was;
  same.row.is_default = is.row.is_default;
  return same == is;
}

struct Coordinator {
  const Catalog& before;
  const Catalog& after;
  const std::string& name;

  bool may(const std::string& cluster, const std::string& account) const {
    return before.lets_coordinators_change() && before.coordinates(name, cluster, account);
  }
  bool may_anywhere(const std::string& account) const {
    return std::ranges::any_of(before.records().clusters, [&](const auto& c) { return may(c.name, account); });
  }
  // Below one that he coordinates, seen from the new tree: an account that is just being added is not in the old one.
  bool may_below(const model::AssociationRecord& r) const {
    const std::string& account = r.row.is_user() ? r.row.account : r.parent;
    if (account.empty() || !before.lets_coordinators_change()) return false;
    return may(r.cluster, account) || after.coordinates(name, r.cluster, account);
  }

  Status association(const model::AssociationRecord* was, const model::AssociationRecord* is) const {
    if (was && is && was->row.user == name && only_default(*was, *is)) return {};
    // Limits and shares of the very account that he coordinates are for those above him.
    if ((!was || may_below(*was)) && (!is || may_below(*is))) return {};
    return denied(
        fmt::format("Only coordinators of account {} and operators may do that", (is ? is : was)->row.account));
  }
};

}  // namespace

Status check_rights(const Catalog& before, const Catalog& after, const Actor& actor) {
  if (actor.is_super) return {};
  const AdminLevel level = before.admin_level(actor.name);
  const auto& old = before.records();
  const auto& now = after.records();
  SPUR_TRY(
      each_change(old.users, now.users, [&](const model::UserRecord* was, const model::UserRecord* is) -> Status {
        const AdminLevel highest = std::max(was ? was->admin : AdminLevel::None, is ? is->admin : AdminLevel::None);
        if (highest > level) return denied("An admin level above your own is not yours to give or take");
        return {};
      }));
  if (level >= AdminLevel::Operator) return {};
  // The rights come from the coordinators of before: nobody makes himself one.
  const Coordinator who{before, after, actor.name};
  const bool coordinates_something =
      before.lets_coordinators_change() &&
      std::ranges::any_of(old.coordinators, [&](const auto& r) { return r.user == actor.name; });
  SPUR_TRY(each_change(old.associations, now.associations,
                       [&](const auto* was, const auto* is) { return who.association(was, is); }));
  SPUR_TRY(each_change(old.coordinators, now.coordinators, [&](const auto* was, const auto* is) -> Status {
    const std::string& account = (is ? is : was)->account;
    return who.may_anywhere(account)
               ? Status()
               : denied(fmt::format("Only coordinators of account {} and operators may do that", account));
  }));
  SPUR_TRY(each_change(old.wckeys, now.wckeys, [&](const auto* was, const auto* is) -> Status {
    if (was && is && was->user == actor.name) return {};
    return denied("Only operators may do that");
  }));
  // A record of an account or a user by itself gives nothing; it is needed for those below.
  SPUR_TRY(each_change(old.accounts, now.accounts, [&](const auto* was, const auto* is) -> Status {
    if (coordinates_something && !was) return {};
    if (was && !is && who.may_anywhere(was->name)) return {};
    return denied("Only operators may do that");
  }));
  SPUR_TRY(each_change(old.users, now.users, [&](const auto* was, const auto* is) -> Status {
    if (coordinates_something && !was) return {};
    // Whoever may remove all that the user has (and that was checked above) may remove the user.
    const auto is_of_user = [&](const auto& r) { return r.row.user == was->name; };
    if (was && !is && std::ranges::any_of(old.associations, is_of_user)) return {};
    return denied("Only operators may do that");
  }));
  const auto of_operators = [](const auto*, const auto*) -> Status { return denied("Only operators may do that"); };
  SPUR_TRY(each_change(old.clusters, now.clusters, of_operators));
  SPUR_TRY(each_change(old.qos, now.qos, of_operators));
  return each_change(old.resources, now.resources, of_operators);
}

}  // namespace spur::acct
