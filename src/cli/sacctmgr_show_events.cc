// SPDX-License-Identifier: Apache-2.0
// sacctmgr show: events, problems, configuration.
#include <algorithm>

#include "cli/sacctmgr.h"
#include "cli/users.h"
#include "config/load.h"
#include "model/shown_config.h"
#include "spur/v1/accounting.pb.h"
#include "text/date.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

struct EventWish {
  v1::AcctEventQuery query;
  std::string format;
  Time from, until;
  std::vector<std::string> states, reasons;
  std::vector<std::uint32_t> users;
  std::optional<std::uint64_t> min_cpus, max_cpus;
  bool clusters = true, nodes = true, open_only = false;
};

bool bad(Sacctmgr& s) {
  s.failed();
  return false;
}

// States of nodes by Slurm's names, with what may be said of one besides; "DRAIN", "DOWN*" is "DOWN".
bool take_states(Sacctmgr& s, std::string_view value, EventWish& wish) {
  static constexpr std::string_view kStates[] = {"UNKNOWN", "DOWN",  "IDLE",       "ALLOCATED", "ERROR",
                                                 "MIXED",   "FUTURE", "DRAIN",      "FAIL",      "MAINT",
                                                 "REBOOT",  "COMPLETING", "NO_RESPOND", "POWERED_DOWN"};
  for (const std::string_view word : text::split(value, ',')) {
    const auto known = std::ranges::find_if(
        kStates, [&](std::string_view name) { return !word.empty() && text::starts_with_ignoring_case(name, word); });
    if (known == std::end(kStates)) {
      s.plain("Invalid state: {}\nValid node states are: DRAIN FAIL UNKNOWN DOWN IDLE ALLOCATED ? MIXED FUTURE ", word);
      s.context.fatal("unrecognized job state value");
      return bad(s);
    }
    wish.states.emplace_back(*known);
  }
  wish.clusters = false;
  return true;
}

bool take_types(Sacctmgr& s, std::string_view value, EventWish& wish) {
  for (const std::string_view word : text::split(value, ',')) {
    if (matches(word, "Cluster", 1))
      wish.nodes = false;
    else if (matches(word, "Node", 1))
      wish.clusters = false;
    else
      return s.plain(" Unknown event type: '{}'  Valid events are Cluster and Node.", word), bad(s);
  }
  if (!wish.nodes && !wish.clusters) wish.nodes = wish.clusters = true;
  return true;
}

bool take_users(Sacctmgr& s, std::string_view value, EventWish& wish) {
  for (const std::string_view word : text::split(value, ',')) {
    const auto uid = find_user(word);
    if (!uid) return s.context.error("Invalid user id: {}", word), bad(s);
    wish.users.push_back(uid->value);
  }
  wish.clusters = false;
  return true;
}

// A time that cannot be read is told, and not there.
void take_time(Sacctmgr& s, std::string_view value, Time* to) {
  if (const auto when = text::parse_date(value, s.context.now(), text::DateSense::Past)) *to = *when;
  else s.plain("Invalid time specification (pos=0): {}", value);
}

bool take_event_word(Sacctmgr& s, const Word& w, EventWish& wish) {
  if (!w.has_key && matches(w.text, "All_Clusters", 5)) return true;
  if (!w.has_key && matches(w.text, "All_Time", 5)) return wish.from = Time{}, true;
  if (w.is("CondFlags", 2)) {
    if (matches(w.value, "open", 4)) return wish.open_only = true;
    return s.context.error("Unknown condition flag {}", w.value), bad(s);
  }
  if (w.is("Clusters", 1)) {
    for (const std::string& cluster : names_in(w.value)) wish.query.add_clusters(cluster);
    return true;
  }
  if (w.is("End", 4)) return take_time(s, w.value, &wish.until), true;
  if (w.is("Start", 5)) return take_time(s, w.value, &wish.from), true;
  if (w.is("MaxCPUs", 2)) return wish.max_cpus = text::parse_decimal(w.value), true;
  if (w.is("MinCPUs", 2)) return wish.min_cpus = text::parse_decimal(w.value), true;
  if (w.is("Nodes", 1)) {
    for (const std::string& node : names_in(w.value)) wish.query.add_nodes(node);
    wish.clusters = false;
    return true;
  }
  if (w.is("Reason", 1)) return wish.reasons = {std::string(w.value)}, wish.clusters = false, true;
  if (w.is("States", 4)) return take_states(s, w.value, wish);
  if (w.is("Users", 1)) return take_users(s, w.value, wish);
  if (!w.has_key || w.is("Events", 1)) return take_types(s, w.value, wish);
  return false;
}

