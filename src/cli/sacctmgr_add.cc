// SPDX-License-Identifier: Apache-2.0
// sacctmgr add: accounts, clusters, coordinators, QOS, resources, users (with their associations and wckeys).
#include <algorithm>

#include "cli/sacctmgr.h"
#include "cli/users.h"
#include "text/decimal.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using model::AccountsChange;

void append(std::vector<std::string>* to, std::vector<std::string> names) {
  for (std::string& name : names)
    if (!is_in(*to, name)) to->push_back(std::move(name));
}

bool known(const auto& list, std::string_view name) {
  return std::ranges::any_of(list, [&](const auto& r) { return r.name == name; });
}

// The clusters that are meant: those given, or all. What is not there is complained about.
std::vector<std::string> clusters_meant(Sacctmgr& s, const std::vector<std::string>& given) {
  std::vector<std::string> out;
  if (given.empty())
    for (const auto& c : s.records().clusters) out.push_back(c.name);
  for (const std::string& name : given) {
    if (known(s.records().clusters, name)) {
      out.push_back(name);
      continue;
    }
    s.plain(" This cluster '{}' doesn't exist.\n        Contact your admin to add it to accounting.", name);
    s.failed();
  }
  std::ranges::sort(out);
  return out;
}

const model::AssociationRecord* find_row(const model::AccountRecords& all, std::string_view cluster,
                                         std::string_view account, std::string_view user = {},
                                         std::string_view partition = {}) {
  for (const auto& r : all.associations)
    if (r.cluster == cluster && r.row.account == account && r.row.user == user && r.row.partition == partition)
      return &r;
  return nullptr;
}

bool bad_option(Sacctmgr& s, const Word& w, bool with_hint) {
  s.plain(" Unknown option: {}", w.text);
  if (with_hint) s.plain(" Use keyword 'where' to modify condition");
  s.failed();
  return false;
}

bool no_blank_names(Sacctmgr& s, std::vector<std::string>* names) {
  if (std::erase(*names, "") == 0) return true;
  s.plain(" No blank names are allowed when adding.");
  s.failed();
  return !names->empty();
}

void add_account(Sacctmgr& s, std::span<const std::string> words) {
  std::vector<std::string> names, clusters;
  std::optional<std::string> description, organization;
  AssociationEdit edit;
  bool ok = true;
  for (const Word& w : read_words(words)) {
    if (!w.has_key || w.is("Names", 1) || w.is("Accounts", 2))
      append(&names, names_in(w.value));
    else if (w.is("Clusters", 1))
      append(&clusters, names_in(w.value));
    else if (w.is("Description", 1))
      description = text::lower(w.value);
    else if (w.is("Organization", 1))
      organization = text::lower(w.value);
    else {
      const Parsed parsed = parse_association_edit(s, w, &edit);
      if (parsed == Parsed::Bad) return void(s.failed());
      if (parsed == Parsed::NotMine) ok = bad_option(s, w, true);
    }
  }
  if (!ok) return;
  if (names.empty()) return s.plain(" Need name of account to add."), void(s.failed());
  if (!no_blank_names(s, &names)) return s.context.out.write(" Nothing new added.\n");
  const std::vector<std::string> where = clusters_meant(s, clusters);
  if (where.empty()) return;
  const bool limits = edit.any() || edit.parent || description || organization;
  const std::string parent = edit.parent.value_or(std::string(model::kRootAccount));
  AccountsChange change;
  std::string accounts, associations;
  bool bad_parent = false;
  for (const std::string& cluster : where) {
    if (find_row(s.records(), cluster, parent)) continue;
    s.plain(" Parent account '{}' doesn't exist on cluster {}\n        Contact your admin to add this account.",
            parent, cluster);
    s.failed();
    bad_parent = true;
  }
  for (const std::string& name : names) {
    if (!known(s.records().accounts, name)) {
      change.put.accounts.push_back(
          {name, description.value_or(name), organization.value_or(parent == model::kRootAccount ? name : parent)});
      accounts += "  " + name + "\n";
    }
    for (const std::string& cluster : where) {
      if (find_row(s.records(), cluster, name) || !find_row(s.records(), cluster, parent)) continue;
      model::AssociationRecord r;
      r.cluster = cluster;
      r.parent = parent;
      edit.apply(r);
      r.row.account = name;
      change.put.associations.push_back(r);
      associations += fmt::format("  A = {:<10.10} C = {:<10.10}\n", name, cluster);
    }
  }
  if (change.put.associations.empty()) {
    s.failed();
    if (bad_parent) return s.plain(" No associations created.");
    return s.context.out.write(" Nothing new added.\n");
  }
  auto& out = s.context.out;
  if (!accounts.empty()) {
    out.print(" Adding Account(s)\n{} Settings\n", accounts);
    out.print("  Description     = {}\n", description.value_or("Account Name"));
    out.print("  Organization    = {}\n", organization.value_or("Parent/Account Name"));
  }
  out.print(" Associations\n{}", associations);
  if (limits) {
    out.write(" Settings\n");
    edit.parent = parent;
    print_association_edit(s, edit);
  }
  s.commit(std::move(change), {}, "Problem adding accounts");
}

