// SPDX-License-Identifier: Apache-2.0
// sacctmgr show: accounts, associations, users and clusters.
#include <algorithm>

#include "cli/sacctmgr.h"
#include "cli/sacctmgr_json.h"
#include "text/decimal.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using model::RecordKind;

struct Conditions {
  std::string format;
  AssociationFilter filter;
  std::vector<std::string> names, descriptions, organizations, default_accounts, default_wckeys;
  std::optional<model::AdminLevel> admin;
  bool tree = false, with_assoc = false, with_coord = false, no_parent_limits = false, no_parent_info = false,
       no_limits = false;
  bool assoc_condition = false;
};

// Flags that stand alone and conditions on associations, alike for several entities.
bool common_condition(const Word& w, Conditions* c) {
  const auto flag = [&](std::string_view name, std::size_t least, bool* to) {
    if (w.has_key || !matches(w.text, name, least)) return false;
    return *to = true;
  };
  if (flag("Tree", 4, &c->tree) || flag("WithAssoc", 5, &c->with_assoc) ||
      flag("WithCoordinators", 5, &c->with_coord) || flag("WithSubAccounts", 5, &c->filter.with_sub_accounts) ||
      flag("WOPInfo", 4, &c->no_parent_info) || flag("WOPLimits", 4, &c->no_parent_limits) ||
      flag("OnlyDefaults", 4, &c->filter.only_defaults) || flag("WOLimits", 3, &c->no_limits))
    return true;
  bool ignored = false;  // what was deleted was read with the rest (Sacctmgr::load)
  if (flag("WithDeleted", 5, &ignored) || flag("WithRawQOSLevel", 5, &ignored) ||
      flag("where", 5, &ignored) || flag("and", 3, &ignored))
    return true;
  if (w.is("Format", 1)) {
    c->format += (c->format.empty() ? "" : ",") + w.value;
    return true;
  }
  if (w.is("Clusters", 1)) return c->filter.clusters = names_in(w.value), true;
  return false;
}

int unknown_condition(Sacctmgr& s, const Word& w, std::string_view hint = " Use keyword 'set' to modify value") {
  s.plain(" Unknown condition: {}", w.text);
  if (!hint.empty()) s.plain("{}", hint);
  return s.failed();
}

// Users first, then accounts, each by name; children behind their parent.
void sort_as_tree(std::vector<PlacedRow>* rows, std::vector<std::uint32_t>* depths, bool flat) {
  std::map<std::pair<std::string, std::uint32_t>, std::vector<std::size_t>> below;
  std::set<std::pair<std::string, std::uint32_t>> shown;
  for (const PlacedRow& r : *rows) shown.emplace(r.record->cluster, r.record->row.id);
  std::vector<std::string> clusters;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const PlacedRow& r = (*rows)[i];
    const std::uint32_t parent = shown.contains({r.record->cluster, r.place.parent}) ? r.place.parent : 0;
    below[{r.record->cluster, parent}].push_back(i);
    if (!is_in(clusters, r.record->cluster)) clusters.push_back(r.record->cluster);
  }
  for (auto& [key, list] : below)
    std::ranges::stable_sort(list, [&](std::size_t a, std::size_t b) {
      const model::Association &x = (*rows)[a].record->row, &y = (*rows)[b].record->row;
      if (x.is_user() != y.is_user()) return x.is_user();
      return x.is_user() ? x.user < y.user : x.account < y.account;
    });
  std::vector<PlacedRow> sorted;
  const std::function<void(const std::string&, std::uint32_t, std::uint32_t)> walk =
      [&](const std::string& cluster, std::uint32_t parent, std::uint32_t depth) {
        const auto found = below.find({cluster, parent});
        if (found == below.end()) return;
        for (const std::size_t i : found->second) {
          sorted.push_back((*rows)[i]);
          depths->push_back(depth);
          walk(cluster, (*rows)[i].record->row.id, depth + 1);
        }
      };
  if (flat) {  // without parents: users before accounts, in the order of the tree
    std::ranges::stable_sort(*rows, [](const PlacedRow& a, const PlacedRow& b) {
      return a.record->row.is_user() > b.record->row.is_user();
    });
    depths->assign(rows->size(), 0);
    return;
  }
  for (const std::string& cluster : clusters) walk(cluster, 0, 0);
  *rows = std::move(sorted);
}

