// SPDX-License-Identifier: Apache-2.0
// sacctmgr modify: what stands behind `where` (or first) chooses, what stands behind `set` is changed.
#include <algorithm>

#include "cli/display.h"
#include "cli/sacctmgr.h"
#include "cli/sacctmgr_jobs.h"
#include "text/decimal.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using model::AccountsChange;
using model::AssociationRecord;

// Splits the words at "where" and "set"; what comes before either is a condition.
struct Halves {
  std::vector<Word> where, set;
};
Halves halves(std::span<const std::string> words) {
  Halves out;
  bool setting = false;
  for (Word& w : read_words(words)) {
    if (!w.has_key && text::equal_ignoring_case(w.text, "set"))
      setting = true;
    else if (!w.has_key && text::equal_ignoring_case(w.text, "where"))
      setting = false;
    else if (!w.has_key && text::equal_ignoring_case(w.text, "and"))
      continue;
    else
      (setting ? out.set : out.where).push_back(std::move(w));
  }
  return out;
}

void add_names(std::vector<std::string> more, std::vector<std::string>* names) {
  for (std::string& name : more)
    if (!is_in(*names, name)) names->push_back(std::move(name));
}

void bad_condition(Sacctmgr& s, const Word& w) {
  s.plain(" Unknown condition: {}\n Use keyword 'set' to modify value", w.text);
  s.failed();
}
void bad_setting(Sacctmgr& s, const Word& w) {
  s.plain(" Unknown option: {}\n Use keyword 'where' to modify condition", w.text);
  s.failed();
}
void nothing_to_set(Sacctmgr& s) {
  s.plain(" You didn't give me anything to set");
  s.failed();
}
void nothing_modified(Sacctmgr& s) {
  s.context.out.write(" Nothing modified\n");
  s.failed();
}
// Conditions that say nothing of associations, where these are to be changed.
void bad_where(Sacctmgr& s) {
  s.plain(" There was a problem with your 'where' options.");
  s.failed();
}
bool sure_without_where(Sacctmgr& s, bool conditions) {
  if (conditions || s.immediate) return true;
  s.context.out.write("You didn't set any conditions with 'WHERE'.\n");
  if (s.ask("Are you sure you want to continue?")) return true;
  s.context.out.write("Aborted\n");
  return false;
}

std::string account_line(const AssociationRecord& r) {
  if (r.parent.empty()) return fmt::format("  C = {:<10.10} A = {}\n", r.cluster, r.row.account);
  return fmt::format("  C = {:<10.10} A = {} of {}\n", r.cluster, r.row.account, r.parent);
}
std::string user_line(const AssociationRecord& r) {
  std::string line = fmt::format("  C = {:<10.10} A = {:<20.20} U = {:<9.9}", r.cluster, r.row.account, r.row.user);
  return line + (r.row.partition.empty() ? "\n" : fmt::format(" P = {}\n", r.row.partition));
}

// What the users below have of limits, which may be inherited.
bool same_limits(const model::Association& a, const model::Association& b) {
  return a.max_jobs == b.max_jobs && a.max_jobs_accrue == b.max_jobs_accrue && a.max_submit == b.max_submit &&
         a.max_wall_minutes == b.max_wall_minutes && a.min_priority == b.min_priority &&
         a.max_tres_per_job == b.max_tres_per_job && a.max_tres_per_node == b.max_tres_per_node &&
         a.max_tres_minutes_per_job == b.max_tres_minutes_per_job && a.max_tres_run_minutes == b.max_tres_run_minutes;
}

// The lines for all that a change touches: the rows themselves, and users below that get another limit by it.
std::string touched_lines(const model::AccountRecords& before, const std::vector<AssociationRecord>& put) {
  model::AccountRecords after = before;
  for (const AssociationRecord& r : put)
    *std::ranges::find_if(after.associations, [&](const auto& k) { return k.row.id == r.row.id; }) = r;
  std::map<std::uint32_t, model::Association> fresh;
  for (const PlacedRow& r : placed_rows(after)) fresh.emplace(r.record->row.id, r.resolved);
  std::string lines;
  for (const PlacedRow& r : placed_rows(before)) {
    const bool itself = std::ranges::any_of(put, [&](const auto& p) { return p.row.id == r.record->row.id; });
    const auto now = fresh.find(r.record->row.id);
    const bool inherits = r.record->row.is_user() && now != fresh.end() && !same_limits(r.resolved, now->second);
    if (itself || inherits) lines += r.record->row.is_user() ? user_line(*r.record) : account_line(*r.record);
  }
  return lines;
}

