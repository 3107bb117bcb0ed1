// SPDX-License-Identifier: Apache-2.0
// sacctmgr show: QOS, TRES, wckeys, resources, transactions.
#include <algorithm>
#include <tuple>

#include "cli/sacctmgr.h"
#include "cli/sacctmgr_json.h"
#include "text/date.h"
#include "text/decimal.h"
#include "text/words.h"

namespace spur::cli {
namespace {

constexpr std::string_view kHint = " Use keyword 'set' to modify value";

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
    {1436, "Remove Account Coords"},
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

// One of the names is a word of what was changed, or of how; no names: any will do.
bool mentions_any(const model::TransactionRecord& t, const std::vector<std::string>& names) {
  const auto is_part = [](char c) { return c == '_' || c == '-' || c == '.' || text::is_alpha(c) || text::is_digit(c); };
  const auto has = [&](std::string_view text, std::string_view name) {
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
      const bool begins = at == 0 || !is_part(text[at - 1]);
      const std::size_t end = at + name.size();
      if (begins && (end == text.size() || !is_part(text[end]))) return true;
    }
    return false;
  };
  return names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
           return !name.empty() && (has(t.target, name) || has(t.info, name));
         });
}

}  // namespace

bool read_show_conditions(Sacctmgr& s, std::span<const std::string> words, std::string* format, std::string_view hint,
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
  if (!read_show_conditions(s, words, &format, " Use keyword 'set' to modify SLURM_PRINT_VALUE", take)) return;
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
  if (!read_show_conditions(s, words, &format, kHint, take)) return;
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
  if (!read_show_conditions(s, words, &format, kHint, take)) return;
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
  if (!read_show_conditions(s, words, &format, kHint, take)) return;
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
  if (!read_show_conditions(s, words, &format, kHint, take)) return;
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
  std::vector<std::string> actors, actions, clusters, accounts, users;
  std::vector<std::uint32_t> ids;
  Time from{}, until{};
  const auto date = [&](const Word& w, Time* to) {
    const auto when = text::parse_date(w.value, s.context.now(), text::DateSense::Past);
    if (!when) s.plain("Invalid time specification (pos=0): {}", w.value);
    if (when) *to = *when;
    return true;
  };
  const auto take = [&](const Word& w) {
    if (w.is("Start", 1)) return date(w, &from);
    if (w.is("End", 1)) return date(w, &until);
    if (w.is("Actors", 4)) return actors = names_in(w.value), true;
    if (w.is("Accounts", 3)) return accounts = names_in(w.value), true;
    if (w.is("Clusters", 3)) return clusters = names_in(w.value), true;
    if (w.is("Users", 1)) return users = users_in(s, w.value), true;
    if (!w.has_key && matches(w.text, "WithAssoc", 5)) return true;
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
  if (!read_show_conditions(s, words, &format, "", take)) return;
  auto table = Table::make(s, format.empty() ? "Time,Action,Actor,Where,Info" : format);
  if (!table) return;
  const auto list = s.accounts->transactions(from, until);
  if (!list) return s.fail_with(list.error());
  table->header();
  for (const auto& t : *list) {
    if (!is_in_or_empty(actors, t.actor) || !is_in_or_empty(actions, text::lower(action_text(t.action))) ||
        !is_in_or_empty(clusters, t.cluster) || !mentions_any(t, accounts) || !mentions_any(t, users) ||
        !has_number(ids, static_cast<std::uint32_t>(t.id)))
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

}  // namespace spur::cli