Cell assoc_place_cell(std::string_view field, const PlacedRow& r, bool no_parent_info) {
  const model::Association& row = r.record->row;
  if (field == "Cluster") return {r.record->cluster};
  if (field == "Account") return {row.account};
  if (field == "User") return {row.user};
  if (field == "Partition") return {row.partition};
  if (field == "ID") return {std::to_string(row.id), true};
  if (field == "ParentID") return {no_parent_info || r.place.parent == 0 ? "" : std::to_string(r.place.parent), true};
  if (field == "ParentName") return {no_parent_info || row.is_user() ? "" : r.record->parent};
  if (field == "LFT") return {std::to_string(r.place.left), true};
  if (field == "RGT") return {std::to_string(r.place.right), true};
  return {};
}

template <class Record>
Cell flags_cell(const Sacctmgr& s, RecordKind kind, const Record& record) {
  return {list_text(s.flags_of(kind, model::key_of(record)))};
}

// What an association's cells show: what it has itself, or with what it inherits.
const model::Association& limits_of(const PlacedRow& r, const Conditions& c) {
  return c.no_parent_limits || c.no_parent_info ? r.record->row : r.resolved;
}

std::string default_account(const model::AccountRecords& all, const std::string& user, const std::string& cluster) {
  for (const auto& r : all.associations)
    if (r.row.user == user && r.row.is_default && (cluster.empty() || r.cluster == cluster)) return r.row.account;
  return {};
}
std::string default_wckey(const model::AccountRecords& all, const std::string& user, const std::string& cluster) {
  for (const auto& r : all.wckeys)
    if (r.user == user && r.is_default && (cluster.empty() || r.cluster == cluster)) return r.name;
  return {};
}

// Accounts that a user coordinates, with those below; or users that coordinate an account.
std::string coordinated_by(const model::AccountRecords& all, const std::string& user) {
  std::vector<std::string> own;
  for (const auto& r : all.coordinators)
    if (r.user == user) own.push_back(r.account);
  std::set<std::string> out(own.begin(), own.end());
  for (const auto& c : all.clusters) out.merge(accounts_below(all, c.name, own));
  return list_text({out.begin(), out.end()});
}
std::string coordinators_of(const model::AccountRecords& all, const std::string& account) {
  std::set<std::string> out;
  for (const auto& r : all.coordinators) {
    if (r.account == account) out.insert(r.user);
    for (const auto& c : all.clusters)
      if (accounts_below(all, c.name, {r.account}).contains(account)) out.insert(r.user);
  }
  return list_text({out.begin(), out.end()});
}

// Where a record has no association that is wanted: what Slurm shows of a limit that nobody has set.
Cell or_nothing(std::string_view field, const std::function<Cell(std::string_view)>& own) {
  static constexpr std::string_view kNumbers[] = {
      "FairShare",  "Shares",  "GrpJobs",        "GrpNodes",      "GrpCPUs",       "GrpMemory",     "GrpSubmitJobs",
      "GrpCPUMins", "MaxJobs", "MaxNodesPerJob", "MaxCPUsPerJob", "MaxSubmitJobs", "MaxCPUMinsPerJob"};
  if (std::ranges::find(kNumbers, field) != std::end(kNumbers)) return {"0", true};
  if (field == "GrpWall" || field == "MaxWallDurationPerJob") return {"00:00:00"};
  if (field == "DefaultAccount") return {};
  return own(field);
}

// "only valid when querying with the withassoc option": true to go on.
bool sure_without_assoc(Sacctmgr& s, const Conditions& c) {
  if (!c.assoc_condition || c.with_assoc) return true;
  s.context.out.write("You requested options that are only valid when querying with the withassoc option.\n");
  return s.ask("Are you sure you want to continue?");
}

}  // namespace

