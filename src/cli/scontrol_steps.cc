// SPDX-License-Identifier: Apache-2.0
// scontrol show step, and what it asks of agents about processes: listpids, pidinfo, listjobs, liststeps.
#include <unistd.h>

#include <algorithm>
#include <set>

#include "cli/display.h"
#include "cli/record.h"
#include "cli/scontrol.h"
#include "cli/squeue_steps.h"
#include "cli/steps.h"
#include "model/distribution.h"
#include "text/decimal.h"
#include "text/printable.h"
#include "text/time_limit.h"

namespace spur::cli {
namespace {

std::string step_record(const RunningStep& running, RecordStyle style) {
  const wire::StepInfo& step = running.info;
  std::string tres = fmt::format("cpu={}", step.cpus);
  if (step.memory_mib > 0) tres += fmt::format(",mem={}M", step.memory_mib);
  tres += fmt::format(",node={}", step.node_count);
  const std::string limit = step.time_limit.is_finite()
                                ? text::format_time_limit(step.time_limit, text::LimitStyle::Scontrol)
                                : "UNLIMITED";
  std::string dist = model::distribution_text(step.distribution);
  if (dist.empty()) dist = "block";
  dist[0] = static_cast<char>(dist[0] & ~32);
  const bool suspended = running.job && running.job->state == model::JobState::Suspended;
  return std::move(Record(style.one_line)
                       .line("StepId={} UserId={} StartTime={} TimeLimit={}", running.id(), step.uid.value,
                             moment(step.started, "Unknown"), limit)
                       .line("State={} Partition={} NodeList={}", suspended ? "SUSPENDED" : "RUNNING", step.partition,
                             step.nodes)
                       .line("Nodes={} CPUs={} Tasks={} Name={} Network=(null)", step.node_count, step.cpus,
                             step.tasks, text::printable(step.name))
                       .line("TRES={}", tres)
                       .line("ResvPorts=(null)")
                       .line("CPUFreqReq=Default Dist={}", dist)
                       .line("SrunHost:Pid={}:{}", text::printable(step.host), step.pid))
      .finish();
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return {};
  const std::string_view whole(name);
  return std::string(whole.substr(0, whole.find('.')));
}

// What runs on a node: the one that is named, else this one. A node of this host that we are in a job of comes first;
// without a name, all nodes of this host count.
Result<std::vector<wire::NodeProcesses>> ask_nodes(Scontrol& run, Controller& controller, std::string node) {
  SPUR_ASSIGN(const auto table, controller.cluster());
  if (node.empty()) node = run.context.env("SLURMD_NODENAME").value_or("");
  const std::string host = host_name();
  std::vector<wire::NodeProcesses> out;
  for (const auto& known : table.nodes) {
    const bool meant = node.empty() ? known->name == host || known->hostname == host : known->name == node;
    if (!meant || known->address.empty()) continue;
    SPUR_ASSIGN(auto processes, controller.processes(known->address));
    out.push_back(std::move(processes));
  }
  return out;
}

struct PidTarget {
  std::optional<std::uint32_t> job;
  std::optional<std::string> step;
};

// False after the message.
bool read_target(Scontrol& run, const std::string& text, PidTarget& out) {
  if (text.empty() || text == "*") return true;
  const auto dot = text.find('.');
  out.job = text::parse_decimal32(std::string_view(text).substr(0, dot));
  if (!out.job) {
    run.fail("\"{}\" does not look like a jobid", text.substr(0, dot));
    return false;
  }
  if (dot == std::string::npos) return true;
  out.step = text.substr(dot + 1);
  if (*out.step == "batch" || *out.step == "extern" || text::parse_decimal32(*out.step)) return true;
  run.fail("\"{}\" does not look like a stepid", *out.step);
  return false;
}

}  // namespace

void scontrol_show_step(Scontrol& run, const std::string& name) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  std::vector<StepPick> picks;
  wire::JobFilter filter;
  if (!name.empty()) {
    const auto pick = parse_step_pick(name);
    if (!pick) return run.fail("Invalid job_step id specified: {}", name);
    picks.push_back(*pick);
    filter.jobs = {{.id = pick->job, .tasks = {}}};
    const auto known = controller->jobs(filter);
    if (known && known->unknown_job)
      return run.fail("slurm_get_job_steps error: {}", slurm_message(ErrorCode::InvalidJobId));
    filter.jobs.clear();  // components and tasks of an array have ids of their own
  }
  if (run.document) {
    run.exit_status = show_steps_document(run.context, *controller, filter, picks, *run.document);
    return;
  }
  const auto steps = running_steps(*controller, filter);
  if (!steps) return run.fail("slurm_get_job_steps error: {}", words(steps.error()));
  bool any = false;
  for (const auto& step : *steps) {
    if (!among(step, picks)) continue;
    run.context.out.write(step_record(step, run.style));
    any = true;
  }
  if (any) return;
  if (!name.empty()) run.exit_status = 1;
  if (!run.quiet)
    run.context.out.write(name.empty() ? "No job steps in the system\n"
                                       : fmt::format("Job step {} not found\n", name));
}