// The account gets another parent. One from below it takes its place first, as in Slurm, so that there is no circle.
bool move_account(const model::AccountRecords& all, const std::string& parent, AssociationRecord* r,
                  std::vector<AssociationRecord>* put) {
  if (r->row.account == parent || r->parent.empty() || r->parent == parent) return false;
  const auto target = std::ranges::find_if(all.associations, [&](const auto& k) {
    return k.cluster == r->cluster && k.row.account == parent && !k.row.is_user();
  });
  if (target == all.associations.end()) return false;
  if (accounts_below(all, r->cluster, {r->row.account}).contains(parent)) {
    AssociationRecord up = *target;
    up.parent = r->parent;
    put->push_back(up);
  }
  r->parent = parent;
  return true;
}

void modify_account(Sacctmgr& s, std::span<const std::string> words) {
  const Halves h = halves(words);
  AssociationFilter filter;
  std::vector<std::string> names, descriptions, organizations;
  for (const Word& w : h.where) {
    if (!w.has_key || w.is("Names", 1) || w.is("Accounts", 2))
      add_names(names_in(w.value), &names);
    else if (w.is("Clusters", 1))
      filter.clusters = names_in(w.value);
    else if (w.is("Descriptions", 1))
      descriptions = names_in(w.value);
    else if (w.is("Organizations", 1))
      organizations = names_in(w.value);
    else if (w.is("Parents", 1))
      filter.parents = names_in(w.value);
    else if (w.is("QOSLevel", 1))
      filter.qos = names_in(w.value);
    else
      return bad_condition(s, w);
  }
  AssociationEdit edit;
  bool reset = false;
  std::optional<std::string> description, organization;
  for (const Word& w : h.set) {
    if (w.is("Description", 1))
      description = text::lower(w.value);
    else if (w.is("Organization", 1))
      organization = text::lower(w.value);
    else if (w.is("Names", 1))
      return s.plain(" Can't modify the name of an account"), void(s.failed());
    else if (w.is("RawUsage", 7)) {
      if (!read_raw_usage(s, w, &reset)) return;
    } else {
      const Parsed parsed = parse_association_edit(s, w, &edit);
      if (parsed == Parsed::Bad) return void(s.failed());
      if (parsed == Parsed::NotMine) return bad_setting(s, w);
    }
  }
  if (reset) return reset_usage(s, filter.clusters, names, {});
  const auto& known = s.records().accounts;
  if (edit.parent && std::ranges::find(known, *edit.parent, &model::AccountRecord::name) == known.end())
    return s.plain(" Parent Account {} doesn't exist.", *edit.parent), void(s.failed());
  if (!edit.any() && !edit.parent && !description && !organization) return nothing_to_set(s);
  const bool by_account = !names.empty() || !filter.clusters.empty() || !filter.parents.empty() || !filter.qos.empty();
  if ((edit.any() || edit.parent) && !h.where.empty() && !by_account) return bad_where(s);
  if (!sure_without_where(s, !h.where.empty())) return;
  AccountsChange change;
  std::string lines;
  const auto chosen = [&](const model::AccountRecord& a) {
    return is_in_or_empty(names, a.name) && is_in_or_empty(descriptions, text::lower(a.description)) &&
           is_in_or_empty(organizations, text::lower(a.organization));
  };
  std::set<std::string> accounts;
  for (const auto& a : s.records().accounts) {
    if (!chosen(a)) continue;
    accounts.insert(a.name);
    if (!description && !organization) continue;
    change.put.accounts.push_back(
        {a.name, description.value_or(a.description), organization.value_or(a.organization)});
    lines += "  " + a.name + "\n";
  }
  for (const PlacedRow& r : placed_rows(s.records())) {
    if (r.record->row.is_user() || !accounts.contains(r.record->row.account) || !filter.takes(*r.record, r.resolved))
      continue;
    if (!edit.any() && !edit.parent) continue;
    AssociationRecord row = *r.record;
    edit.apply(row);
    if (edit.parent && !move_account(s.records(), *edit.parent, &row, &change.put.associations) && !edit.any())
      continue;
    change.put.associations.push_back(row);
  }
  if (change.put.associations.empty() && change.put.accounts.empty()) return nothing_modified(s);
  std::string what = lines.empty() ? "" : " Modified accounts...\n" + lines;
  if (!change.put.associations.empty()) {
    std::vector<AssociationRecord> meant;  // not one that only made room
    for (const auto& r : change.put.associations)
      if (accounts.contains(r.row.account)) {
        meant.push_back(r);
        // What users have by another parent is not told.
        for (const auto& old : s.records().associations)
          if (old.row.id == r.row.id) meant.back().parent = old.parent;
      }
    what += " Modified account associations...\n" + touched_lines(s.records(), meant);
  }
  s.commit(std::move(change), what);
}

