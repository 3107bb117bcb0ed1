// SPDX-License-Identifier: Apache-2.0
// Setters of keys about what agents do on their nodes (config/node_side.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "config/setter_parts.h"
#include "config/setters.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::config {

using text::equal_ignoring_case;

namespace {

// "101.5" or "50%", as thousandths of a percent.
Result<std::uint64_t> percent(const Value& value, double most) {
  std::string_view text = value.text;
  if (text.ends_with('%')) text.remove_suffix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0) || number > most)
    return bad(fmt::format("\"{}\" is no percentage from 0 to {}", text::shown(value.text, 40), most));
  return static_cast<std::uint64_t>(std::llround(number * 1000));
}

constexpr double kMostAllowed = 1'000'000;

}  // namespace

Status set_allowed_ram(Target& target, const Value& value) {
  SPUR_ASSIGN(target.draft.daemon.cgroup.allowed_ram, percent(value, kMostAllowed));
  return {};
}
Status set_allowed_swap(Target& target, const Value& value) {
  SPUR_ASSIGN(target.draft.daemon.cgroup.allowed_swap, percent(value, kMostAllowed));
  return {};
}
Status set_max_ram(Target& target, const Value& value) {
  SPUR_ASSIGN(target.draft.daemon.cgroup.max_ram, percent(value, 100));
  return {};
}
Status set_max_swap(Target& target, const Value& value) {
  SPUR_ASSIGN(target.draft.daemon.cgroup.max_swap, percent(value, 100));
  return {};
}

Status set_cgroup_plugin(Target& target, const Value& value) {
  if (equal_ignoring_case(value.text, "cgroup/v1"))
    return bad("cgroup/v1 is not supported: it is autodetect, cgroup/v2 or disabled");
  if (equal_ignoring_case(value.text, "disabled"))
    target.draft.daemon.cgroup.disabled = true;
  else if (!equal_ignoring_case(value.text, "autodetect") && !equal_ignoring_case(value.text, "cgroup/v2"))
    return bad(fmt::format("\"{}\" is none of autodetect, cgroup/v2 and disabled", text::shown(value.text, 40)));
  return {};
}

Status set_task_plugin(Target& target, const Value& value) {
  target.draft.task_cgroup = false;
  for (std::string_view name : value.list) {
    if (name.starts_with("task/")) name.remove_prefix(5);
    if (equal_ignoring_case(name, "cgroup")) target.draft.task_cgroup = true;
  }
  keep(target, "TaskPlugin", value);
  warn_of_options(target, "TaskPlugin", value);
  return {};
}

Status set_auto_detect(Target& target, const Value& value) {
  static constexpr struct {
    std::string_view word;
    Detect how;
  } kWays[] = {{"off", Detect::Off},
               {"nvml", Detect::Nvml},
               {"nvidia", Detect::Nvml},
               {"rsmi", Detect::Rsmi},
               {"oneapi", Detect::OneApi}};
  for (const auto& way : kWays)
    if (equal_ignoring_case(value.text, way.word)) {
      target.device->detect = way.how;
      return {};
    }
  return bad(fmt::format("\"{}\" is not supported: it is nvml, rsmi, oneapi or off", text::shown(value.text, 40)));
}

Status set_detect_all(Target& target, const Value& value) {
  target.draft.daemon.detect = {{.nodes = {}, .how = value.flag ? Detect::All : Detect::Off}};
  return {};
}

Status add_prolog(Target& target, const Value& value) {
  target.draft.daemon.hooks.prolog.push_back(value.text);
  keep_more(target, "Prolog", value);
  return {};
}
Status add_epilog(Target& target, const Value& value) {
  target.draft.daemon.hooks.epilog.push_back(value.text);
  keep_more(target, "Epilog", value);
  return {};
}
Status add_prolog_slurmctld(Target& target, const Value& value) {
  target.draft.daemon.hooks.prolog_slurmctld.push_back(value.text);
  keep_more(target, "PrologSlurmctld", value);
  return {};
}
Status add_epilog_slurmctld(Target& target, const Value& value) {
  target.draft.daemon.hooks.epilog_slurmctld.push_back(value.text);
  keep_more(target, "EpilogSlurmctld", value);
  return {};
}

