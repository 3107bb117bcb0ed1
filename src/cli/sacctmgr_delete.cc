// SPDX-License-Identifier: Apache-2.0
// sacctmgr delete: accounts go with all below them, users with all they have, QOS out of all lists.
#include <algorithm>
#include <map>
#include <set>

#include "cli/sacctmgr.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using model::AccountsChange;
using model::AssociationRecord;
using model::RecordKind;

struct Conditions {
  std::vector<std::string> names, descriptions, organizations, wckeys;
  AssociationFilter filter;
  std::optional<model::AdminLevel> admin;
  bool of_association = false, any = false;
};

bool read_conditions(Sacctmgr& s, std::span<const std::string> words, bool users, Conditions* c) {
  for (const Word& w : read_words(words)) {
    if (!w.has_key && (text::equal_ignoring_case(w.text, "where") || text::equal_ignoring_case(w.text, "and")))
      continue;
    c->any = true;
    if (!w.has_key || w.is("Names", 1) || (users && w.is("Users", 1)) || (!users && w.is("Accounts", 2))) {
      for (std::string& name : users ? users_in(s, w.value) : names_in(w.value)) c->names.push_back(std::move(name));
    } else if (users && w.is("Accounts", 2)) {
      c->filter.accounts = names_in(w.value);
      c->of_association = true;
    } else if (w.is("Clusters", 1)) {
      c->filter.clusters = names_in(w.value);
      c->of_association = true;
    } else if (users && w.is("Partitions", 3)) {
      c->filter.partitions = {w.value};
      c->of_association = true;
    } else if (users && w.is("AdminLevel", 2))
      c->admin = parse_admin(w.value);
    else if (users && w.is("WCKeys", 1))
      c->wckeys = names_in(w.value);
    else if (!users && w.is("Descriptions", 1))
      c->descriptions = names_in(w.value);
    else if (!users && w.is("Organizations", 1))
      c->organizations = names_in(w.value);
    else if (!users && w.is("Parents", 1)) {
      c->filter.parents = names_in(w.value);
      c->of_association = true;
    } else {
      s.plain(" Unknown condition: {}\n Use keyword 'set' to modify value", w.text);
      s.failed();
      return false;
    }
  }
  if (c->any) return true;
  s.plain(" No conditions given to remove, not executing.");
  s.failed();
  return false;
}

void nothing_deleted(Sacctmgr& s) {
  s.context.out.write(" Nothing deleted\n");
  s.failed();
}

std::string user_line(const AssociationRecord& r) {
  std::string line = fmt::format("  C = {:<10.10} A = {:<10.10} U = {:<9.9}", r.cluster, r.row.account, r.row.user);
  return line + (r.row.partition.empty() ? "\n" : fmt::format(" P = {}\n", r.row.partition));
}

void remove_user_records(const model::AccountRecords& all, const std::string& user, AccountsChange* change) {
  change->remove.push_back({RecordKind::User, user});
  for (const auto& r : all.coordinators)
    if (r.user == user) change->remove.push_back({RecordKind::Coordinator, model::key_of(r)});
  for (const auto& r : all.wckeys)
    if (r.user == user) change->remove.push_back({RecordKind::Wckey, model::key_of(r)});
}

// As 22.05 has it: who would lose two accounts or more at once, his default one among them, keeps them all; a default
// account that goes alone is gone, and its users have none. True, and the complaint is printed, in the first case.
bool would_lose_default(Sacctmgr& s, const std::vector<const AssociationRecord*>& gone, std::string_view advice) {
  if (s.records().may_lack_default) return false;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> lost;  // accounts by cluster and user
  for (const AssociationRecord* r : gone) lost[{r->cluster, r->row.user}].insert(r->row.account);
  std::string lines;
  for (const AssociationRecord* r : gone)
    if (r->row.is_default && lost[{r->cluster, r->row.user}].size() > 1)
      lines += fmt::format("  C = {:<15.15} A = {:<10.10} U = {:<9.9}\n", r->cluster, r->row.account, r->row.user);
  if (lines.empty()) return false;
  lines.pop_back();
  s.plain(" Error with request: You can not remove the default account of a user\n{}\n{}\n Changes Discarded", lines,
          advice);
  s.failed();
  return true;
}

