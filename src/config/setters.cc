// SPDX-License-Identifier: Apache-2.0
// Keys that are more than one field. Errors name the value; the caller adds the place.
#include "config/setters.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/select_words.h"
#include "config/setter_parts.h"
#include "text/decimal.h"
#include "text/gres.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::config {

namespace {

using text::equal_ignoring_case;

// A list where ALL stands for no restriction, which the model says with an empty list.
std::vector<std::string> unless_all(const Value& value) {
  if (value.list.size() == 1 && equal_ignoring_case(value.list[0], "ALL")) return {};
  return value.list;
}

// Words that are read where they matter, and kept as they are written.
Status keep_options(Target& target, std::string_view key, const Value& value) {
  keep(target, key, value);
  warn_of_options(target, key, value);
  return {};
}

}  // namespace

Status set_listen_address(Target& target, const Value& value) {
  target.draft.listen_given = true;
  target.draft.daemon.controller_listen = {value.text};
  target.draft.daemon.controller_port = static_cast<std::uint16_t>(value.number);
  return {};
}

Status set_accounting_host(Target& target, const Value& value) {
  target.draft.daemon.accounting_host = value.text;
  target.draft.cluster.is_accounted = !value.text.empty();
  return {};
}

Status set_accounting_type(Target& target, const Value& value) {
  target.draft.cluster.is_accounted = equal_ignoring_case(value.text, "accounting_storage/slurmdbd");
  keep(target, "AccountingStorageType", value);
  return {};
}

Status set_accounting_listen(Target& target, const Value& value) {
  target.draft.daemon.accounting_listen = value.text;
  target.draft.daemon.accounting_port = static_cast<std::uint16_t>(value.number);
  return {};
}

Status set_accounting_log(Target& target, const Value& value) {
  target.draft.daemon.accounting_log.file = value.text;
  return {};
}

Status set_accounting_store(Target& target, const Value& value) {
  auto& cluster = target.draft.cluster;
  for (const std::string& word : value.list) {
    if (equal_ignoring_case(word, "job_script"))
      cluster.keep_scripts = true;
    else if (equal_ignoring_case(word, "job_env"))
      cluster.keep_environments = true;
    else if (!equal_ignoring_case(word, "job_comment") && !equal_ignoring_case(word, "job_extra") &&
             !equal_ignoring_case(word, "no_stdio"))
      return bad(fmt::format("\"{}\" is none of job_comment, job_env, job_extra, job_script, no_stdio", word));
  }
  return {};
}

Status set_agent_listen(Target& target, const Value& value) {
  target.draft.daemon.agent_listen = value.list[0];
  target.draft.daemon.agent_port = static_cast<std::uint16_t>(value.number);
  return {};
}

Status set_controller_hosts(Target& target, const Value& value) {
  if (value.list.empty()) return bad("at least one host is needed");
  target.draft.controller_hosts = value.list;
  return {};
}

Status add_controller_host(Target& target, const Value& value) {
  target.draft.controller_hosts.push_back(value.text);
  return {};
}

Status set_controller_ports(Target& target, const Value& value) {
  const auto ends = text::split(value.text, '-');
  const auto first = text::parse_decimal(ends[0], 65535);
  const auto last = ends.size() == 2 ? text::parse_decimal(ends[1], 65535) : first;
  if (ends.size() > 2 || !first || !last || *first == 0 || *last < *first)
    return bad(fmt::format("\"{}\" is no port and no range of ports", text::shown(value.text, 40)));
  target.draft.daemon.controller_port = static_cast<std::uint16_t>(*first);
  target.draft.last_controller_port = static_cast<std::uint16_t>(*last);
  return {};
}

Status set_communication(Target& target, const Value& value) {
  for (const std::string& option : value.list) {
    if (equal_ignoring_case(option, "NoCtldInAddrAny")) target.draft.listen_on_controller_address = true;
    if (equal_ignoring_case(option, "NoInAddrAny")) target.draft.daemon.agent_listen_on_node_address = true;
  }
  keep(target, "CommunicationParameters", value);
  warn_of_options(target, "CommunicationParameters", value);
  return {};
}

Status set_log_level(Target& target, const Value& value) {
  SPUR_TRY(set_controller_log_level(target, value));
  return set_agent_log_level(target, value);
}

Status set_controller_log_level(Target& target, const Value& value) {
  SPUR_ASSIGN(target.draft.daemon.controller_log.level, parse_log_level(value.text));
  return {};
}