struct UserSettings {
  AssociationEdit edit;
  std::optional<model::AdminLevel> admin;
  bool bad_admin = false, reset = false, sets_default = false;
  std::string default_account, default_wckey, new_name;
  bool of_user() const { return admin || sets_default || !default_wckey.empty() || !new_name.empty(); }
};

bool read_user_settings(Sacctmgr& s, const std::vector<Word>& words, UserSettings* u) {
  for (const Word& w : words) {
    if (w.is("AdminLevel", 2)) {
      u->admin = parse_admin(w.value);
      u->bad_admin = !u->admin;
    } else if (w.is("DefaultAccount", 8))
      u->default_account = names_in(w.value).front(), u->sets_default = true;
    else if (w.is("DefaultWCKey", 8))
      u->default_wckey = names_in(w.value).front();
    else if (w.is("NewName", 1))
      u->new_name = users_in(s, w.value).front();
    else if (w.is("RawUsage", 7)) {
      if (!read_raw_usage(s, w, &u->reset)) return false;
    } else if (w.is("Partitions", 3))
      return bad_setting(s, w), false;
    else {
      const Parsed parsed = parse_association_edit(s, w, &u->edit);
      if (parsed == Parsed::Bad) return s.failed(), false;
      if (parsed == Parsed::NotMine || u->edit.parent) return bad_setting(s, w), false;
    }
  }
  return true;
}

// True if all the users have the account on all clusters meant; else the complaint is printed. An empty name: none.
bool set_default_account(Sacctmgr& s, const std::string& account, const std::vector<std::string>& users,
                         const std::vector<std::string>& clusters, AccountsChange* change) {
  std::string missing;
  for (const std::string& user : users) {
    for (const auto& cluster : s.records().clusters) {
      const auto of_user = [&](const AssociationRecord& r) {
        return r.cluster == cluster.name && r.row.user == user;
      };
      if (!is_in_or_empty(clusters, cluster.name) || std::ranges::none_of(s.records().associations, of_user))
        continue;
      bool found = false;
      for (const AssociationRecord& r : s.records().associations) {
        if (!of_user(r)) continue;
        const bool is_default = r.row.account == account;
        found = found || is_default;
        if (r.row.is_default == is_default) continue;
        change->put.associations.push_back(r);
        change->put.associations.back().row.is_default = is_default;
      }
      if (!found && !account.empty()) missing += fmt::format("  U = {} C = {}\n", user, cluster.name);
    }
  }
  if (missing.empty()) return true;
  s.context.out.print(" Can't modify because these users aren't associated with new default account '{}'...\n{}",
                      account, missing);
  s.failed();
  return false;
}

// The same of a workload key.
bool has_wckey(Sacctmgr& s, const std::string& wckey, const std::vector<std::string>& users,
               const std::vector<std::string>& clusters) {
  std::string missing;
  for (const std::string& user : users)
    for (const auto& cluster : s.records().clusters) {
      if (!is_in_or_empty(clusters, cluster.name)) continue;
      const auto has = [&](const auto& r) { return r.cluster == cluster.name && r.user == user && r.name == wckey; };
      if (std::ranges::none_of(s.records().wckeys, has)) missing += fmt::format("  U = {} C = {}\n", user, cluster.name);
    }
  if (missing.empty()) return true;
  s.context.out.print(" Can't modify because these users aren't associated with new default wckey '{}'...\n{}", wckey,
                      missing);
  s.failed();
  return false;
}