void scontrol_listpids(Scontrol& run, const Words& words_given) {
  PidTarget target;
  const std::string text = words_given.empty() ? std::string() : words_given[0];
  const std::string node = words_given.size() > 1 ? words_given[1] : std::string();
  if (!read_target(run, text, target)) return;
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto answer = ask_nodes(run, *controller, node);
  if (!answer) return run.fail("{}", words(answer.error()));
  std::string rows;
  bool known = false;
  for (const auto& on_node : *answer) {
    known = known ||
            (target.job && !target.step && std::ranges::find(on_node.jobs, JobId(*target.job)) != on_node.jobs.end());
    for (const auto& process : on_node.processes) {
      if (target.job && process.job.value != *target.job) continue;
      if (target.step && process.step != *target.step) continue;
      const auto number = [](const std::optional<std::uint32_t>& n) { return n ? std::to_string(*n) : "-"; };
      rows += fmt::format("{:<8} {:<8} {:<8} {:<7} {:<8}\n", process.pid, process.job.value, process.step,
                          number(process.local_id), number(process.rank));
    }
  }
  if (rows.empty() && !known) {
    if (!target.job)
      run.fail("No job steps exist on this node.");
    else
      run.fail("{}={} does not exist on node {}.", target.step ? "StepId" : "JobId", text,
               node.empty() ? "(null)" : node);
  }
  run.context.out.print("{:<8} {:<8} {:<8} {:<7} {:<8}\n", "PID", "JOBID", "STEPID", "LOCALID", "GLOBALID");
  run.context.out.write(rows);
}

void scontrol_pidinfo(Scontrol& run, const Words& words_given) {
  constexpr std::string_view kNone = "Failed to locate job for requested pid";
  if (words_given.empty()) return run.fail("missing argument for keyword:pidinfo");
  const auto pid = text::parse_decimal32(words_given[0]);
  if (!pid) return run.fail("{}", kNone);
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto answer = ask_nodes(run, *controller, {});
  if (!answer) return run.fail("{}", kNone);
  std::optional<JobId> job;
  for (const auto& on_node : *answer)
    for (const auto& process : on_node.processes)
      if (process.pid == *pid) job = process.job;
  if (!job) return run.fail("{}", kNone);
  wire::JobFilter filter;
  filter.jobs = {{.id = *job, .tasks = {}}};
  const auto table = controller->jobs(filter);
  if (!table) return run.fail("{}", words(table.error()));
  for (const auto& one : table->jobs) {
    if (one->id != *job) continue;
    // Slurm, too, lets a job without a limit end in a year.
    const Duration limit = one->time_limit.is_finite() ? one->time_limit.duration() : Duration(seconds(365 * 86400));
    const Time end = one->started + limit;
    const auto left = std::chrono::duration_cast<seconds>(end - run.context.now()).count();
    run.context.out.print("Slurm JobId={} ends at {}\nslurm_get_rem_time is {}\n", job->value, date_line(end),
                          std::max<long>(left, 0));
  }
}

void scontrol_listjobs(Scontrol& run, const Words& words_given) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto answer = ask_nodes(run, *controller, words_given.empty() ? std::string() : words_given[0]);
  if (!answer) return run.fail("{}", words(answer.error()));
  std::set<std::uint32_t> jobs;
  for (const auto& on_node : *answer)
    for (const JobId job : on_node.jobs) jobs.insert(job.value);
  if (jobs.empty()) return run.fail("No jobs exist on this node.");
  run.context.out.write("JOBID\n");
  for (const auto job : jobs) run.context.out.print("{}\n", job);
}

void scontrol_liststeps(Scontrol& run, const Words& words_given) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto answer = ask_nodes(run, *controller, words_given.empty() ? std::string() : words_given[0]);
  if (!answer) return run.fail("{}", words(answer.error()));
  std::vector<std::string> rows;
  for (const auto& on_node : *answer)
    for (const auto& process : on_node.processes) {
      std::string row = fmt::format("{:<8} {:<8}\n", process.job.value, process.step);
      if (std::ranges::find(rows, row) == rows.end()) rows.push_back(std::move(row));
    }
  if (rows.empty()) return run.fail("No job steps exist on this node.");
  run.context.out.print("{:<8} {:<8}\n", "JOBID", "STEPID");
  for (const auto& row : rows) run.context.out.write(row);
}