struct NewUser {
  std::vector<std::string> names, accounts, clusters, partitions, wckeys;
  std::string default_account, default_wckey;
  std::optional<model::AdminLevel> admin;
  AssociationEdit edit;
};

bool read_new_user(Sacctmgr& s, std::span<const std::string> words, NewUser* u) {
  bool ok = true;
  for (const Word& w : read_words(words)) {
    if (!w.has_key || w.is("Names", 1) || w.is("Users", 1))
      append(&u->names, users_in(s, w.value));
    else if (w.is("Accounts", 2))
      append(&u->accounts, names_in(w.value));
    else if (w.is("AdminLevel", 2))
      u->admin = parse_admin(w.value);
    else if (w.is("Clusters", 1))
      append(&u->clusters, names_in(w.value));
    else if (w.is("DefaultAccount", 8))
      u->default_account = names_in(w.value).front();
    else if (w.is("DefaultWCKey", 8))
      u->default_wckey = names_in(w.value).front();
    else if (w.is("Partitions", 3)) {
      for (const std::string_view part : text::split(w.value, ','))
        if (!part.empty()) u->partitions.emplace_back(part);
    } else if (w.is("WCKeys", 1))
      append(&u->wckeys, names_in(w.value));
    else {
      const Parsed parsed = parse_association_edit(s, w, &u->edit);
      if (parsed == Parsed::Bad) return s.failed(), false;
      if (parsed == Parsed::NotMine) ok = bad_option(s, w, false);
    }
  }
  if (!ok) return false;
  if (!u->default_account.empty()) {
    std::erase(u->accounts, u->default_account);
    u->accounts.push_back(u->default_account);
  }
  if (!u->default_wckey.empty() && !is_in(u->wckeys, u->default_wckey)) u->wckeys.push_back(u->default_wckey);
  if (u->names.empty()) return s.plain(" Need name of user to add."), s.failed(), false;
  if (u->accounts.empty() && u->wckeys.empty())
    return s.plain(" Need name of account to add user to."), s.failed(), false;
  std::vector<std::string> there;
  for (const std::string& account : u->accounts) {
    if (known(s.records().accounts, account)) {
      there.push_back(account);
      continue;
    }
    s.plain(" This account '{}' doesn't exist.\n        Contact your admin to add this account.", account);
    s.failed();
  }
  u->accounts = std::move(there);
  return no_blank_names(s, &u->names);
}

// The associations of one user that are not there yet.
void add_user_rows(Sacctmgr& s, const NewUser& u, const std::string& name, const std::vector<std::string>& clusters,
                   AccountsChange* change, std::string* lines) {
  const std::vector<std::string> any_partition = {""};
  for (const std::string& cluster : clusters) {
    // Somebody new on a cluster gets a default account there: the one named, else the first.
    const auto has_default = [&](const auto& r) {
      return r.cluster == cluster && r.row.user == name && r.row.is_default;
    };
    const bool has_none = std::ranges::none_of(s.records().associations, has_default);
    const bool needs_default = has_none && !(s.records().may_lack_default && u.default_account.empty());
    std::string chosen = u.default_account;
    for (const std::string& account : u.accounts) {
      if (!find_row(s.records(), cluster, account)) {
        if (u.clusters.empty()) continue;
        s.plain(" This account '{}' doesn't exist on cluster {}\n        Contact your admin to add this account.",
                account, cluster);
        s.failed();
        continue;
      }
      for (const std::string& partition : u.partitions.empty() ? any_partition : u.partitions) {
        if (find_row(s.records(), cluster, account, name, partition)) continue;
        if (chosen.empty()) chosen = account;
        model::AssociationRecord r;
        r.cluster = cluster;
        r.parent = account;
        u.edit.apply(r);
        r.row.account = account;
        r.row.user = name;
        r.row.partition = partition;
        r.row.is_default = needs_default && account == chosen;
        change->put.associations.push_back(r);
        *lines += fmt::format("  U = {:<9.9} A = {:<10.10} C = {:<10.10}", name, account, cluster);
        *lines += partition.empty() ? "\n" : fmt::format(" P = {:<10.10}\n", partition);
      }
    }
  }
}

