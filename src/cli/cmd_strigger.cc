// SPDX-License-Identifier: Apache-2.0
// strigger: sets, shows and clears triggers, programs that the controller runs when something happens to a job, to nodes
// or to the daemons. Messages and exit statuses are those of Slurm's.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/users.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using model::TriggerSource;
using Value = std::string_view;

constexpr std::int32_t kMostOffset = 32000;

struct Strigger {
  bool set = false, get = false, clear = false;
  std::uint32_t events = 0;
  bool node_given = false, front_end = false, permanent = false;
  std::string nodes, program;
  std::optional<JobId> job;
  std::uint32_t id = 0;
  std::int64_t offset = 0;
  std::optional<Uid> user;
  ClusterList clusters;
  bool quiet = false, no_header = false, help = false, usage = false, version = false;
  int verbose = 0;
};

template <bool Strigger::* Field>
OptionStatus flag(Strigger& s, Value) {
  s.*Field = true;
  return {};
}
template <std::uint32_t Event>
OptionStatus event(Strigger& s, Value) {
  s.events |= Event;
  return {};
}

// As far as it is a number, as Slurm's atoi reads it.
std::int64_t leading_number(Value v) {
  const bool minus = v.starts_with('-');
  if (minus || v.starts_with('+')) v.remove_prefix(1);
  std::size_t digits = 0;
  while (digits < v.size() && text::is_digit(v[digits])) ++digits;
  const auto number = text::parse_decimal(v.substr(0, digits), 1'000'000'000'000).value_or(digits > 0 ? 1'000'000'000'000 : 0);
  return minus ? -static_cast<std::int64_t>(number) : static_cast<std::int64_t>(number);
}

OptionStatus set_job(Strigger& s, Value v) {
  const auto id = text::parse_decimal32(v);
  if (!id || *id == 0) return bad_option(fmt::format("Invalid jobid {}", v), 1);
  s.job = JobId(*id);
  return {};
}
OptionStatus set_id(Strigger& s, Value v) {
  s.id = static_cast<std::uint32_t>(std::clamp<std::int64_t>(leading_number(v), 0, 0xffffffff));
  return {};
}
OptionStatus set_node(Strigger& s, Value v) {
  s.node_given = true;
  s.nodes = v;
  return {};
}
OptionStatus set_offset(Strigger& s, Value v) {
  s.offset = leading_number(v);
  if (s.offset < -kMostOffset || s.offset > kMostOffset)
    return bad_option(fmt::format("The --offset parameter must be between +/-{}", kMostOffset), 1);
  return {};
}
OptionStatus set_program(Strigger& s, Value v) {
  s.program = v;
  return {};
}
OptionStatus set_flags(Strigger& s, Value v) {
  if (!text::equal_ignoring_case(v, "perm")) return bad_option(fmt::format("Invalid flags {}", v), 1);
  s.permanent = true;
  return {};
}
OptionStatus set_user(Strigger& s, Value v) {
  s.user = find_user(v);
  if (!s.user) return bad_option(fmt::format("Invalid user {}", v), 1);
  return {};
}
OptionStatus set_clusters(Strigger& s, Value v) {
  s.clusters = parse_clusters(v);
  return {};
}
OptionStatus set_verbose(Strigger& s, Value) {
  ++s.verbose;
  return {};
}