// Of this host, as in Slurm: which of its nodes, if it has several, SLURMD_NODENAME says, or who asks.
void scontrol_show_slurmd(Scontrol& run, const std::string& node_given) {
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto table = controller->cluster();
  if (!table) return run.fail("slurm_load_slurmd_status: {}", words(table.error()));
  const std::string node(node_given.empty() ? run.context.env("SLURMD_NODENAME").value_or("") : node_given);
  const std::string host = host_name();
  const auto found = std::ranges::find_if(table->nodes, [&](const model::NodePtr& one) {
    return !one->address.empty() && (node.empty() ? one->name == host || one->hostname == host : one->name == node);
  });
  const auto status = found == table->nodes.end()
                          ? Result<wire::AgentStatus>(fail(ErrorCode::Unreachable, "no agent of this host is known"))
                          : controller->agent_status((*found)->address);
  if (!status) return run.fail("slurm_load_slurmd_status: {}", words(status.error()));
  const model::NodeHardware& has = status->found;
  const auto line = [&](const char* key, const std::string& value) {
    run.context.out.print("{:<24} = {}\n", key, text::printable(value));
  };
  line("Active Steps", status->steps.empty() ? "NONE" : join(status->steps, ","));
  line("Actual CPUs", fmt::format("{}", has.cpus));
  line("Actual Boards", fmt::format("{}", has.boards));
  line("Actual sockets", fmt::format("{}", has.sockets));
  line("Actual cores", fmt::format("{}", has.cores_per_socket));
  line("Actual threads per core", fmt::format("{}", has.threads_per_core));
  line("Actual real memory", fmt::format("{} MB", has.memory_mib));
  line("Actual temp disk space", fmt::format("{} MB", has.tmp_disk_mib));
  line("Boot time", moment(status->started, "Unknown"));
  line("Hostname", status->node);
  line("Last slurmctld msg time", moment(status->heard, "NONE"));
  line("Slurmd PID", fmt::format("{}", status->pid));
  line("Slurmd Debug", fmt::format("{}", status->debug));
  line("Slurmd Logfile", status->log_file.empty() ? "(null)" : status->log_file);
  line("Version", std::string(kSlurmVersion));
}

namespace {

// "10", "+10", "-10".
struct LimitChange {
  bool more = false, less = false;
  TimeLimit given;
};
std::optional<LimitChange> parse_limit_change(std::string_view text) {
  LimitChange out{.more = text.starts_with('+'), .less = text.starts_with('-') && text != "-1", .given = {}};
  const auto given = text::parse_time_limit(out.more || out.less ? text.substr(1) : text);
  if (!given || ((out.more || out.less) && !given->is_finite())) return std::nullopt;
  out.given = *given;
  return out;
}

// Against the limit that the step has now.
Result<TimeLimit> new_limit(Controller& controller, const std::string& agent, const StepTarget& target,
                            const LimitChange& wanted) {
  if (!wanted.more && !wanted.less) return wanted.given;
  SPUR_ASSIGN(const auto steps, controller.steps(agent));
  const auto step = std::ranges::find_if(
      steps, [&](const wire::StepInfo& info) { return info.job == target.job && info.step == target.step; });
  if (step == steps.end()) return fail(ErrorCode::InvalidJobId);
  if (!step->time_limit.is_finite()) return fail(ErrorCode::InvalidTimeLimit);
  const std::uint64_t now = step->time_limit.minutes_value(), change = wanted.given.minutes_value();
  if (wanted.less && change > now)
    return fail(ErrorCode::ConfigInvalid,
                fmt::format("TimeLimit decrement larger than current time limit ({} > {})", change, now));
  return TimeLimit::of_minutes(static_cast<std::uint32_t>(wanted.more ? now + change : now - change));
}

}  // namespace

// The agent that manages the job's steps sees to it.
void scontrol_update_step(Scontrol& run, const KeyValue& entity, const Words& pairs) {
  std::string_view limit;
  for (const std::string& word : pairs) {
    const KeyValue pair = split_pair(word);
    if (!pair.has_value || !abbreviates(pair.key, "TimeLimit", 2)) {
      run.fail("Update of this parameter is not supported: {}", word);
      return run.fail("Request aborted");
    }
    limit = pair.value;
  }
  if (limit.empty()) return run.fail("No changes specified");
  const auto change = parse_limit_change(limit);
  if (!change) return run.fail("scontrol: error: Invalid TimeLimit value");
  const auto target = parse_step_target(entity.value);
  if (!target) {
    run.fail("Invalid StepID parameter: {}={}", entity.key, entity.value);
    return run.fail("Request aborted");
  }
  if (!target->step) return run.fail("slurm_update error: {}", slurm_message(ErrorCode::InvalidJobId));
  Controller* controller = run.controller();
  if (controller == nullptr) return;
  const auto refused = [&](const Error& error) {
    if (error.code == ErrorCode::ConfigInvalid) return run.fail("scontrol: error: {}", error.message);
    run.fail("slurm_update error: {}", words_of_update(error));
  };
  const auto ticket = controller->step_ticket(target->job);
  if (!ticket) return refused(ticket.error());
  if (ticket->addresses.empty()) return refused({ErrorCode::InvalidJobId, {}});
  const std::string& agent = ticket->addresses.front();
  const auto fresh = new_limit(*controller, agent, *target, *change);
  if (!fresh) return refused(fresh.error());
  const Status done = controller->limit_step(agent, ticket->ticket, *target->step, *fresh);
  if (done) return;
  refused(done.error().code == ErrorCode::JobAlreadyDone ? Error{ErrorCode::InvalidJobId, {}} : done.error());
}

}  // namespace spur::cli