// With wckey=: keys of users go, and nothing else.
void delete_keys_of_users(Sacctmgr& s, const Conditions& c) {
  AccountsChange change;
  std::string lines;
  for (const auto& r : s.records().wckeys) {
    if (!is_in_or_empty(c.names, r.user) || !is_in(c.wckeys, r.name) || !is_in_or_empty(c.filter.clusters, r.cluster)) continue;
    change.remove.push_back({RecordKind::Wckey, model::key_of(r)});
    lines += fmt::format("  C = {:<10.10} W = {:<20.20} U = {:<9.9}\n", r.cluster, r.name, r.user);
  }
  if (lines.empty()) return nothing_deleted(s);
  s.commit(std::move(change), " Deleting user WCKeys...\n" + lines);
}

void delete_user(Sacctmgr& s, std::span<const std::string> words) {
  Conditions c;
  if (!read_conditions(s, words, true, &c)) return;
  if (!c.wckeys.empty()) return delete_keys_of_users(s, c);
  const auto& all = s.records();
  AccountsChange change;
  std::string lines;
  std::vector<std::string> users;
  std::vector<const AssociationRecord*> gone;
  for (const auto& u : all.users)
    if (is_in_or_empty(c.names, u.name) && (!c.admin || u.admin == *c.admin)) users.push_back(u.name);
  std::ranges::sort(users);
  std::set<std::string> emptied(users.begin(), users.end());
  for (const PlacedRow& r : placed_rows(all)) {
    const std::string& user = r.record->row.user;
    if (user.empty() || !is_in(users, user)) continue;
    if (c.of_association && !c.filter.takes(*r.record, r.resolved)) {
      emptied.erase(user);
      continue;
    }
    change.remove.push_back({RecordKind::Association, model::key_of(*r.record)});
    lines += user_line(*r.record);
    gone.push_back(r.record);
  }
  if (c.of_association) {
    if (change.remove.empty()) return nothing_deleted(s);
    if (would_lose_default(s, gone,
                           " You must change the default account of these users or remove the users completely from "
                           "the affected clusters to allow these changes."))
      return;
    std::string text = fmt::format(" Deleting user associations...\n{}", lines), left;
    for (const std::string& user : users) {
      const bool had = std::ranges::any_of(all.associations, [&](const auto& r) { return r.row.user == user; });
      if (!had || !emptied.contains(user)) continue;
      left += "  " + user + "\n";
      remove_user_records(all, user, &change);
    }
    if (!left.empty()) text += fmt::format(" Deleting users (No Associations)...\n{}", left);
    return s.commit(std::move(change), text);
  }
  if (users.empty()) return nothing_deleted(s);
  std::string text = " Deleting users...\n";
  for (const std::string& user : users) {
    text += fmt::format("  {}\n", user);
    remove_user_records(all, user, &change);
  }
  s.commit(std::move(change), text);
}

void delete_account(Sacctmgr& s, std::span<const std::string> words) {
  Conditions c;
  if (!read_conditions(s, words, false, &c)) return;
  const auto& all = s.records();
  std::vector<std::string> accounts;
  for (const auto& a : all.accounts)
    if (is_in_or_empty(c.names, a.name) && is_in_or_empty(c.descriptions, text::lower(a.description)) &&
        is_in_or_empty(c.organizations, text::lower(a.organization)))
      accounts.push_back(a.name);
  std::ranges::sort(accounts);
  if (is_in(c.names, model::kRootAccount)) {
    s.plain(" You are not allowed to remove the root account.\n Use remove cluster instead.");
    return void(s.failed());
  }
  std::erase(accounts, std::string(model::kRootAccount));
  AccountsChange change;
  std::string lines;
  std::vector<const AssociationRecord*> gone;  // of users in accounts that are named themselves
  std::set<std::string> kept;  // accounts that stay on some cluster
  std::map<std::string, std::set<std::string>> below;
  for (const auto& cluster : all.clusters) {
    std::vector<std::string> here;
    for (const auto& r : all.associations)
      if (r.cluster == cluster.name && !r.row.is_user() && is_in(accounts, r.row.account)) {
        if (!c.of_association || c.filter.takes(r, r.row))
          here.push_back(r.row.account);
        else
          kept.insert(r.row.account);
      }
    if (!here.empty()) below[cluster.name] = accounts_below(all, cluster.name, here);
  }
  for (const PlacedRow& r : placed_rows(all)) {
    const auto found = below.find(r.record->cluster);
    if (found == below.end() || !found->second.contains(r.record->row.account)) continue;
    change.remove.push_back({RecordKind::Association, model::key_of(*r.record)});
    if (r.record->row.is_user() && is_in(accounts, r.record->row.account)) gone.push_back(r.record);
    lines += r.record->row.is_user() ? user_line(*r.record)
                                     : fmt::format("  C = {:<10.10} A = {} of {}\n", r.record->cluster,
                                                   r.record->row.account, r.record->parent);
  }
  if (accounts.empty() || (c.of_association && change.remove.empty())) return nothing_deleted(s);
  if (would_lose_default(s, gone,
                         " Please either remove the accounts listed above from list and resubmit,\n or change these "
                         "users' default accounts to remove the account(s)."))
    return;
  std::string text = " Deleting account associations...\n" + lines;
  if (!c.of_association) {
    text = " Deleting accounts...\n";
    for (const std::string& account : accounts) {
      text += fmt::format("  {}\n", account);
      change.remove.push_back({RecordKind::Account, account});
      for (const auto& r : all.coordinators)
        if (r.account == account) change.remove.push_back({RecordKind::Coordinator, model::key_of(r)});
    }
  }
  s.commit(std::move(change), text);
}