void show_associations(Sacctmgr& s, std::span<const std::string> words) {
  if (!s.load(asks_for_deleted(words))) return;
  Conditions c;
  for (const Word& w : read_words(words)) {
    if (common_condition(w, &c)) continue;
    if (w.is("Accounts", 2))
      c.filter.accounts = names_in(w.value);
    else if (w.is("Users", 1))
      c.filter.users = users_in(s, w.value);
    else if (w.is("Partitions", 3))
      c.filter.partitions = names_in(w.value);
    else if (w.is("Parents", 4))
      c.filter.parents = names_in(w.value);
    else if (w.is("QOSLevel", 1))
      c.filter.qos = names_in(w.value);
    else if (!w.has_key || w.is("Ids", 1) || w.is("Associations", 2)) {
      for (const std::string_view id : text::split(w.value, ',')) {
        const auto number = text::parse_decimal32(id);
        if (!number) return s.context.error("Invalid value for AssocId ({})", id), void(s.failed());
        c.filter.ids.push_back(*number);
      }
    } else {
      return void(unknown_condition(s, w, ""));
    }
  }
  std::string format =
      c.format.empty()
          ? std::string("Cluster,Account,User,Part") +
                (c.no_limits ? ""
                             : ",Share,Priority,GrpJ,GrpTRES,GrpS,GrpWall,GrpTRESMins,MaxJ,MaxTRES,MaxTRESPerN,MaxS,MaxW,"
                               "MaxTRESMins,QOS,DefaultQOS,GrpTRESRunMins")
          : c.format;
  auto table = Table::make(s, format);
  if (!table) return;
  if (c.tree)
    for (Column& column : table->columns)
      if (column.field->name == "Account" && column.width == column.field->width) column.width = -20;
  if (c.filter.with_sub_accounts && !c.filter.accounts.empty()) {
    std::set<std::string> wide;
    for (const auto& cluster : s.records().clusters)
      wide.merge(accounts_below(s.records(), cluster.name, c.filter.accounts));
    c.filter.accounts.assign(wide.begin(), wide.end());
  }
  std::vector<PlacedRow> rows = placed_rows(s.records());
  std::erase_if(rows, [&](const PlacedRow& r) { return !c.filter.takes(*r.record, r.resolved); });
  std::vector<std::uint32_t> depths;
  sort_as_tree(&rows, &depths, c.no_parent_info);
  if (s.json) return print_associations_json(s, rows);
  table->header();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    table->row([&](std::string_view field) {
      if (const auto cell = association_cell(field, limits_of(rows[i], c))) return *cell;
      if (field == "Flags") return flags_cell(s, RecordKind::Association, *rows[i].record);
      Cell cell = assoc_place_cell(field, rows[i], c.no_parent_info);
      if (field == "Account" && c.tree) cell.text.insert(0, depths[i], ' ');
      return cell;
    });
  }
}

void show_accounts(Sacctmgr& s, std::span<const std::string> words) {
  if (!s.load(asks_for_deleted(words))) return;
  Conditions c;
  c.with_assoc = s.with_associations;
  for (const Word& w : read_words(words)) {
    if (common_condition(w, &c)) continue;
    if (!w.has_key || w.is("Names", 1) || w.is("Accounts", 2)) {
      for (std::string& name : names_in(w.value)) c.names.push_back(std::move(name));
    } else if (w.is("Descriptions", 1))
      c.descriptions = names_in(w.value);
    else if (w.is("Organizations", 1))
      c.organizations = names_in(w.value);
    else if (w.is("Users", 1))
      c.filter.users = users_in(s, w.value), c.assoc_condition = true;
    else if (w.is("Ids", 1))
      c.filter.ids = numbers_in(w.value), c.assoc_condition = true;
    else if (w.is("Parents", 1))
      c.filter.parents = names_in(w.value), c.assoc_condition = true;
    else if (w.is("QOSLevel", 1))
      c.filter.qos = names_in(w.value), c.assoc_condition = true;
    else
      return void(unknown_condition(s, w));
  }
  if (!sure_without_assoc(s, c)) return;
  std::string format = c.format;
  if (format.empty()) {
    format = "Account,Desc,O";
    if (c.with_assoc)
      format +=
          ",Cluster,ParentName,User,Share,Priority,GrpJ,GrpN,GrpCPUs,GrpMEM,GrpS,GrpWall,GrpCPUMins,MaxJ,MaxNodes,"
          "MaxCPUs,"
          "MaxS,MaxW,MaxCPUMins,QOS,DefaultQOS";
    if (c.with_coord) format += ",Coord";
  }
  auto table = Table::make(s, format);
  if (!table) return;
  std::vector<const model::AccountRecord*> list;
  for (const auto& a : s.records().accounts)
    if (is_in_or_empty(c.names, a.name) && is_in_or_empty(c.descriptions, text::lower(a.description)) &&
        is_in_or_empty(c.organizations, text::lower(a.organization)))
      list.push_back(&a);
  std::ranges::sort(list, {}, &model::AccountRecord::name);
  if (s.json) return print_accounts_json(s, list);
  table->header();
  const std::vector<PlacedRow> rows = c.with_assoc ? placed_rows(s.records()) : std::vector<PlacedRow>();
  for (const auto* a : list) {
    const auto own = [&](std::string_view field) -> Cell {
      if (field == "Account" || field == "Name") return {a->name};
      if (field == "Description") return {a->description};
      if (field == "Organization") return {a->organization};
      if (field == "Flags") return flags_cell(s, RecordKind::Account, *a);
      if (field == "Coordinators" && c.with_coord) return {coordinators_of(s.records(), a->name)};
      return {};
    };
    bool shown = false;
    for (const PlacedRow& r : rows) {
      if (r.record->row.account != a->name || !c.filter.takes(*r.record, r.resolved)) continue;
      shown = true;
      table->row([&](std::string_view field) {
        if (const auto cell = association_cell(field, limits_of(r, c))) return *cell;
        const Cell cell = own(field);
        return cell.text.empty() ? assoc_place_cell(field, r, c.no_parent_info) : cell;
      });
    }
    if (!shown) table->row([&](std::string_view field) { return c.with_assoc ? or_nothing(field, own) : own(field); });
  }
}