void rename_user(const model::AccountRecords& all, const std::string& from, const std::string& to,
                 AccountsChange* change) {
  const auto put_once = [&](const AssociationRecord& r) -> AssociationRecord& {
    for (auto& known : change->put.associations)
      if (known.row.id == r.row.id) return known;
    return change->put.associations.emplace_back(r);
  };
  for (const auto& r : all.associations)
    if (r.row.user == from) put_once(r).row.user = to;
  for (const auto& r : all.coordinators) {
    if (r.user != from) continue;
    change->remove.push_back({model::RecordKind::Coordinator, model::key_of(r)});
    change->put.coordinators.push_back({r.account, to});
  }
  for (auto r : all.wckeys) {
    if (r.user != from) continue;
    r.user = to;
    change->put.wckeys.push_back(r);
  }
  change->remove.push_back({model::RecordKind::User, from});
}

void modify_user(Sacctmgr& s, std::span<const std::string> words) {
  const Halves h = halves(words);
  AssociationFilter filter;
  std::vector<std::string> names, default_accounts;
  std::optional<model::AdminLevel> admin;
  for (const Word& w : h.where) {
    if (!w.has_key || w.is("Names", 1) || w.is("Users", 1))
      add_names(users_in(s, w.value), &names);
    else if (w.is("Accounts", 2))
      filter.accounts = names_in(w.value);
    else if (w.is("AdminLevel", 2))
      admin = parse_admin(w.value);
    else if (w.is("Clusters", 1))
      filter.clusters = names_in(w.value);
    else if (w.is("DefaultAccount", 8))
      default_accounts = names_in(w.value);
    else if (w.is("Partitions", 3))
      filter.partitions = {std::string(w.value)};
    else if (w.is("QOSLevel", 1))
      filter.qos = names_in(w.value);
    else
      return bad_condition(s, w);
  }
  UserSettings u;
  if (!read_user_settings(s, h.set, &u)) return;
  if (u.bad_admin) {
    s.context.info(
        "accounting_storage/slurmdbd: acct_storage_p_modify_users: Request didn't affect anything or your user "
        "doesn't have privilege to perform this action");
    return nothing_modified(s);
  }
  if (u.reset) return reset_usage(s, filter.clusters, filter.accounts, names);
  if (!u.edit.any() && !u.of_user()) return nothing_to_set(s);
  const bool by_row = !names.empty() || !filter.accounts.empty() || !filter.partitions.empty() || !filter.qos.empty();
  if (u.edit.any() && !h.where.empty() && !by_row) return bad_where(s);
  if (!sure_without_where(s, !h.where.empty())) return;
  const auto& all = s.records();
  AccountsChange change;
  std::vector<std::string> users;
  for (const auto& user : all.users) {
    const auto has_default = [&](const AssociationRecord& r) {
      return r.row.user == user.name && r.row.is_default && is_in(default_accounts, r.row.account);
    };
    if (is_in_or_empty(names, user.name) && (!admin || user.admin == *admin) &&
        (default_accounts.empty() || std::ranges::any_of(all.associations, has_default)))
      users.push_back(user.name);
  }
  if (u.of_user()) {
    if (!u.new_name.empty() && users.size() > 1)
      return s.context.error("Only one user can get the name {}", u.new_name), void(s.failed());
    if (u.sets_default && u.default_account.empty() && !s.records().may_lack_default) {
      s.context.error("You can not remove the default account of a user");
      s.plain(" Error with request: You can not remove the default account of a user");
      return void(s.failed());
    }
    if (u.sets_default && !set_default_account(s, u.default_account, users, filter.clusters, &change)) return;
    for (const auto& user : all.users) {
      if (!is_in(users, user.name)) continue;
      model::UserRecord changed = user;
      if (u.admin) changed.admin = *u.admin;
      if (!u.new_name.empty()) changed.name = u.new_name, rename_user(all, user.name, u.new_name, &change);
      if (u.admin || !u.new_name.empty()) change.put.users.push_back(changed);
    }
    if (!u.default_wckey.empty() && !has_wckey(s, u.default_wckey, users, filter.clusters)) return;
    if (!u.default_wckey.empty())
      for (auto key : all.wckeys)
        if (is_in(users, key.user) && key.is_default != (key.name == u.default_wckey))
          key.is_default = !key.is_default, change.put.wckeys.push_back(key);
  }
  std::vector<AssociationRecord> edited;
  if (u.edit.any())
    for (const PlacedRow& r : placed_rows(all)) {
      if (!r.record->row.is_user() || !is_in(users, r.record->row.user) || !filter.takes(*r.record, r.resolved))
        continue;
      AssociationRecord row = *r.record;
      for (const auto& put : change.put.associations)
        if (put.row.id == row.row.id) row = put;
      u.edit.apply(row);
      edited.push_back(row);
    }
  if ((u.of_user() ? users.empty() : true) && edited.empty()) return nothing_modified(s);
  std::string what;
  if (u.of_user()) {
    what = " Modified users...\n";
    for (const std::string& user : users) what += "  " + user + "\n";
  }
  if (!edited.empty()) what += " Modified user associations...\n" + touched_lines(all, edited);
  std::erase_if(change.put.associations, [&](const auto& r) {
    return std::ranges::any_of(edited, [&](const auto& e) { return e.row.id == r.row.id; });
  });
  change.put.associations.insert(change.put.associations.end(), edited.begin(), edited.end());
  s.commit(std::move(change), what);
}

