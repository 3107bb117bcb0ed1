// SPDX-License-Identifier: Apache-2.0
// sacctmgr show: QOS, TRES, wckeys, resources, transactions, problems, events, configuration.
#include <algorithm>
#include <tuple>

#include "cli/sacctmgr.h"
#include "cli/sacctmgr_json.h"
#include "cli/users.h"
#include "spur/v1/accounting.pb.h"
#include "text/date.h"
#include "text/decimal.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

// Reads the words by `take`; unknown ones are complained about. False: stop.
bool read_conditions(Sacctmgr& s, std::span<const std::string> words, std::string* format, std::string_view hint,
                     const std::function<bool(const Word&)>& take) {
  for (const Word& w : read_words(words)) {
    if (w.is("Format", 1)) {
      *format += (format->empty() ? "" : ",") + w.value;
      continue;
    }
    if (!w.has_key && (matches(w.text, "where", 5) || matches(w.text, "WithDeleted", 5))) continue;
    if (take(w)) continue;
    if (s.status != 0) return false;
    s.plain(" Unknown condition: {}", w.text);
    if (!hint.empty()) s.plain("{}", hint);
    s.failed();
    return false;
  }
  return true;
}
constexpr std::string_view kHint = " Use keyword 'set' to modify value";

std::vector<std::uint32_t> numbers_in(std::string_view value) {
  std::vector<std::uint32_t> out;
  for (const std::string_view word : text::split(value, ','))
    if (const auto number = text::parse_decimal32(word)) out.push_back(*number);
  return out;
}
bool has_number(const std::vector<std::uint32_t>& list, std::uint32_t number) {
  return list.empty() || std::ranges::find(list, number) != list.end();
}

struct ActionRow {
  std::uint32_t number;
  std::string_view words;
};
constexpr ActionRow kActions[] = {
    {1402, "Add Accounts"},
    {1403, "Add Account Coord"},
    {1404, "Add Associations"},
    {1405, "Add Clusters"},
    {1406, "Add Users"},
    {1428, "Modify Accounts"},
    {1429, "Modify Associations"},
    {1430, "Modify Clusters"},
    {1431, "Modify Users"},
    {1435, "Remove Accounts"},
    {1436, "Remove Account Coord"},
    {1437, "Remove Associations"},
    {1438, "Remove Clusters"},
    {1439, "Remove Users"},
    {1447, "Add QOS"},
    {1450, "Remove QOS"},
    {1451, "Modify QOS"},
    {1452, "Add WCKeys"},
    {1455, "Remove WCKeys"},
    {1477, "Add Resources"},
    {1479, "Remove Resources"},
    {1480, "Modify Resources"},
    {1485, "Add TRES"},
    {1490, "Modify WCKeys"},
};
std::string action_text(std::uint32_t number) {
  const auto found = std::ranges::find(kActions, number, &ActionRow::number);
  return found == std::end(kActions) ? std::to_string(number) : std::string(found->words);
}

}  // namespace