constexpr auto V = Takes::Value;
constexpr auto N = Takes::Nothing;
// clang-format off
constexpr Option<Strigger> kOptions[] = {
    {{"set", 0, N, nullptr, "create a trigger"}, flag<&Strigger::set>},
    {{"get", 0, N, nullptr, "get trigger information"}, flag<&Strigger::get>},
    {{"clear", 0, N, nullptr, "delete a trigger"}, flag<&Strigger::clear>},
    {{"burst_buffer", 0, N, nullptr, "trigger event on burst buffer error"}, event<model::kTriggerBurstBuffer>},
    {{"front_end", 0, N, nullptr, "trigger event on FrontEnd node state changes"}, flag<&Strigger::front_end>},
    {{"primary_slurmctld_failure", 'a', N, nullptr, "trigger event when primary slurmctld fails"}, event<model::kTriggerPrimaryCtldFail>},
    {{"primary_slurmctld_resumed_operation", 'A', N, nullptr, "trigger event on primary slurmctld resumed operation\nafter failure"}, event<model::kTriggerPrimaryCtldResumedOperation>},
    {{"primary_slurmctld_resumed_control", 'b', N, nullptr, "trigger event on primary slurmctld resumed control"}, event<model::kTriggerPrimaryCtldResumedControl>},
    {{"backup_slurmctld_failure", 'B', N, nullptr, "trigger event when backup slurmctld fails"}, event<model::kTriggerBackupCtldFail>},
    {{"backup_slurmctld_resumed_operation", 'c', N, nullptr, "trigger event when backup slurmctld resumed operation\nafter failure"}, event<model::kTriggerBackupCtldResumedOperation>},
    {{"backup_slurmctld_assumed_control", 'C', N, nullptr, "trigger event when backup slurmctld assumed control"}, event<model::kTriggerBackupCtldAssumedControl>},
    {{"down", 'd', N, nullptr, "trigger event when node goes DOWN"}, event<model::kTriggerDown>},
    {{"drained", 'D', N, nullptr, "trigger event when node becomes DRAINED"}, event<model::kTriggerDrained>},
    {{"primary_slurmctld_acct_buffer_full", 'e', N, nullptr, "trigger event when primary slurmctld acct buffer full"}, event<model::kTriggerPrimaryCtldAccountingFull>},
    {{"fail", 'F', N, nullptr, "trigger event when node is expected to FAIL"}, event<model::kTriggerFail>},
    {{"fini", 'f', N, nullptr, "trigger event when job finishes"}, event<model::kTriggerFini>},
    {{"flags", 0, V, "perm", "trigger event flag (perm = permanent)"}, set_flags},
    {{"primary_slurmdbd_failure", 'g', N, nullptr, "trigger when primary slurmdbd fails"}, event<model::kTriggerPrimaryDbdFail>},
    {{"primary_slurmdbd_resumed_operation", 'G', N, nullptr, "trigger when primary slurmdbd resumed operation after\nfailure"}, event<model::kTriggerPrimaryDbdResumedOperation>},
    {{"primary_database_failure", 'h', N, nullptr, "trigger when primary database fails"}, event<model::kTriggerPrimaryDbFail>},
    {{"primary_database_resumed_operation", 'H', N, nullptr, "trigger when primary database resumed operation after\nfailure"}, event<model::kTriggerPrimaryDbResumedOperation>},
    {{"id", 'i', V, "#", "a trigger's ID number"}, set_id},
    {{"idle", 'I', N, nullptr, "trigger event when node remains IDLE"}, event<model::kTriggerIdle>},
    {{"jobid", 'j', V, "#", "trigger related to specific jobid"}, set_job},
    {{"clusters", 'M', V, "names", "clusters to issue commands to: this one's name", "cluster"}, set_clusters, "SLURM_CLUSTERS"},
    {{"node", 'n', Takes::Maybe, "host", "trigger related to specific node, all nodes by default"}, set_node},
    {{"noheader", 'N', N, nullptr, "Do not print the message header"}, flag<&Strigger::no_header>},
    {{"offset", 'o', V, "#", "trigger's offset time from event, negative to precede"}, set_offset},
    {{"program", 'p', V, "path", "pathname of program to execute when triggered"}, set_program},
    {{"quiet", 'Q', N, nullptr, "quiet mode (suppress informational messages)"}, flag<&Strigger::quiet>},
    {{"reconfig", 'r', N, nullptr, "trigger event on configuration changes"}, event<model::kTriggerReconfig>},
    {{"time", 't', N, nullptr, "trigger event on job's time limit"}, event<model::kTriggerTime>},
    {{"up", 'u', N, nullptr, "trigger event when node returned to service from DOWN\nstate"}, event<model::kTriggerUp>},
    {{"user", 0, V, "user", "a user name or ID to filter triggers by"}, set_user},
    {{"verbose", 'v', N, nullptr, "print detailed event logging"}, set_verbose},
    {{"version", 'V', N, nullptr, "print version information and exit"}, flag<&Strigger::version>},
    {{"help", 0, N, nullptr, "show this help message"}, flag<&Strigger::help>},
    {{"usage", 0, N, nullptr, "display brief usage message"}, flag<&Strigger::usage>},
};
// clang-format on