void show_users(Sacctmgr& s, std::span<const std::string> words) {
  if (!s.load(asks_for_deleted(words))) return;
  Conditions c;
  c.with_assoc = s.with_associations;
  for (const Word& w : read_words(words)) {
    if (common_condition(w, &c)) continue;
    if (!w.has_key || w.is("Names", 1) || w.is("Users", 1)) {
      for (std::string& name : users_in(s, w.value)) c.names.push_back(std::move(name));
    } else if (w.is("AdminLevel", 2)) {
      c.admin = parse_admin(w.value);
    } else if (w.is("Ids", 1))
      c.filter.ids = numbers_in(w.value), c.assoc_condition = true;
    else if (w.is("Accounts", 2))
      c.filter.accounts = names_in(w.value), c.assoc_condition = true;
    else if (w.is("DefaultAccounts", 8))
      c.default_accounts = names_in(w.value);
    else if (w.is("DefaultWCKeys", 8))
      c.default_wckeys = names_in(w.value);
    else if (w.is("Partitions", 3))
      c.filter.partitions = names_in(w.value), c.assoc_condition = true;
    else if (w.is("QOSLevel", 1))
      c.filter.qos = names_in(w.value), c.assoc_condition = true;
    else
      return void(unknown_condition(s, w));
  }
  if (!sure_without_assoc(s, c)) return;
  std::string format = c.format;
  if (format.empty()) {
    format = "User,DefaultA,DefaultW,Ad";
    if (c.with_assoc)
      format += ",Cluster,Account,Part,Share,Priority,MaxJ,MaxNodes,MaxCPUs,MaxS,MaxW,MaxCPUMins,QOS,DefaultQOS";
    if (c.with_coord) format += ",Coord";
  }
  auto table = Table::make(s, format);
  if (!table) return;
  const auto& all = s.records();
  std::vector<const model::UserRecord*> list;
  for (const auto& u : all.users) {
    if (!is_in_or_empty(c.names, u.name) || (c.admin && u.admin != *c.admin)) continue;
    if (!is_in_or_empty(c.default_accounts, default_account(all, u.name, {}))) continue;
    if (!is_in_or_empty(c.default_wckeys, default_wckey(all, u.name, {}))) continue;
    list.push_back(&u);
  }
  std::ranges::sort(list, {}, &model::UserRecord::name);
  if (s.json) return print_users_json(s, list);
  table->header();
  const std::vector<PlacedRow> rows = c.with_assoc ? placed_rows(all) : std::vector<PlacedRow>();
  for (const auto* u : list) {
    std::string cluster;
    const auto own = [&](std::string_view field) -> Cell {
      if (field == "User" || field == "Name") return {u->name};
      if (field == "DefaultAccount") return {default_account(all, u->name, cluster)};
      if (field == "DefaultWCKey") return {default_wckey(all, u->name, cluster)};
      if (field == "AdminLevel") return {std::string(admin_word(u->admin))};
      if (field == "Flags") return flags_cell(s, RecordKind::User, *u);
      if (field == "Coordinators" && c.with_coord) return {coordinated_by(all, u->name)};
      return {};
    };
    bool shown = false;
    for (const PlacedRow& r : rows) {
      if (r.record->row.user != u->name || !c.filter.takes(*r.record, r.resolved)) continue;
      shown = true;
      cluster = r.record->cluster;
      table->row([&](std::string_view field) {
        if (const auto cell = association_cell(field, limits_of(r, c))) return *cell;
        const Cell cell = own(field);
        return cell.text.empty() ? assoc_place_cell(field, r, c.no_parent_info) : cell;
      });
    }
    cluster.clear();
    if (!shown) table->row([&](std::string_view field) { return c.with_assoc ? or_nothing(field, own) : own(field); });
  }
}