void show_qos(Sacctmgr& s, std::span<const std::string> words) {
  if (!s.load(asks_for_deleted(words))) return;
  std::string format;
  std::vector<std::string> names, descriptions;
  std::vector<std::uint32_t> ids;
  const auto take = [&](const Word& w) {
    if (!w.has_key || w.is("Names", 1) || w.is("QOSLevel", 1)) {
      for (std::string& name : names_in(w.value)) names.push_back(std::move(name));
    } else if (w.is("Descriptions", 1))
      descriptions = names_in(w.value);
    else if (w.is("Ids", 1))
      ids = numbers_in(w.value);
    else
      return false;
    return true;
  };
  if (!read_conditions(s, words, &format, " Use keyword 'set' to modify SLURM_PRINT_VALUE", take)) return;
  auto table = Table::make(
      s, format.empty()
             ? "Name,Prio,GraceT,Preempt,PreemptE,PreemptM,Flags%40,UsageThres,UsageFactor,GrpTRES,GrpTRESMins,"
               "GrpTRESRunMins,GrpJ,GrpS,GrpW,MaxTRES,MaxTRESPerN,MaxTRESMins,MaxW,MaxTRESPerU,"
               "MaxJobsPerU,MaxSubmitJobsPerU,MaxTRESPerA,MaxJobsPerA,MaxSubmitPA,MinTRES"
             : format);
  if (!table) return;
  std::vector<const model::Qos*> list;
  for (const auto& q : s.records().qos)
    if (is_in_or_empty(names, q.name) && is_in_or_empty(descriptions, text::lower(q.description)) &&
        has_number(ids, q.id))
      list.push_back(&q);
  if (!names.empty()) std::ranges::sort(list, {}, &model::Qos::name);
  if (s.json) return print_qos_json(s, list);
  table->header();
  for (const auto* q : list) table->row([&](std::string_view field) { return qos_cell(field, *q).value_or(Cell{}); });
}

// There are none, and none can be made.
void show_federations(Sacctmgr& s, std::span<const std::string> words) {
  std::string format;
  const auto take = [&](const Word& w) { return !w.has_key || w.is("Names", 1) || w.is("Clusters", 1); };
  if (!read_conditions(s, words, &format, kHint, take)) return;
  auto table = Table::make(s, format.empty() ? "Federation,Cluster,ID%2,Features,FedState" : format);
  if (table) table->header();
}

void show_tres(Sacctmgr& s, std::span<const std::string> words) {
  if (!s.load()) return;
  std::string format;
  std::vector<std::string> names, types;
  std::vector<std::uint32_t> ids;
  const auto take = [&](const Word& w) {
    if (w.is("Type", 1))
      types = names_in(w.value);
    else if (w.is("Names", 1))
      names = names_in(w.value);
    else if (w.is("Ids", 1))
      ids = numbers_in(w.value);
    else if (!w.has_key)
      types = names_in(w.value);
    else
      return false;
    return true;
  };
  if (!read_conditions(s, words, &format, kHint, take)) return;
  auto table = Table::make(s, format.empty() ? "Type,Name%15,ID" : format);
  if (!table) return;
  if (s.json) return print_tres_json(s);
  table->header();
  for (const auto& r : s.records().tres) {
    if (!is_in_or_empty(types, r.type) || !is_in_or_empty(names, r.name) || !has_number(ids, r.id)) continue;
    table->row([&](std::string_view field) -> Cell {
      if (field == "Type") return {r.type};
      if (field == "Name") return {r.name};
      if (field == "ID") return {std::to_string(r.id), true};
      return {};
    });
  }
}

void show_wckeys(Sacctmgr& s, std::span<const std::string> words) {
  if (!s.load(asks_for_deleted(words))) return;
  std::string format;
  AssociationFilter f;
  std::vector<std::string> names;
  const auto take = [&](const Word& w) {
    if (!w.has_key || w.is("Names", 1) || w.is("WCKeys", 1))
      names = names_in(w.value);
    else if (w.is("Clusters", 1))
      f.clusters = names_in(w.value);
    else if (w.is("Users", 1))
      f.users = users_in(s, w.value);
    else if (w.is("Ids", 1))
      f.ids = numbers_in(w.value);
    else
      return false;
    return true;
  };
  if (!read_conditions(s, words, &format, kHint, take)) return;
  auto table = Table::make(s, format.empty() ? "Name,Cluster,User" : format);
  if (!table) return;
  for (Column& column : table->columns) {
    if (column.field->name == "Name" || column.field->name == "WCKeys") column.header = "WCKey";
    if (column.field->name == "WCKeys" && column.width == column.field->width) column.width = 10;
  }
  table->header();
  std::vector<model::WckeyRecord> keys = s.records().wckeys;
  std::ranges::stable_sort(keys, {}, [](const auto& r) { return std::tie(r.cluster, r.name, r.user); });
  for (const auto& r : keys) {
    if (!is_in_or_empty(names, r.name) || !is_in_or_empty(f.clusters, r.cluster) ||
        !is_in_or_empty(f.users, r.user) || !has_number(f.ids, r.id))
      continue;
    table->row([&](std::string_view field) -> Cell {
      if (field == "Name" || field == "WCKeys") return {r.name};
      if (field == "Cluster") return {r.cluster};
      if (field == "User") return {r.user};
      if (field == "ID") return {std::to_string(r.id), true};
      if (field == "Flags") return {list_text(s.flags_of(model::RecordKind::Wckey, model::key_of(r)))};
      return {};
    });
  }
}

