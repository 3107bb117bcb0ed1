// SPDX-License-Identifier: Apache-2.0
// Setters of keys about what becomes of jobs and steps: what they take along, how they are started, where they go when
// they end.
#include <fmt/format.h>

#include <algorithm>

#include "config/setter_parts.h"
#include "config/setters.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::config {

namespace {

using text::equal_ignoring_case;

// "1-9,18": ascending and each once.
Result<std::vector<std::uint32_t>> exit_codes(const Value& value) {
  constexpr std::uint64_t kHighest = 255;
  std::vector<std::uint32_t> out;
  for (const std::string_view item : text::split(value.text, ',')) {
    const auto ends = text::split(text::trim(item), '-');
    const auto first = text::parse_decimal(ends[0], kHighest);
    const auto last = ends.size() == 2 ? text::parse_decimal(ends[1], kHighest) : first;
    if (ends.size() > 2 || !first || !last || *last < *first)
      return bad(fmt::format("\"{}\" is no list of exit codes from 0 to {}", text::shown(value.text, 60), kHighest));
    for (std::uint64_t code = *first; code <= *last; ++code) out.push_back(static_cast<std::uint32_t>(code));
  }
  std::ranges::sort(out);
  const auto [from, to] = std::ranges::unique(out);
  out.erase(from, to);
  return out;
}

// Names of limits, without RLIMIT_.
Result<std::vector<std::string>> limit_names(std::string_view key, const Value& value) {
  static constexpr std::string_view kKnown[] = {"ALL",  "NONE", "AS",    "CORE",   "CPU", "DATA",
                                                "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK"};
  std::vector<std::string> out;
  for (std::string_view word : value.list) {
    if (text::starts_with_ignoring_case(word, "RLIMIT_")) word.remove_prefix(7);
    const auto known = std::ranges::find_if(kKnown, [&](auto name) { return equal_ignoring_case(name, word); });
    if (known == std::end(kKnown)) return bad(fmt::format("Bad {}: {}", key, text::shown(value.text, 60)));
    out.emplace_back(*known);
  }
  return out;
}

Status one_of_both(const Target& target, std::string_view other) {
  if (!target.draft.daemon.find_kept(other)) return {};
  return bad("PropagateResourceLimits and PropagateResourceLimitsExcept are mutually exclusive");
}

seconds hook_timeout(const Value& value) {
  return seconds(value.infinite || value.number >= 0xfffe ? 0 : static_cast<std::int64_t>(value.number));
}

}  // namespace

Status set_prolog_timeout(Target& target, const Value& value) {
  target.draft.daemon.hooks.prolog_timeout = hook_timeout(value);
  return {};
}
Status set_epilog_timeout(Target& target, const Value& value) {
  target.draft.daemon.hooks.epilog_timeout = hook_timeout(value);
  return {};
}

Status set_requeue_exits(Target& target, const Value& value) {
  SPUR_ASSIGN(target.draft.cluster.requeue_exits, exit_codes(value));
  return {};
}
Status set_requeue_hold_exits(Target& target, const Value& value) {
  SPUR_ASSIGN(target.draft.cluster.requeue_hold_exits, exit_codes(value));
  return {};
}

Status set_limits(Target& target, const Value& value) {
  SPUR_TRY(one_of_both(target, "PropagateResourceLimitsExcept"));
  SPUR_ASSIGN(target.draft.daemon.commands.limits, limit_names("PropagateResourceLimits", value));
  return {};
}
Status set_limits_except(Target& target, const Value& value) {
  SPUR_TRY(one_of_both(target, "PropagateResourceLimits"));
  SPUR_ASSIGN(target.draft.daemon.commands.limits_except, limit_names("PropagateResourceLimitsExcept", value));
  return {};
}

Status set_allow_root(Target& target, const Value& value) {
  target.draft.cluster.no_root_jobs = !value.flag;
  return {};
}

Status set_append_output(Target& target, const Value& value) {
  target.draft.cluster.append_output = target.draft.daemon.commands.append_output = value.flag;
  return {};
}