void show_clusters(Sacctmgr& s, std::span<const std::string> words) {
  if (!s.load(asks_for_deleted(words))) return;
  Conditions c;
  std::vector<std::string> classifications, federations, flags;
  std::vector<std::uint32_t> versions;
  bool with_federation = false;
  for (const Word& w : read_words(words)) {
    if (!w.has_key && matches(w.text, "WithFed", 5))
      with_federation = true;
    else if (w.is("Names", 1) || w.is("Clusters", 3))
      for (std::string& name : names_in(w.value)) c.names.push_back(std::move(name));
    else if (w.is("Classification", 3))
      classifications = names_in(w.value);
    else if (w.is("Federations", 3))
      federations = names_in(w.value);
    else if (w.is("Flags", 2))
      flags = names_in(w.value);
    else if (w.is("RPC", 1))
      versions = numbers_in(w.value);
    else if (!common_condition(w, &c)) {
      if (w.has_key) return void(unknown_condition(s, w));
      for (std::string& name : names_in(w.value)) c.names.push_back(std::move(name));
    }
  }
  std::string format = c.format;
  if (format.empty()) {
    format = "Cluster,ControlHost,ControlPort,RPC";
    if (!c.no_limits) format += ",Share,GrpJ,GrpTRES,GrpS,MaxJ,MaxTRES,MaxS,MaxW,QOS,DefaultQOS";
    if (with_federation) format += ",Federation,ID,Features,FedState";
  }
  auto table = Table::make(s, format);
  if (!table) return;
  if (s.json) return print_clusters_json(s);
  table->header();
  const std::vector<PlacedRow> rows = placed_rows(s.records());
  std::vector<const model::ClusterRecord*> list;
  for (const auto& r : s.records().clusters) list.push_back(&r);
  std::ranges::sort(list, {}, &model::ClusterRecord::name);
  for (const auto* r : list) {
    // No cluster is in a federation, and none has flags.
    if (!is_in_or_empty(c.names, r->name) || !is_in_or_empty(classifications, text::lower(r->classification)) ||
        !is_in_or_empty(federations, "") || !is_in_or_empty(flags, "none") || !has_number(versions, r->rpc_version))
      continue;
    const auto root = std::ranges::find_if(rows, [&](const PlacedRow& p) { return p.record->cluster == r->name; });
    table->row([&](std::string_view field) -> Cell {
      if (field == "Cluster" || field == "Name") return {r->name};
      if (field == "ControlHost") return {r->control_host};
      if (field == "ControlPort") return {std::to_string(r->control_port), true};
      if (field == "RPC") return {std::to_string(r->rpc_version), true};
      if (field == "Classification") return {r->classification};
      if (field == "ID" || field == "FedStateRaw") return {"0", true};
      if (field == "FedState") return {"NA"};
      if (field == "Flags") return flags_cell(s, RecordKind::Cluster, *r);
      if (field == "TRES") return {tres_text(r->tres)};
      if (field == "ClusterNodes" || field == "NodeNames") return {r->nodes};
      if (field == "NodeCount") {
        const auto* nodes = model::find_tres(r->tres, "node");
        return {nodes ? std::to_string(nodes->count) : "0", true};
      }
      if (field == "CPUCount") {
        const auto* cpus = model::find_tres(r->tres, "cpu");
        return {cpus ? std::to_string(cpus->count) : "0", true};
      }
      if (root != rows.end())
        if (const auto cell = association_cell(field, root->resolved)) return *cell;
      return {};
    });
  }
}

}  // namespace spur::cli