void show_resources(Sacctmgr& s, std::span<const std::string> words) {
  if (!s.load(asks_for_deleted(words))) return;
  std::string format;
  std::vector<std::string> names, servers, clusters;
  bool with_clusters = false;
  const auto take = [&](const Word& w) {
    if (!w.has_key && matches(w.text, "WithClusters", 5)) return with_clusters = true;
    if (!w.has_key || w.is("Names", 1))
      names = names_in(w.value);
    else if (w.is("Servers", 2))
      servers = names_in(w.value);
    else if (w.is("Clusters", 1))
      clusters = names_in(w.value), with_clusters = true;
    else
      return false;
    return true;
  };
  if (!read_conditions(s, words, &format, kHint, take)) return;
  if (format.empty())
    format = std::string("Name,Server,Type,Count,Allocated,ServerType") + (with_clusters ? ",Cluster,Allowed" : "");
  auto table = Table::make(s, format);
  if (!table) return;
  table->header();
  for (const auto& r : s.records().resources) {
    if (!is_in_or_empty(names, r.name) || !is_in_or_empty(servers, text::lower(r.server))) continue;
    std::uint32_t given = 0;
    for (const auto& share : r.shares) given += share.percent;
    const auto print = [&](const model::ResourceRecord::Share* share) {
      table->row([&](std::string_view field) -> Cell {
        if (field == "Name") return {r.name};
        if (field == "Server") return {r.server};
        if (field == "Type") return {"License"};
        if (field == "Count") return {std::to_string(r.count), true};
        if (field == "Allocated") return {std::to_string(given), true};
        if (field == "ServerType") return {r.server_type};
        if (field == "Description") return {r.description};
        if (field == "ID") return {std::to_string(r.id), true};
        if (!share) return {};
        if (field == "Cluster") return {share->cluster};
        if (field == "Allowed") return {std::to_string(share->percent), true};
        if (field == "CountAllowed") return {std::to_string(std::uint64_t{r.count} * share->percent / 100), true};
        return {};
      });
    };
    if (!with_clusters) print(nullptr);
    if (with_clusters)
      for (const auto& share : r.shares)
        if (is_in_or_empty(clusters, share.cluster)) print(&share);
  }
}