void modify_cluster(Sacctmgr& s, std::span<const std::string> words) {
  const Halves h = halves(words);
  std::vector<std::string> names;
  for (const Word& w : h.where) {
    if (!w.has_key || w.is("Names", 1) || w.is("Clusters", 3))
      names = names_in(w.value);
    else
      return bad_condition(s, w);
  }
  AssociationEdit edit;
  std::optional<std::string> classification;
  for (const Word& w : h.set) {
    if (w.is("Classification", 3)) {
      classification = text::lower(w.value);
      continue;
    }
    const Parsed parsed = parse_association_edit(s, w, &edit);
    if (parsed == Parsed::Bad) return void(s.failed());
    if (parsed == Parsed::NotMine || edit.parent) return bad_setting(s, w);
  }
  if (!edit.any() && !classification) return nothing_to_set(s);
  if (!sure_without_where(s, !h.where.empty())) return;
  s.context.out.write(" Setting\n");
  if (edit.any()) s.context.out.write("  Default Limits:\n"), print_association_edit(s, edit);
  AccountsChange change;
  for (auto c : s.records().clusters) {
    if (!classification || !is_in_or_empty(names, c.name)) continue;
    c.classification = *classification;
    change.put.clusters.push_back(c);
  }
  for (const auto& r : s.records().associations) {
    if (!edit.any() || !r.parent.empty() || !is_in_or_empty(names, r.cluster)) continue;
    change.put.associations.push_back(r);
    edit.apply(change.put.associations.back());
  }
  if (change.put.associations.empty() && change.put.clusters.empty()) return nothing_modified(s);
  std::string what;
  if (!change.put.associations.empty())
    what = " Modified cluster defaults for associations...\n" + touched_lines(s.records(), change.put.associations);
  s.commit(std::move(change), what);
}