void add_user_wckeys(Sacctmgr& s, const NewUser& u, const std::string& name, const std::vector<std::string>& clusters,
                     AccountsChange* change, std::string* lines) {
  for (const std::string& key : u.wckeys) {
    for (const std::string& cluster : clusters) {
      const auto of_user = [&](const auto& r) { return r.user == name && r.cluster == cluster; };
      const auto same = [&](const auto& r) { return of_user(r) && r.name == key; };
      if (std::ranges::any_of(s.records().wckeys, same)) continue;
      const bool first =
          std::ranges::none_of(s.records().wckeys, of_user) && std::ranges::none_of(change->put.wckeys, of_user);
      change->put.wckeys.push_back({0, key, name, cluster, u.default_wckey.empty() ? first : key == u.default_wckey});
      *lines += fmt::format("  U = {:<9.9} W = {:<10.10} C = {:<10.10}\n", name, key, cluster);
    }
  }
}

void add_user(Sacctmgr& s, std::span<const std::string> words) {
  NewUser u;
  if (!read_new_user(s, words, &u)) return;
  const std::vector<std::string> clusters = clusters_meant(s, u.clusters);
  if (clusters.empty()) return;
  AccountsChange change;
  std::string users, associations, wckeys;
  for (const std::string& name : u.names) {
    const bool is_new = !known(s.records().users, name);
    if (is_new && !s.immediate && !find_user(name)) {
      s.context.out.print("There is no uid for user '{}'\n", name);
      if (!s.ask("Are you sure you want to continue?")) continue;
    }
    const std::size_t before = change.put.associations.size() + change.put.wckeys.size();
    add_user_rows(s, u, name, clusters, &change, &associations);
    add_user_wckeys(s, u, name, clusters, &change, &wckeys);
    if (!is_new || before == change.put.associations.size() + change.put.wckeys.size()) continue;
    change.put.users.push_back({name, u.admin.value_or(model::AdminLevel::None)});
    users += "  " + name + "\n";
  }
  auto& out = s.context.out;
  if (change.put.associations.empty() && change.put.wckeys.empty()) {
    s.failed();
    const bool any_known =
        std::ranges::any_of(u.names, [&](const auto& name) { return known(s.records().users, name); });
    if (!any_known) return s.plain(" No associations or wckeys created.");
    return out.write(" Nothing new added.\n");
  }
  if (!users.empty()) {
    out.print(" Adding User(s)\n{}", users);
    const bool admin = u.admin && *u.admin != model::AdminLevel::None;
    if (!u.default_account.empty() || !u.default_wckey.empty() || admin) out.write(" Settings =\n");
    if (!u.default_account.empty()) out.print("  Default Account = {}\n", u.default_account);
    if (!u.default_wckey.empty()) out.print("  Default WCKey   = {}\n", u.default_wckey);
    if (admin) out.print("  Admin Level     = {}\n", admin_word(*u.admin));
  }
  if (!associations.empty()) out.print(" Associations =\n{}", associations);
  if (!wckeys.empty()) out.print(" WCKeys =\n{}", wckeys);
  if (!u.accounts.empty()) {
    out.write(" Non Default Settings\n");
    print_association_edit(s, u.edit);
  }
  s.commit(std::move(change), {}, "Problem adding users");
}