void delete_cluster(Sacctmgr& s, std::span<const std::string> words) {
  std::vector<std::string> names;
  for (const Word& w : read_words(words)) {
    if (!w.has_key && text::equal_ignoring_case(w.text, "where")) continue;
    if (!w.has_key || w.is("Names", 1) || w.is("Clusters", 3))
      names = names_in(w.value);
    else
      return s.plain(" Unknown condition: {}\n Use keyword 'set' to modify value", w.text), void(s.failed());
  }
  if (names.empty()) return s.plain(" No conditions given to remove, not executing."), void(s.failed());
  AccountsChange change;
  std::string lines;
  for (const auto& cluster : s.records().clusters) {
    if (!is_in(names, cluster.name)) continue;
    lines += "  " + cluster.name + "\n";
    change.remove.push_back({RecordKind::Cluster, cluster.name});
    for (const auto& r : s.records().associations)
      if (r.cluster == cluster.name) change.remove.push_back({RecordKind::Association, model::key_of(r)});
    for (const auto& r : s.records().wckeys)
      if (r.cluster == cluster.name) change.remove.push_back({RecordKind::Wckey, model::key_of(r)});
  }
  for (model::ResourceRecord r : s.records().resources)
    if (std::erase_if(r.shares, [&](const auto& share) { return is_in(names, share.cluster); }) > 0)
      change.put.resources.push_back(r);
  if (lines.empty()) return nothing_deleted(s);
  s.commit(std::move(change), " Deleting clusters...\n" + lines);
}

void delete_qos(Sacctmgr& s, std::span<const std::string> words) {
  std::vector<std::string> names, descriptions;
  std::vector<std::uint32_t> ids;
  for (const Word& w : read_words(words)) {
    if (!w.has_key && text::equal_ignoring_case(w.text, "where")) continue;
    if (!w.has_key || w.is("Names", 1) || w.is("QOSLevel", 1))
      names = names_in(w.value);
    else if (w.is("Descriptions", 1))
      descriptions = names_in(w.value);
    else if (w.is("Ids", 1))
      ids = numbers_in(w.value);
    else
      return s.plain(" Unknown condition: {}\n Use keyword 'set' to modify value", w.text), void(s.failed());
  }
  if (names.empty() && descriptions.empty() && ids.empty())
    return s.plain(" No conditions given to remove, not executing."), void(s.failed());
  std::vector<std::string> gone;
  AccountsChange change;
  for (const auto& q : s.records().qos) {
    if (!is_in_or_empty(names, q.name) || !is_in_or_empty(descriptions, text::lower(q.description)) ||
        !has_number(ids, q.id))
      continue;
    gone.push_back(q.name);
    change.remove.push_back({RecordKind::Qos, q.name});
  }
  if (gone.empty()) return nothing_deleted(s);
  const auto without = [&](std::vector<std::string>& list) {
    return std::erase_if(list, [&](const auto& n) { return is_in(gone, n); }) > 0;
  };
  for (model::Qos q : s.records().qos)
    if (!is_in(gone, q.name) && without(q.preempts)) change.put.qos.push_back(q);
  for (AssociationRecord r : s.records().associations) {
    bool touched = without(r.row.qos);
    touched = without(r.qos_added) || touched;
    touched = without(r.qos_removed) || touched;
    if (is_in(gone, r.row.default_qos)) r.row.default_qos.clear(), touched = true;
    if (touched) change.put.associations.push_back(r);
  }
  std::ranges::sort(gone);
  std::string text = " Deleting QOS(s)...\n";
  for (const std::string& name : gone) text += fmt::format("  {}\n", name);
  s.commit(std::move(change), text);
}