Status set_agent_log_level(Target& target, const Value& value) {
  SPUR_ASSIGN(target.draft.daemon.agent_log.level, parse_log_level(value.text));
  return {};
}

Status set_log_format(Target& target, const Value& value) {
  const LogFormat format = value.number == 1 ? LogFormat::Json : LogFormat::Text;
  target.draft.daemon.controller_log.format = format;
  target.draft.daemon.agent_log.format = format;
  return {};
}

Status set_controller_syslog(Target& target, const Value& value) {
  SPUR_ASSIGN(target.draft.daemon.controller_log.syslog_level, parse_log_level(value.text));
  return {};
}

Status set_agent_syslog(Target& target, const Value& value) {
  SPUR_ASSIGN(target.draft.daemon.agent_log.syslog_level, parse_log_level(value.text));
  return {};
}

Status set_log_time_of(std::initializer_list<LogConfig*> logs, Target& target, const Value& value) {
  static constexpr std::string_view kFormats[] = {"iso8601", "iso8601_ms", "rfc5424", "rfc5424_ms",
                                                  "rfc3339", "clock",      "short",   "thread_id"};
  for (const std::string& word : value.list) {
    const auto known = std::ranges::find_if(kFormats, [&](auto name) { return equal_ignoring_case(name, word); });
    if (known == std::end(kFormats) && !equal_ignoring_case(word, "format_stderr"))
      return bad(fmt::format("invalid LogTimeFormat {}", text::shown(value.text, 60)));
    if (known == std::end(kFormats)) {
      target.draft.warn(target.at, "LogTimeFormat: not in force yet: format_stderr");
      continue;
    }
    const auto format = static_cast<LogTime>(known - std::begin(kFormats));
    for (LogConfig* log : logs) log->time = format;
  }
  return {};
}
Status set_log_time(Target& target, const Value& value) {
  return set_log_time_of({&target.draft.daemon.controller_log, &target.draft.daemon.agent_log}, target, value);
}

Status set_debug_flags(Target& target, const Value& value) {
  const auto flags = text::parse_debug_flags(fmt::format("{}", fmt::join(value.list, ",")));
  if (!flags) return bad(fmt::format("DebugFlags invalid: {}", text::shown(value.text, 100)));
  target.draft.daemon.debug_flags = *flags;
  warn_of_options(target, "DebugFlags", value);
  return {};
}

Status set_scheduler_log(Target& target, const Value& value) {
  target.draft.daemon.scheduler_log = value.number != 0;
  return {};
}

Status set_log_file(Target& target, const Value& value) {
  SPUR_TRY(set_controller_log_file(target, value));
  return set_agent_log_file(target, value);
}

Status set_controller_log_file(Target& target, const Value& value) {
  target.draft.daemon.controller_log.file = value.text;
  return {};
}

Status set_agent_log_file(Target& target, const Value& value) {
  target.draft.daemon.agent_log.file = value.text;
  return {};
}

Status set_licenses(Target& target, const Value& value) {
  auto& licenses = target.draft.cluster.licenses;
  licenses.clear();
  for (const auto& [name, count] : value.counts) {
    for (const model::LicenseConfig& other : licenses)
      if (other.name == name) return bad(fmt::format("license {} is declared twice", text::shown(name, 40)));
    licenses.push_back({.name = name, .count = static_cast<std::uint32_t>(count)});
  }
  return {};
}

Status set_enforce_limits(Target& target, const Value& value) {
  using enum model::EnforcePartitionLimits;  // the order of the words: NO|ANY|ALL|YES
  target.draft.cluster.enforce_partition_limits = value.number == 0 ? No : value.number == 1 ? Any : All;
  return {};
}

Status set_over_time_limit(Target& target, const Value& value) {
  // Unlimited: so long that no job's end ever comes of it.
  const std::uint64_t minutes = value.infinite ? 0xffffffffu / 60 : value.number;
  target.draft.cluster.over_time_limit = seconds(minutes * 60);
  return {};
}

Status set_default_time_limit(Target& target, const Value& value) {
  target.draft.default_time =
      value.number == 0 ? TimeLimit() : TimeLimit::of_minutes(static_cast<std::uint32_t>(value.number));
  return {};
}

Status set_memory_consumable(Target& target, const Value& value) {
  target.draft.cluster.memory_as = value.flag ? model::MemoryAs::Consumable : model::MemoryAs::NotConsumable;
  return {};
}