// The controller looks at what `scontrol show config` says, so that a new configuration counts at once.
Status set_mail_program(Target& target, const Value& value) {
  keep(target, "MailProg", value);
  return {};
}
Status set_mail_domain(Target& target, const Value& value) {
  keep(target, "MailDomain", value);
  return {};
}

Status set_task_prolog(Target& target, const Value& value) {
  target.draft.daemon.hooks.task_prolog = value.text;
  keep(target, "TaskProlog", value);
  return {};
}
Status set_task_epilog(Target& target, const Value& value) {
  target.draft.daemon.hooks.task_epilog = value.text;
  keep(target, "TaskEpilog", value);
  return {};
}

Status set_hook_timeout(Target& target, const Value& value) {
  target.draft.daemon.hooks.timeout = seconds(value.number >= 0xfffe ? 0 : static_cast<std::int64_t>(value.number));
  keep(target, "PrologEpilogTimeout", value);
  return {};
}

Status set_prolog_flags(Target& target, const Value& value) {
  HookConfig& hooks = target.draft.daemon.hooks;
  for (const std::string& flag : value.list) {
    // Nobody waits for a prolog elsewhere than on the node itself, so NoHold adds nothing.
    const bool alone = equal_ignoring_case(flag, "Alloc") || equal_ignoring_case(flag, "NoHold");
    const bool contain = equal_ignoring_case(flag, "Contain");
    if (alone || contain)
      hooks.alloc = true;
    else if (equal_ignoring_case(flag, "Serial"))
      hooks.serial = true;
    if (contain) hooks.contain = true;
  }
  keep(target, "PrologFlags", value);
  warn_of_options(target, "PrologFlags", value);
  return {};
}

Status set_health_program(Target& target, const Value& value) {
  target.draft.daemon.health.program = value.text;
  keep(target, "HealthCheckProgram", value);
  return {};
}

Status set_reboot_program(Target& target, const Value& value) {
  target.draft.cluster.reboot_program = value.text;
  keep(target, "RebootProgram", value);
  return {};
}

Status set_resume_timeout(Target& target, const Value& value) {
  target.draft.cluster.resume_timeout = seconds(static_cast<std::int64_t>(value.number));
  keep(target, "ResumeTimeout", value);
  return {};
}

Status set_health_interval(Target& target, const Value& value) {
  target.draft.daemon.health.interval = seconds(static_cast<std::int64_t>(value.number));
  keep(target, "HealthCheckInterval", value);
  return {};
}

Status set_health_states(Target& target, const Value& value) {
  HealthConfig& health = target.draft.daemon.health;
  health.idle = health.mixed = health.allocated = false;
  for (const std::string& state : value.list) {
    if (equal_ignoring_case(state, "IDLE"))
      health.idle = true;
    else if (equal_ignoring_case(state, "MIXED"))
      health.mixed = true;
    else if (equal_ignoring_case(state, "ALLOC"))
      health.allocated = true;
  }
  keep(target, "HealthCheckNodeState", value);
  warn_of_options(target, "HealthCheckNodeState", value);
  return {};
}

Status set_sample_every(Target& target, const Value& value) {
  for (std::string_view item : value.list) {
    if (item.starts_with("task=")) item.remove_prefix(5);
    if (item.find('=') != std::string_view::npos) {
      target.draft.warn(target.at,
                        fmt::format("JobAcctGatherFrequency: not in force yet: {}", text::shown(item, 60)));
      continue;
    }
    const auto number = text::parse_decimal32(item);
    if (!number) return bad(fmt::format("\"{}\" is no number of seconds", text::shown(item, 40)));
    target.draft.daemon.sample_every = seconds(*number);
  }
  keep(target, "JobAcctGatherFrequency", value);
  return {};
}

Status set_gather_type(Target& target, const Value& value) {
  std::string_view kind = value.text;
  if (kind.starts_with("jobacct_gather/")) kind.remove_prefix(15);
  if (equal_ignoring_case(kind, "none"))
    target.draft.gather_usage = false;
  else if (!equal_ignoring_case(kind, "linux") && !equal_ignoring_case(kind, "cgroup"))
    return bad(fmt::format("\"{}\" is none of none, linux and cgroup", text::shown(value.text, 60)));
  keep(target, "JobAcctGatherType", value);
  return {};
}

}  // namespace spur::config