void delete_coordinator(Sacctmgr& s, std::span<const std::string> words) {
  std::vector<std::string> names, accounts;
  for (const Word& w : read_words(words)) {
    if (!w.has_key && text::equal_ignoring_case(w.text, "where")) continue;
    if (!w.has_key || w.is("Names", 1) || w.is("Users", 1))
      names = users_in(s, w.value);
    else if (w.is("Accounts", 1))
      accounts = names_in(w.value);
    else
      return s.plain(" Unknown condition: {}\n Use keyword 'set' to modify value", w.text), void(s.failed());
  }
  if (names.empty() && accounts.empty())
    return s.plain(" You need to specify a user list or account list here."), void(s.failed());
  const auto& all = s.records();
  for (const std::string& account : accounts)
    if (std::ranges::find(all.accounts, account, &model::AccountRecord::name) == all.accounts.end())
      s.plain(" You specified a non-existent account '{}'.", account), s.failed();
  for (const std::string& name : names)
    if (std::ranges::find(all.users, name, &model::UserRecord::name) == all.users.end())
      s.plain(" You specified a non-existent user '{}'.", name), s.failed();
  if (s.status != 0) return;
  auto& out = s.context.out;
  const auto list = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) out.print("  {}\n", line);
  };
  if (names.empty()) {
    out.write(" Removing all users from Accounts\n");
    list(accounts);
  } else {
    out.write(" Removing Coordinators with user name\n");
    list(names);
    out.write(accounts.empty() ? " From all accounts\n" : " From Account(s)\n");
    list(accounts);
  }
  AccountsChange change;
  std::string lines;
  for (const auto& r : all.coordinators) {
    if (!is_in_or_empty(names, r.user) || !is_in_or_empty(accounts, r.account)) continue;
    change.remove.push_back({RecordKind::Coordinator, model::key_of(r)});
    lines += fmt::format("  U = {:<9.9} A = {:<10.10}\n", r.user, r.account);
  }
  if (lines.empty()) return out.write(" Nothing removed\n"), void(s.failed());
  out.print(" Removed Coordinators (sub accounts not listed)...\n{}", lines);
  s.commit(std::move(change));
}

void delete_resource(Sacctmgr& s, std::span<const std::string> words) {
  std::vector<std::string> names, servers, clusters;
  for (const Word& w : read_words(words)) {
    if (!w.has_key && text::equal_ignoring_case(w.text, "where")) continue;
    if (!w.has_key || w.is("Names", 1))
      names = names_in(w.value);
    else if (w.is("Servers", 1))
      servers = names_in(w.value);
    else if (w.is("Clusters", 1))
      clusters = names_in(w.value);
    else
      return s.plain(" Unknown condition: {}\n Use keyword 'set' to modify value", w.text), void(s.failed());
  }
  if (names.empty()) return s.plain(" No conditions given to remove, not executing."), void(s.failed());
  AccountsChange change;
  std::string lines;
  for (model::ResourceRecord r : s.records().resources) {
    if (!is_in(names, r.name) || !is_in_or_empty(servers, r.server)) continue;
    if (clusters.empty()) lines += fmt::format("  {}@{}\n", r.name, r.server);
    for (const auto& share : r.shares)
      if (is_in_or_empty(clusters, share.cluster))
        lines += fmt::format("  Cluster - {}\t- {}@{}\n", share.cluster, r.name, r.server);
    if (clusters.empty()) {
      change.remove.push_back({RecordKind::Resource, model::key_of(r)});
    } else if (std::erase_if(r.shares, [&](const auto& share) { return is_in(clusters, share.cluster); }) > 0) {
      change.put.resources.push_back(r);
    }
  }
  if (lines.empty()) return nothing_deleted(s);
  s.commit(std::move(change), " Deleting resource(s)...\n" + lines);
}

}  // namespace

void sacctmgr_delete(Sacctmgr& s, std::span<const std::string> words) {
  static constexpr EntityVerb kVerbs[] = {
      {"Accounts", 1, delete_account},         {"Acct", 4, delete_account}, {"Clusters", 2, delete_cluster},
      {"Coordinators", 2, delete_coordinator}, {"QOS", 1, delete_qos},      {"Resources", 1, delete_resource},
      {"Users", 1, delete_user},
      {"Federations", 1, nullptr}};
  run_entity(s, "delete", kVerbs, words,
             "\"Account\", \"Cluster\", \"Coordinator\", \"Federation\", \"QOS\", \"Resource\", or \"User\"");
}

}  // namespace spur::cli