void show_transactions(Sacctmgr& s, std::span<const std::string> words) {
  if (!s.load()) return;
  std::string format;
  std::vector<std::string> actors, actions, clusters;
  std::vector<std::uint32_t> ids;
  Time from{}, until{};
  const auto date = [&](const Word& w, Time* to) {
    const auto when = text::parse_date(w.value, s.context.now(), text::DateSense::Past);
    if (!when) s.context.error("Invalid time specification (pos=0): {}", w.value), s.failed();
    if (when) *to = *when;
    return when.has_value();
  };
  const auto take = [&](const Word& w) {
    if (w.is("Start", 1)) return date(w, &from);
    if (w.is("End", 1)) return date(w, &until);
    if (w.is("Actors", 4)) return actors = names_in(w.value), true;
    if (w.is("Clusters", 3)) return clusters = names_in(w.value), true;
    if (w.is("Ids", 1) || !w.has_key) return ids = numbers_in(w.value), true;
    if (!w.is("Actions", 4)) return false;
    for (const std::string& name : names_in(w.value)) {
      if (std::ranges::none_of(kActions,
                               [&](const ActionRow& a) { return text::equal_ignoring_case(a.words, name); })) {
        s.context.error("You gave a bad action '{}'.", name);
        s.failed();
        return false;
      }
      actions.push_back(name);
    }
    return true;
  };
  if (!read_conditions(s, words, &format, "", take)) return;
  auto table = Table::make(s, format.empty() ? "Time,Action,Actor,Where,Info" : format);
  if (!table) return;
  const auto list = s.accounts->transactions(from, until);
  if (!list) return s.fail_with(list.error());
  table->header();
  for (const auto& t : *list) {
    if (!is_in_or_empty(actors, t.actor) || !is_in_or_empty(actions, text::lower(action_text(t.action))) ||
        !is_in_or_empty(clusters, t.cluster) || (!ids.empty() && !has_number(ids, static_cast<std::uint32_t>(t.id))))
      continue;
    table->row([&](std::string_view field) -> Cell {
      if (field == "TimeStamp") return {text::format_date(t.at)};
      if (field == "Action") return {action_text(t.action)};
      if (field == "ActionRaw") return {std::to_string(t.action), true};
      if (field == "Actor") return {t.actor};
      if (field == "Where") return {t.target};
      if (field == "Info") return {t.info};
      if (field == "Cluster") return {t.cluster};
      if (field == "ID") return {std::to_string(t.id), true};
      return {};
    });
  }
}

void show_problems(Sacctmgr& s, std::span<const std::string> words) {
  if (!s.load()) return;
  std::string format;
  if (!read_conditions(s, words, &format, "", [](const Word&) { return false; })) return;
  auto table = Table::make(s, format.empty() ? "Cluster,Account,User,Problem" : format);
  if (!table) return;
  table->header();
  const auto print = [&](std::string cluster, std::string account, std::string user, std::string problem) {
    table->row([&](std::string_view field) -> Cell {
      if (field == "Cluster") return {cluster};
      if (field == "Account") return {account};
      if (field == "User") return {user};
      if (field == "Problem") return {problem};
      return {};
    });
  };
  const auto& all = s.records();
  std::vector<std::string> unused;
  for (const auto& a : all.accounts)
    if (std::ranges::none_of(all.associations, [&](const auto& r) { return r.row.account == a.name; }))
      unused.push_back(a.name);
  std::ranges::sort(unused);
  for (const std::string& account : unused) print("", account, "", "Account has no Associations");
  // Accounts with nobody and nothing below them.
  std::vector<const model::AssociationRecord*> empty;
  for (const auto& r : all.associations) {
    if (r.row.is_user() || r.row.account == model::kRootAccount) continue;
    const bool used = std::ranges::any_of(all.associations, [&](const auto& other) {
      return other.cluster == r.cluster && other.parent == r.row.account;
    });
    if (!used) empty.push_back(&r);
  }
  std::ranges::sort(empty, {}, [](const auto* r) { return std::pair(r->cluster, r->row.account); });
  for (const auto* r : empty) print(r->cluster, r->row.account, "", "Account has no users");
  std::vector<std::string> users;
  for (const auto& u : all.users) users.push_back(u.name);
  std::ranges::sort(users);
  for (const std::string& user : users) {
    if (!find_user(user)) {
      print("", "", user, "User does not have a uid");
    } else if (std::ranges::none_of(all.associations, [&](const auto& r) { return r.row.user == user; })) {
      print("", "", user, "User has no Associations");
    }
  }
}