Status set_max_script(Target& target, const Value& value) {
  target.draft.cluster.max_script_bytes = static_cast<std::uint32_t>(value.number * 1024);
  return {};
}

Status set_select_type(Target& target, const Value& value) {
  if (equal_ignoring_case(value.text, "select/linear")) {
    target.draft.whole_nodes = true;
  } else if (!equal_ignoring_case(value.text, "select/cons_tres") &&
             !equal_ignoring_case(value.text, "select/cons_res")) {
    return bad(
        fmt::format("\"{}\" is not supported: it is select/cons_tres or select/linear", text::shown(value.text, 40)));
  }
  keep(target, "SelectType", value);
  return {};
}

Status set_select_parameters(Target& target, const Value& value) {
  struct Word {
    std::string_view text;
    bool whole_cores, memory;
  };
  static constexpr Word kUnits[] = {{"CR_CPU", false, false},       {"CR_CPU_Memory", false, true},
                                    {"CR_Core", true, false},       {"CR_Core_Memory", true, true},
                                    {"CR_Memory", true, true},      {"CR_Socket", true, false},
                                    {"CR_Socket_Memory", true, true}, {"CR_Board", true, false},
                                    {"CR_Board_Memory", true, true}};
  target.draft.select_words_given = true;
  for (const std::string& option : value.list) {
    if (!find_slurm_option("SelectTypeParameters", option))
      return bad(fmt::format("Bad SelectTypeParameter: {}", text::shown(option, 40)));
    for (const SelectWord& word : kSelectWords)
      if (equal_ignoring_case(word.word, option)) target.draft.cluster.*word.flag = true;
    for (const Word& word : kUnits) {
      if (!equal_ignoring_case(word.text, option)) continue;
      target.draft.cluster.cores_whole = word.whole_cores;
      target.draft.cluster.memory_as = word.memory ? model::MemoryAs::Consumable : model::MemoryAs::NotConsumable;
    }
  }
  const model::ClusterConfig& cluster = target.draft.cluster;
  if (cluster.one_task_per_core && !cluster.cores_whole)
    return bad("CR_ONE_TASK_PER_CORE is not compatible with CR_CPU*, please change to use CR_CORE* instead.");
  warn_of_options(target, "SelectTypeParameters", value);
  return {};
}

Status set_scheduler_parameters(Target& target, const Value& value) {
  for (const std::string& option : value.list) {
    const std::size_t equals = option.find('=');
    const std::string_view name = std::string_view(option).substr(0, equals);
    if (equal_ignoring_case(name, "kill_invalid_depend")) {
      target.draft.cluster.kill_invalid_dependency = true;
    } else if (equal_ignoring_case(name, "nohold_on_prolog_fail")) {
      target.draft.cluster.hold_on_prolog_fail = false;
    } else if (equal_ignoring_case(name, "preempt_youngest_first")) {
      target.draft.cluster.preempt.youngest_first = true;
    } else if (equal_ignoring_case(name, "max_script_size")) {
      const auto bytes = text::parse_decimal(
          equals == std::string::npos ? "" : std::string_view(option).substr(equals + 1), 512u << 20);
      if (!bytes) return bad(fmt::format("\"{}\" needs a number of bytes up to 512 MiB", text::shown(option, 60)));
      target.draft.cluster.max_script_bytes = static_cast<std::uint32_t>(*bytes);
    } else if (equal_ignoring_case(name, "bf_max_job_test") || equal_ignoring_case(name, "batch_sched_delay") ||
               equal_ignoring_case(name, "max_switch_wait")) {
      const auto number =
          text::parse_decimal32(equals == std::string::npos ? "" : std::string_view(option).substr(equals + 1));
      const bool jobs = equal_ignoring_case(name, "bf_max_job_test");
      if (!number || (jobs && *number == 0))
        return bad(fmt::format("\"{}\" needs a number", text::shown(option, 60)));
      if (jobs)
        target.draft.cluster.planned_jobs = *number;
      else if (equal_ignoring_case(name, "batch_sched_delay"))
        target.draft.daemon.batch_sched_delay = seconds(*number);
      else
        target.draft.cluster.max_switch_wait = seconds(*number);
    }
  }
  return keep_options(target, "SchedulerParameters", value);
}