Status set_broadcast_options(Target& target, const Value& value) {
  CommandDefaults& commands = target.draft.daemon.commands;
  for (const std::string& option : value.list) {
    const std::size_t equals = option.find('=');
    const std::string_view name = std::string_view(option).substr(0, equals);
    const std::string_view what =
        equals == std::string::npos ? std::string_view() : std::string_view(option).substr(equals + 1);
    if (equal_ignoring_case(name, "DestDir"))
      commands.broadcast_directory = what;
    else if (equal_ignoring_case(name, "Compression"))
      commands.broadcast_compressed = !equal_ignoring_case(what, "none");
    else if (equal_ignoring_case(name, "send_libs"))
      commands.broadcast_libraries = !equal_ignoring_case(what, "no");
  }
  keep(target, "BcastParameters", value);  // also where it has its older name
  warn_of_options(target, "BcastParameters", value);
  return {};
}

Status set_broadcast_exclude(Target& target, const Value& value) {
  for (const std::string& path : value.list)
    if (!path.starts_with('/') && !equal_ignoring_case(path, "none"))
      return bad(fmt::format("\"{}\" is no absolute path", text::shown(path, 60)));
  const bool none = value.list.size() == 1 && equal_ignoring_case(value.list[0], "none");
  target.draft.daemon.commands.broadcast_exclude = none ? "NONE" : fmt::format("{}", fmt::join(value.list, ","));
  return {};
}

Status set_launch_parameters(Target& target, const Value& value) {
  bool& interactive = target.draft.daemon.commands.interactive_step;
  interactive = std::ranges::any_of(
      value.list, [](const std::string& word) { return equal_ignoring_case(word, "use_interactive_step"); });
  warn_of_options(target, "LaunchParameters", value);
  return {};
}

// What --cpu-bind is where srun does not say.
Status set_task_parameters(Target& target, const Value& value) {
  static constexpr std::string_view kWays[] = {"none", "sockets", "cores", "threads"};
  std::string way;
  bool verbose = false;
  for (const std::string& word : value.list) {
    verbose = verbose || equal_ignoring_case(word, "Verbose");
    const auto known = std::ranges::find_if(kWays, [&](auto name) { return equal_ignoring_case(name, word); });
    if (known == std::end(kWays)) continue;
    if (!way.empty()) return bad(fmt::format("Bad TaskPluginParam: {}", text::shown(value.text, 60)));
    way = *known;
  }
  target.draft.daemon.commands.task_binding = !verbose ? way : way.empty() ? "verbose" : "verbose," + way;
  warn_of_options(target, "TaskPluginParam", value);
  return {};
}

// Of Slurm's plugins the one for a plain file; the others are sinks of their own.
Status set_job_completion(Target& target, const Value& value) {
  if (equal_ignoring_case(value.text, "jobcomp/none") || equal_ignoring_case(value.text, "jobcomp/filetxt")) return {};
  for (const std::string_view other : {"jobcomp/elasticsearch", "jobcomp/kafka", "jobcomp/lua", "jobcomp/mysql",
                                       "jobcomp/pgsql", "jobcomp/script", "jobcomp/slurmdbd"})
    if (equal_ignoring_case(value.text, other)) {
      target.draft.warn(target.at, fmt::format("JobCompType: not in force yet: {}", other));
      return {};
    }
  return bad(fmt::format("\"{}\" is no way to note jobs that are over", text::shown(value.text, 60)));
}

Status set_reconfig_flags(Target& target, const Value& value) {
  model::ClusterConfig& cluster = target.draft.cluster;
  for (const std::string& word : value.list) {
    if (equal_ignoring_case(word, "KeepPartInfo")) cluster.keep_partition_info = true;
    if (equal_ignoring_case(word, "KeepPartState")) cluster.keep_partition_state = true;
  }
  warn_of_options(target, "ReconfigFlags", value);
  return {};
}

Status set_partition_over_time(Target& target, const Value& value) {
  constexpr std::uint64_t kForEver = 0xffffffffu / 60;  // no job's end ever comes of it
  target.partition->partition.over_time_limit_minutes =
      static_cast<std::uint32_t>(value.infinite ? kForEver : value.number);
  return {};
}

}  // namespace spur::config