void show_events(Sacctmgr& s, std::span<const std::string> words) {
  if (!s.load()) return;
  std::string format;
  v1::AcctEventQuery query;
  query.set_with_cluster_events(true);
  Time from = s.context.now() - hours(24), until = s.context.now() + seconds(1);
  const auto take = [&](const Word& w) {
    if (!w.has_key && matches(w.text, "All_Clusters", 5)) return true;
    if (!w.has_key && matches(w.text, "All_Time", 5)) return from = Time{}, true;
    if (w.is("Start", 4) || w.is("End", 1)) {
      const auto when = text::parse_date(w.value, s.context.now(), text::DateSense::Past);
      if (!when) return s.context.error("Invalid time specification (pos=0): {}", w.value), s.failed(), false;
      (w.is("End", 1) ? until : from) = *when;
      return true;
    }
    if (w.is("Nodes", 1)) {
      for (const std::string& node : names_in(w.value)) query.add_nodes(node);
      query.set_with_cluster_events(false);
      return true;
    }
    if (w.is("Clusters", 1)) {
      for (const std::string& cluster : names_in(w.value)) query.add_clusters(cluster);
      return true;
    }
    return false;
  };
  if (!read_conditions(s, words, &format, "", take)) return;
  auto table = Table::make(s, format.empty() ? "Cluster,NodeName%-15,Start,End,State,Reason,User" : format);
  if (!table) return;
  query.set_from_us(to_micros(from));
  query.set_until_us(to_micros(until));
  auto accounting = s.context.connect_accounting();
  if (!accounting) return s.fail_with(accounting.error());
  std::vector<v1::AcctEventRow> rows;
  const Status asked = (*accounting)->events(query, [&](v1::AcctEventRow row) { rows.push_back(std::move(row)); });
  if (!asked) return s.fail_with(asked.error());
  table->header();
  for (const auto& r : rows) {
    table->row([&](std::string_view field) -> Cell {
      const bool of_cluster = r.node().empty();
      if (field == "Cluster") return {r.cluster()};
      if (field == "NodeNames") return {r.node()};
      if (field == "Start" || field == "TimeStart") return {text::format_date(from_micros(r.started_us()))};
      if (field == "End" || field == "TimeEnd")
        return {r.ended_us() ? text::format_date(from_micros(r.ended_us())) : "Unknown"};
      if (field == "Duration") {
        const Time end = r.ended_us() ? from_micros(r.ended_us()) : s.context.now();
        return {text::format_clock(std::chrono::duration_cast<seconds>(end - from_micros(r.started_us())))};
      }
      if (field == "Event") return {of_cluster ? "Cluster" : "Node"};
      // What else an idle node is, is what is said of it.
      if (field == "State") return {of_cluster ? "" : r.state().starts_with("IDLE+") ? r.state().substr(5) : r.state()};
      if (field == "Reason") return {of_cluster ? "Cluster Registered TRES" : r.reason()};
      if (field == "User")
        return {of_cluster || r.reason().empty() ? "" : fmt::format("{}({})", user_name(Uid{r.uid()}), r.uid())};
      if (field == "TRES") {
        model::TresCounts tres;
        for (const auto& t : r.tres()) tres.push_back({t.name(), t.count()});
        return {tres_text(tres)};
      }
      return {};
    });
  }
}

void show_configuration(Sacctmgr& s) {
  if (!s.load()) return;
  auto accounting = s.context.connect_accounting();
  if (!accounting) return s.fail_with(accounting.error());
  v1::AcctPingReply reply;
  if (const Status pinged = (*accounting)->ping(&reply); !pinged) return s.fail_with(pinged.error());
  const auto line = [&](std::string_view key, std::string_view value) {
    s.context.out.print("{:<22} = {}\n", key, value);
  };
  s.context.out.print("Configuration data as of {}\n", text::format_date(s.context.now()));
  line("AccountingStorageType", "accounting_storage/slurmdbd");
  line("ClusterName", s.own_cluster());
  line("SLURM_VERSION", kSlurmVersion);
  s.context.out.write("\nSlurmDBD configuration:\n");
  line("SLURMDBD_VERSION", reply.version());
  line("StorageType", reply.database());
}

}  // namespace spur::cli