Status set_controller_parameters(Target& target, const Value& value) {
  target.draft.daemon.serve_configuration = false;
  for (const std::string& option : value.list)
    if (equal_ignoring_case(option, "enable_configless"))
      target.draft.daemon.serve_configuration = true;
    else if (equal_ignoring_case(option, "preempt_send_user_signal"))
      target.draft.cluster.preempt.send_user_signal = true;
  return keep_options(target, "SlurmctldParameters", value);
}

Status set_scron_parameters(Target& target, const Value& value) {
  return keep_options(target, "ScronParameters", value);
}

Status set_auth_alt_types(Target& target, const Value& value) {
  return keep_options(target, "AuthAltTypes", value);
}

Status set_auth_alt_parameters(Target& target, const Value& value) {
  return keep_options(target, "AuthAltParameters", value);
}

Status set_defaults(Target& target, const Value& value) {
  target.draft.dialect = value.number == 1 ? Dialect::Slurm : Dialect::Spur;
  return {};
}

Status set_agent_parameters(Target& target, const Value& value) {
  for (const std::string& option : value.list)
    if (equal_ignoring_case(option, "config_overrides")) target.draft.cluster.config_overrides = true;
  return keep_options(target, "SlurmdParameters", value);
}

Status set_partition_state(Target& target, const Value& value) {
  target.partition->partition.state = static_cast<model::PartitionState>(value.number);
  return {};
}

Status set_oversubscribe(Target& target, const Value& value) {
  struct Word {
    std::string_view text;
    model::OverSubscribe how;
    std::uint32_t count;
  };
  static constexpr Word kWords[] = {{"NO", model::OverSubscribe::No, 1},
                                    {"YES", model::OverSubscribe::Yes, 4},
                                    {"FORCE", model::OverSubscribe::Force, 4},
                                    {"EXCLUSIVE", model::OverSubscribe::Exclusive, 1}};
  const auto parts = text::split(value.text, ':');
  for (const Word& word : kWords) {
    if (!equal_ignoring_case(word.text, parts[0])) continue;
    const bool takes_count = word.count > 1;
    std::uint64_t count = word.count;
    if (parts.size() == 2) count = takes_count ? text::parse_decimal(parts[1], 65533).value_or(0) : 0;
    if (parts.size() > 2 || count == 0) break;
    target.partition->partition.oversubscribe = word.how;
    target.partition->partition.oversubscribe_count = static_cast<std::uint32_t>(count);
    return {};
  }
  return bad(
      fmt::format("Bad value \"{}\": it is NO, YES[:jobs], FORCE[:jobs] or EXCLUSIVE", text::shown(value.text, 40)));
}

Status set_partition_priority(Target& target, const Value& value) {
  target.partition->partition.priority_tier = static_cast<std::uint32_t>(value.number);
  target.partition->partition.priority_job_factor = static_cast<std::uint32_t>(value.number);
  return {};
}

Status set_allow_groups(Target& target, const Value& value) {
  target.partition->partition.allow_groups = unless_all(value);
  return {};
}

Status set_allow_accounts(Target& target, const Value& value) {
  target.partition->partition.allow_accounts = unless_all(value);
  return {};
}

Status set_allow_qos(Target& target, const Value& value) {
  target.partition->partition.allow_qos = unless_all(value);
  return {};
}

Status set_alloc_nodes(Target& target, const Value& value) {
  target.partition->partition.alloc_nodes = unless_all(value);
  return {};
}

Status set_node_gres(Target& target, const Value& value) {
  SPUR_ASSIGN(const std::vector<text::GresDeclaration> declared, text::parse_gres_declaration(value.text));
  std::vector<model::NodeGres> all;
  std::vector<std::string> rest;
  for (const text::GresDeclaration& gres : declared) {
    if (gres.no_consume) rest.push_back(gres.item.name + ":no_consume");
    all.push_back({.name = gres.item.name, .type = gres.item.type, .count = gres.item.count, .file = {}});
  }
  warn_rest(target, "Gres", rest);
  target.node->node.gres = std::move(all);
  return {};
}

Status set_node_state(Target& target, const Value& value) {
  // The order of the words in keys.cc: UNKNOWN|IDLE|DOWN|DRAIN|FAIL|FAILING|FUTURE|CLOUD. A node is unknown until it
  // registers.
  const bool plain = value.number < 2;
  target.node->node.state = plain ? "" : value.text == "FAILING" ? "FAIL" : value.text;
  return {};
}

}  // namespace spur::config