void add_cluster(Sacctmgr& s, std::span<const std::string> words) {
  std::vector<std::string> names;
  std::string classification;
  AssociationEdit edit;
  for (const Word& w : read_words(words)) {
    if (!w.has_key || w.is("Names", 1) || w.is("Clusters", 3))
      append(&names, names_in(w.value));
    else if (w.is("Classification", 3))
      classification = text::lower(w.value);
    else {
      const Parsed parsed = parse_association_edit(s, w, &edit);
      if (parsed == Parsed::Bad) return void(s.failed());
      if (parsed == Parsed::NotMine) return void(bad_option(s, w, true));
    }
  }
  if (names.empty()) return s.plain(" Need name of cluster to add."), void(s.failed());
  if (!no_blank_names(s, &names)) return;
  AccountsChange change;
  std::string lines;
  for (const std::string& name : names) {
    if (known(s.records().clusters, name)) {
      s.context.out.print(" This cluster {} already exists.  Not adding.\n", name);
      continue;
    }
    model::ClusterRecord cluster;
    cluster.name = name;
    cluster.classification = classification;
    change.put.clusters.push_back(cluster);
    // The service adds root and its user where they are missing; here the root has limits.
    model::AssociationRecord root;
    root.cluster = name;
    edit.apply(root);
    root.row.account = model::kRootAccount;
    change.put.associations.push_back(root);
    if (known(s.records().users, "root")) {
      model::AssociationRecord user;
      user.cluster = name;
      user.parent = user.row.account = model::kRootAccount;
      user.row.user = "root";
      user.row.is_default = true;
      change.put.associations.push_back(user);
    }
    lines += fmt::format("  Name           = {}\n", name);
  }
  if (change.put.clusters.empty()) return void(s.failed());
  s.context.out.print(" Adding Cluster(s)\n{}", lines);
  if (edit.any()) {
    s.context.out.write(" Setting\n  Default Limits:\n");
    print_association_edit(s, edit);
  }
  s.commit(std::move(change), {}, "Problem adding clusters");
}

void add_qos(Sacctmgr& s, std::span<const std::string> words) {
  std::vector<std::string> names;
  QosEdit edit;
  bool ok = true;
  for (const Word& w : read_words(words)) {
    if (!w.has_key || w.is("Names", 1) || w.is("QOSLevel", 1)) {
      append(&names, names_in(w.value));
      continue;
    }
    const Parsed parsed = parse_qos_edit(s, w, &edit);
    if (parsed == Parsed::Bad) return void(s.failed());
    if (parsed == Parsed::NotMine) ok = bad_option(s, w, true);
  }
  if (!ok) return;
  if (names.empty()) return s.plain(" Need name of qos to add."), void(s.failed());
  if (!no_blank_names(s, &names)) return;
  AccountsChange change;
  std::string lines, description = edit.sample.description;
  for (const std::string& name : names) {
    if (known(s.records().qos, name)) continue;
    model::Qos qos;
    for (const auto& step : edit.steps) step(qos);
    qos.name = name;
    if (qos.description.empty()) description = qos.description = name;
    change.put.qos.push_back(qos);
    lines += "  " + name + "\n";
  }
  if (change.put.qos.empty()) return s.context.out.write(" Nothing new added.\n"), void(s.failed());
  s.context.out.print(" Adding QOS(s)\n{} Settings\n  Description    = {}\n", lines, description);
  print_qos_edit(s, edit);
  s.commit(std::move(change), {}, "Problem adding QOS");
}

void add_coordinator(Sacctmgr& s, std::span<const std::string> words) {
  std::vector<std::string> names, accounts;
  for (const Word& w : read_words(words)) {
    if (!w.has_key || w.is("Names", 1) || w.is("Users", 1))
      append(&names, users_in(s, w.value));
    else if (w.is("Accounts", 1))
      append(&accounts, names_in(w.value));
    else
      return void(bad_option(s, w, true));
  }
  if (names.empty() || accounts.empty())
    return s.plain(" You need to specify {} list here.", names.empty() ? "a user" : "an account"), void(s.failed());
  AccountsChange change;
  for (const std::string& account : accounts)
    if (!known(s.records().accounts, account))
      s.plain(" You specified a non-existent account '{}'.", account), s.failed();
  for (const std::string& name : names)
    if (!known(s.records().users, name)) s.plain(" You specified a non-existent user '{}'.", name), s.failed();
  if (s.status != 0) return;
  s.context.out.write(" Adding Coordinator User(s)\n");
  for (const std::string& name : names) s.context.out.print("  {}\n", name);
  s.context.out.write(" To Account(s) and all sub-accounts\n");
  for (const std::string& account : accounts) {
    s.context.out.print("  {}\n", account);
    for (const std::string& name : names) change.put.coordinators.push_back({account, name});
  }
  s.commit(std::move(change), {}, "Problem adding coordinator");
}