constexpr std::string_view kNoEvent =
    "You must specify a trigger (--down, --up, --reconfig, --time, --fini, --burst_buffer,\n"
    "--primary_slurmctld_failure,\n"
    "--primary_slurmctld_resumed_operation,\n"
    "--primary_slurmctld_resumed_control,\n"
    "--primary_slurmctld_acct_buffer_full,\n"
    "--backup_slurmctld_failure,\n"
    "--backup_slurmctld_resumed_operation,\n"
    "--backup_slurmctld_as_ctrl,\n"
    "--primary_slurmdbd_failure,\n"
    "--primary_slurmdbd_resumed_operation,\n"
    "--primary_database_failure, or \n"
    "--primary_database_resumed_operation)\n";

constexpr std::uint32_t kOfCtld =
    model::kTriggerPrimaryCtldFail | model::kTriggerPrimaryCtldResumedOperation |
    model::kTriggerPrimaryCtldResumedControl | model::kTriggerPrimaryCtldAccountingFull |
    model::kTriggerBackupCtldFail | model::kTriggerBackupCtldResumedOperation |
    model::kTriggerBackupCtldAssumedControl;
constexpr std::uint32_t kOfDbd = model::kTriggerPrimaryDbdFail | model::kTriggerPrimaryDbdResumedOperation;
constexpr std::uint32_t kOfDatabase = model::kTriggerPrimaryDbFail | model::kTriggerPrimaryDbResumedOperation;

// What is wrong with the line as a whole; empty: nothing.
std::string_view fault_of(const Strigger& s) {
  if (s.set + s.get + s.clear != 1)
    return "You must use exactly one of the following options: --set, --get or --clear";
  if (s.clear && s.id == 0 && !s.job && !s.user) return "You must specify a --id, --jobid, or --user to clear";
  if ((s.events & (model::kTriggerTime | model::kTriggerFini)) && !s.job) return "You must specify a --jobid value";
  if (s.set && s.program.empty()) return "You must specify a --program value";
  if (!s.program.empty() && !s.program.starts_with('/')) return "The --program value must start with \"/\"";
  if (!s.program.empty() && ::access(s.program.substr(0, s.program.find(' ')).c_str(), F_OK) != 0)
    return "Invalid --program value, file not found";
  if (!s.set) return {};
  return s.events == 0 ? kNoEvent : std::string_view();
}

TriggerSource source_of(const Strigger& s) {
  if (s.job) return TriggerSource::Job;
  if (s.front_end) return TriggerSource::FrontEnd;
  if (s.events & model::kTriggerBurstBuffer) return TriggerSource::Other;
  if (s.events & kOfCtld) return TriggerSource::Slurmctld;
  if (s.events & kOfDbd) return TriggerSource::Slurmdbd;
  return s.events & kOfDatabase ? TriggerSource::Database : TriggerSource::Node;
}

int set_trigger(Context& context, Controller& controller, const Strigger& s) {
  model::Trigger trigger;
  trigger.source = source_of(s);
  trigger.events = s.events;
  trigger.job = s.job.value_or(JobId{});
  trigger.nodes = s.nodes;
  trigger.offset = static_cast<std::int32_t>(s.offset);
  trigger.permanent = s.permanent;
  trigger.program = s.program;
  if (const Status done = controller.set_trigger(trigger); !done) {
    if (done.error().code == ErrorCode::NotSupported) {
      context.error("{}", done.error().message);
      return 1;
    }
    context.plain("slurm_set_trigger: {}", words(done.error()));
    return 1;
  }
  if (s.verbose > 0) context.info("trigger set");
  return 0;
}