void modify_qos(Sacctmgr& s, std::span<const std::string> words) {
  const Halves h = halves(words);
  std::vector<std::string> names, descriptions;
  std::vector<std::uint32_t> ids;
  for (const Word& w : h.where) {
    if (!w.has_key || w.is("Names", 1) || w.is("QOSLevel", 1))
      names = names_in(w.value);
    else if (w.is("Descriptions", 1))
      descriptions = names_in(w.value);
    else if (w.is("Ids", 1))
      ids = numbers_in(w.value);
    else
      return bad_condition(s, w);
  }
  QosEdit edit;
  bool reset = false;
  for (const Word& w : h.set) {
    if (w.is("RawUsage", 7)) {
      if (!read_raw_usage(s, w, &reset)) return;
      continue;
    }
    const Parsed parsed = parse_qos_edit(s, w, &edit);
    if (parsed == Parsed::Bad) return void(s.failed());
    if (parsed == Parsed::NotMine) return bad_setting(s, w);
  }
  if (reset) {
    if (!own_cluster_meant(s, {})) return;
    for (const std::string& name : names)
      if (std::ranges::find(s.records().qos, name, &model::Qos::name) == s.records().qos.end())
        return s.context.error("Failed to find QOS {}", name), void(s.failed());
    return send_reset(s, {}, names);
  }
  if (!edit.any()) return nothing_to_set(s);
  if (!sure_without_where(s, !h.where.empty())) return;
  AccountsChange change;
  std::string lines;
  for (model::Qos qos : s.records().qos) {
    if (!is_in_or_empty(names, qos.name) || !is_in_or_empty(descriptions, text::lower(qos.description)) ||
        !has_number(ids, qos.id))
      continue;
    for (const auto& step : edit.steps) step(qos);
    lines += "  " + qos.name + "\n";
    change.put.qos.push_back(qos);
  }
  if (change.put.qos.empty()) return nothing_modified(s);
  // A loop of preemption is found by the service, before anything is said.
  AccountsChange check = change;
  check.only_check = true;
  check.based_on = s.records().revision;
  if (const auto checked = s.accounts->change(check); !checked) {
    if (checked.error().message.starts_with("QOS Preemption")) s.context.error("{}", checked.error().message);
    return s.fail_with(checked.error());
  }
  s.commit(std::move(change), " Modified qos...\n" + lines);
}

void modify_resource(Sacctmgr& s, std::span<const std::string> words) {
  const Halves h = halves(words);
  std::vector<std::string> names, servers, clusters;
  for (const Word& w : h.where) {
    if (!w.has_key || w.is("Names", 1))
      names = names_in(w.value);
    else if (w.is("Servers", 1))
      servers = names_in(w.value);
    else if (w.is("Clusters", 1))
      clusters = names_in(w.value);
    else
      return bad_condition(s, w);
  }
  std::optional<std::uint32_t> count, percent;
  std::optional<std::string> description, type;
  for (const Word& w : h.set) {
    if (w.is("Count", 3))
      count = text::parse_decimal32(w.value);
    else if (w.is("PercentAllowed", 1) || w.is("Allowed", 2))
      percent = text::parse_decimal32(w.value);
    else if (w.is("Description", 1))
      description = text::lower(w.value);
    else if (w.is("ServerType", 7) || w.is("Manager", 1))
      type = text::lower(w.value);
    else
      return bad_setting(s, w);
  }
  if (!count && !percent && !description && !type) return nothing_to_set(s);
  AccountsChange change;
  std::string lines;
  for (model::ResourceRecord r : s.records().resources) {
    if (!is_in_or_empty(names, r.name) || !is_in_or_empty(servers, r.server)) continue;
    if (count) r.count = *count;
    if (description) r.description = *description;
    if (type) r.server_type = *type;
    lines += fmt::format("  {}@{}\n", r.name, r.server);
    for (auto& share : r.shares) {
      if (!is_in_or_empty(clusters, share.cluster)) continue;
      if (percent) share.percent = *percent;
      lines += fmt::format("  Cluster - {}\t- {}@{}\n", share.cluster, r.name, r.server);
    }
    change.put.resources.push_back(r);
  }
  if (change.put.resources.empty()) return nothing_modified(s);
  s.commit(std::move(change), " Modified server resource ...\n" + lines);
}

}  // namespace

void sacctmgr_modify(Sacctmgr& s, std::span<const std::string> words) {
  static constexpr EntityVerb kVerbs[] = {{"Accounts", 1, modify_account}, {"Acct", 4, modify_account}, {"Clusters", 5, modify_cluster},
                                          {"QOS", 1, modify_qos},          {"Resources", 1, modify_resource},
                                          {"Users", 1, modify_user},       {"Job", 1, modify_job},
                                          {"Federations", 1, nullptr}};
  run_entity(s, "modify", kVerbs, words,
             "\"Account\", \"Cluster\", \"Federation\", \"Job\", \"QOS\", \"Resource\" or \"User\"");
}

}  // namespace spur::cli