bool is_meant(const EventWish& wish, const v1::AcctEventRow& row) {
  if (row.node().empty() ? !wish.clusters : !wish.nodes) return false;
  if (wish.open_only && row.ended_us() != 0) return false;
  if (!wish.users.empty() && std::ranges::find(wish.users, row.uid()) == wish.users.end()) return false;
  if (!wish.reasons.empty() && !text::equal_ignoring_case(row.reason(), wish.reasons.front())) return false;
  if (wish.min_cpus || wish.max_cpus) {
    std::uint64_t cpus = 0;
    for (const auto& t : row.tres())
      if (t.name() == "cpu") cpus = t.count();
    if ((wish.min_cpus && cpus < *wish.min_cpus) || (wish.max_cpus && cpus > *wish.max_cpus)) return false;
  }
  return wish.states.empty() || std::ranges::any_of(text::split(row.state(), '+'), [&](std::string_view part) {
           return std::ranges::any_of(wish.states, [&](const std::string& name) { return part.starts_with(name); });
         });
}

}  // namespace

void show_problems(Sacctmgr& s, std::span<const std::string> words) {
  if (!s.load()) return;
  std::string format;
  AssociationFilter f;
  bool tree = false;
  const auto take = [&](const Word& w) {
    if (!w.has_key) {
      tree = tree || matches(w.text, "Tree", 4);
      return true;  // ids of associations, or nothing that matters
    }
    if (w.is("Clusters", 1)) return f.clusters = names_in(w.value), true;
    if (w.is("Accounts", 2)) return f.accounts = names_in(w.value), true;
    if (w.is("Users", 1)) return f.users = users_in(s, w.value), true;
    return w.is("Ids", 1) || w.is("Partitions", 4) || w.is("Parents", 4);
  };
  if (!read_show_conditions(s, words, &format, "", take)) return;
  auto table = Table::make(s, format.empty() ? "Cluster,Account,User,Problem" : format);
  if (!table) return;
  if (tree)
    for (Column& column : table->columns)
      if (column.field->name == "Account" && column.width == column.field->width) column.width = -20;
  table->header();
  const auto print = [&](std::string cluster, std::string account, std::string user, std::string problem) {
    // As Slurm has it: users do not choose among accounts that are nowhere, nor accounts among users.
    if (!is_in_or_empty(f.clusters, cluster) || (user.empty() && !is_in_or_empty(f.accounts, account))) return;
    if ((!user.empty() || !cluster.empty()) && !is_in_or_empty(f.users, user)) return;
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
  EventWish wish;
  wish.query.set_with_cluster_events(true);
  wish.from = s.context.now() - hours(24);
  wish.until = s.context.now() + seconds(1);
  const auto take = [&](const Word& w) { return take_event_word(s, w, wish); };
  if (!read_show_conditions(s, words, &wish.format, "", take)) return;
  auto table = Table::make(s, wish.format.empty() ? "Cluster,NodeName%-15,Start,End,State,Reason,User" : wish.format);
  if (!table) return;
  wish.query.set_from_us(to_micros(wish.from));
  wish.query.set_until_us(to_micros(wish.until));
  auto accounting = s.context.connect_accounting();
  if (!accounting) return s.fail_with(accounting.error());
  std::vector<v1::AcctEventRow> rows;
  const Status asked = (*accounting)->events(wish.query, [&](v1::AcctEventRow row) { rows.push_back(std::move(row)); });
  if (!asked) return s.fail_with(asked.error());
  table->header();
  for (const auto& r : rows) {
    if (!is_meant(wish, r)) continue;
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
      if (field == "EventRaw") return {of_cluster ? "1" : "2", true};
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
  // As the commands on this host know it.
  const auto loaded = config::load({}, config::Want::All);
  const auto shown = [&](std::string_view key, const char* otherwise = "(null)") {
    const std::string_view value = loaded ? model::shown_value(loaded->cluster, key) : std::string_view();
    return std::string(value.empty() ? otherwise : value);
  };
  line("AccountingStorageBackupHost ", shown("AccountingStorageBackupHost"));  // with a blank, as Slurm has it
  for (const char* key : {"AccountingStorageHost", "AccountingStorageParameters"}) line(key, shown(key));
  line("AccountingStoragePass", "(null)");
  line("AccountingStoragePort", shown("AccountingStoragePort"));
  line("AccountingStorageType", "accounting_storage/slurmdbd");
  line("AccountingStorageUser", "N/A");
  for (const char* key : {"AuthType", "MessageTimeout", "PluginDir", "PrivateData"}) line(key, shown(key));
  line("SlurmUserId", shown("SlurmUser"));
  for (const char* key : {"SLURM_CONF", "SLURM_VERSION", "TCPTimeout"}) line(key, shown(key));
  line("TrackWCKey", shown("TrackWCKey", "no") == "yes" ? "Yes" : "No");
  s.context.out.write("\nSlurmDBD configuration:\n");
  for (const auto& setting : reply.settings()) line(setting.name(), text::printable(setting.value()));
}

}  // namespace spur::cli