void add_resource(Sacctmgr& s, std::span<const std::string> words) {
  std::vector<std::string> names, clusters;
  model::ResourceRecord r;
  std::uint32_t percent = 0;
  bool typed = false;
  const auto number = [&](const Word& w, std::uint32_t* to) {
    const auto value = text::parse_decimal32(w.value);
    if (!value) s.context.error("Invalid value for {} ({})", w.key, w.value), s.failed();
    if (value) *to = *value;
    return value.has_value();
  };
  for (const Word& w : read_words(words)) {
    if (!w.has_key || w.is("Names", 1) || w.is("Resources", 1))
      append(&names, names_in(w.value));
    else if (w.is("Clusters", 2))
      append(&clusters, names_in(w.value));
    else if (w.is("Count", 3)) {
      if (!number(w, &r.count)) return;
    } else if (w.is("PercentAllowed", 1) || w.is("Allowed", 2)) {
      if (!number(w, &percent)) return;
    } else if (w.is("Description", 1))
      r.description = text::lower(w.value);
    else if (w.is("ServerType", 7) || w.is("Manager", 1))
      r.server_type = text::lower(w.value);
    else if (w.is("Server", 1))
      r.server = text::lower(w.value);
    else if (w.is("Type", 1) && text::equal_ignoring_case(w.value, "license"))
      typed = true;
    else
      return void(bad_option(s, w, true));
  }
  if (names.empty()) return s.plain(" Need name of resource to add."), void(s.failed());
  if (r.server.empty()) r.server = "slurmdb";
  const std::vector<std::string> where = clusters.empty() ? clusters : clusters_meant(s, clusters);
  if (s.status != 0) return;
  AccountsChange change;
  std::string lines;
  const auto is_there = [&](const std::string& name) {
    return std::ranges::any_of(s.records().resources,
                               [&](const auto& k) { return k.name == name && k.server == r.server; });
  };
  for (const std::string& name : names) {
    if (is_there(name)) continue;
    if (!typed)
      return s.plain(" Need to designate a resource type to initially add '{}'.", name), void(s.failed());
    r.name = name;
    if (r.description.empty()) r.description = name;
    lines += fmt::format("  {}@{}\n", name, r.server);
    for (const std::string& cluster : where) {
      r.shares.push_back({cluster, percent});
      lines += fmt::format("   Cluster - {}\t{}%\n", cluster, percent);
    }
    change.put.resources.push_back(r);
    r.shares.clear();
  }
  if (change.put.resources.empty()) return s.context.out.write(" Nothing new added.\n"), void(s.failed());
  auto& out = s.context.out;
  out.print(" Adding Resource(s)\n{} Settings\n", lines);
  out.print("  Name           = {}\n  Server         = {}\n  Description    = {}\n", r.name, r.server, r.description);
  if (!r.server_type.empty()) out.print("  ServerType     = {}\n", r.server_type);
  out.print("  Count          = {}\n  Type           = License\n", r.count);
  s.commit(std::move(change), {}, "Problem adding resource");
}

}  // namespace

void sacctmgr_add(Sacctmgr& s, std::span<const std::string> words) {
  static constexpr EntityVerb kVerbs[] = {{"Account", 1, add_account},         {"Acct", 4, add_account},
                                          {"Cluster", 2, add_cluster},          {"Coordinator", 2, add_coordinator},
                                          {"QOS", 1, add_qos},                  {"Resource", 1, add_resource},
                                          {"User", 1, add_user},                {"Federation", 1, nullptr}};
  run_entity(s, "add", kVerbs, words,
             "\"Account\", \"Cluster\", \"Coordinator\", \"Federation\", \"QOS\", \"Resource\", or \"User\"");
}

}  // namespace spur::cli