int clear_triggers(Context& context, Controller& controller, const Strigger& s) {
  const Status done = controller.clear_triggers({s.id, s.job.value_or(JobId{}), s.user});
  if (done) {
    if (s.verbose > 0 && s.id != 0) context.info("trigger {} cleared", s.id);
    if (s.verbose > 0 && s.id == 0 && s.job) context.info("triggers for job {} cleared", s.job->value);
    if (s.verbose > 0 && s.id == 0 && !s.job) context.info("triggers for user {} cleared", s.user->value);
    return 0;
  }
  if (s.quiet) return 0;
  // Slurm's errno for it is ESRCH.
  const bool none = done.error().code == ErrorCode::NotFound;
  context.plain("slurm_clear_trigger: {}", none ? std::string("No such process") : words(done.error()));
  return 1;
}

bool is_shown(const model::Trigger& trigger, const Strigger& s) {
  if (s.id != 0 && trigger.id != s.id) return false;
  if (s.user && trigger.user != *s.user) return false;
  if (s.job && (trigger.source != TriggerSource::Job || trigger.job != *s.job)) return false;
  if (s.events != 0 && trigger.events != s.events) return false;
  return !s.node_given || trigger.source == TriggerSource::Node;  // whichever is named, as in Slurm
}

std::string resource_of(const model::Trigger& trigger) {
  if (trigger.source == TriggerSource::Job) return std::to_string(trigger.job.value);
  if (trigger.source == TriggerSource::Other || trigger.source == TriggerSource::FrontEnd) return "(null)";
  return trigger.nodes.empty() ? "*" : trigger.nodes;
}

int show_triggers(Context& context, Controller& controller, const Strigger& s) {
  const auto triggers = controller.triggers();
  if (!triggers) {
    context.plain("slurm_get_triggers: {}", words(triggers.error()));
    return 1;
  }
  if (s.verbose > 0) context.info("Read {} trigger records", triggers->size());
  bool header = !s.no_header;
  for (const model::Trigger& trigger : *triggers) {
    if (!is_shown(trigger, s)) continue;
    if (std::exchange(header, false))
      context.out.print("{:>7} {:<9} {:>7} {:<35} {:>6} {:<8} {:<5} {}\n", "TRIG_ID", "RES_TYPE", "RES_ID", "TYPE",
                        "OFFSET", "USER", "FLAGS", "PROGRAM");
    context.out.print("{:>7} {:<9} {:>7} {:<35} {:>6} {:<8} {:<5} {}\n", trigger.id,
                      model::source_name(trigger.source), resource_of(trigger), model::event_name(trigger.events),
                      trigger.offset, user_name(trigger.user), trigger.permanent ? "PERM" : "",
                      text::printable(trigger.program));
  }
  return 0;
}

}  // namespace

int cmd_strigger(Context& context) {
  Strigger s;
  const auto rest = read_line<Strigger>(context, kOptions, s, Order::Anywhere, 1);
  if (!rest) return rest.error();
  if (s.version) return print_version(context);
  if (s.usage) {
    context.out.write(
        "Usage: strigger [--set | --get | --clear | --version] [-aAbBcCdDefFgGhHiIjnNopQrtuv]\n");
    return 0;
  }
  if (s.help) {
    context.out.write("Usage: strigger [--set | --get | --clear] [OPTIONS]\n" + help_text(rows_of<Strigger>(kOptions)));
    return 0;
  }
  if (const std::string_view fault = fault_of(s); !fault.empty()) {
    const std::size_t end = std::min(fault.find('\n'), fault.size());
    context.error("{}", fault.substr(0, end));
    if (end < fault.size())
      for (const std::string_view line : text::split(fault.substr(end + 1), '\n')) context.plain("{}", line);
    return 1;
  }
  const auto controller = context.controller();
  if (!controller) {
    context.error("{}", words(controller.error()));
    return 1;
  }
  if (!is_this_cluster(context, **controller, s.clusters)) return 1;
  if (s.set) return set_trigger(context, **controller, s);
  return s.clear ? clear_triggers(context, **controller, s) : show_triggers(context, **controller, s);
}

}  // namespace spur::cli
