// SPDX-License-Identifier: Apache-2.0
// `scontrol show job`. Programs read this text by its keys, so keys, their order and the words for "nothing" are
// Slurm's; keys of features that Spur does not have show the value they have in a Slurm without them.
#include <algorithm>
#include <numeric>

#include "cli/display.h"
#include "cli/job_files.h"
#include "cli/record.h"
#include "cli/scontrol_records.h"
#include "cli/users.h"
#include "text/hostlist.h"
#include "text/mail_type.h"
#include "text/memory_size.h"
#include "text/printable.h"
#include "text/time_limit.h"

namespace spur::cli {
namespace {

using model::Job;
using model::JobSpec;
using text::printable;

std::string clock_text(Duration span) {
  return text::format_clock(std::chrono::floor<seconds>(span));
}
std::string limit_text(TimeLimit limit) {
  return text::format_time_limit(limit, text::LimitStyle::Scontrol);
}
std::string exit_text(const model::ExitStatus& exit) {
  return fmt::format("{}:{}", exit.code, exit.signal);
}
std::string safe_or_null(std::string_view text) {
  return or_null(printable(text));
}

void add_identity(Record& record, const Job& job, std::optional<std::uint32_t> task) {
  const JobSpec& spec = *job.spec;
  record.line("JobId={}", job.id.value);
  if (job.array_job) {
    if (!task) task = last_task(job);
    const std::string tasks = task ? fmt::format("{}", *task) : array_tasks(job, 0);
    record.more(" ArrayJobId={} ArrayTaskId={}", job.array_job.value, tasks.empty() ? "N/A" : tasks);
    if (job.array_max_running > 0) record.more(" ArrayTaskThrottle={}", job.array_max_running);
  }
  if (job.het_job) record.more(" HetJobId={} HetJobOffset={}", job.het_job.value, job.het_offset);
  record.more(" JobName={}", printable(spec.name));
  if (job.het_job) record.line("HetJobIdSet={}", model::het_id_set(job));
  record.line("UserId={}({}) GroupId={}({}) MCS_label=N/A", user_name(spec.uid), spec.uid.value, group_name(spec.gid),
              spec.gid.value);
  record.line("Priority={} Nice={} Account={} QOS={}", job.priority, spec.nice, safe_or_null(spec.account),
              safe_or_null(spec.qos));
  if (!spec.wckey.empty()) record.more(" WCKey={}", printable(spec.wckey));
}

void add_state(Record& record, const Job& job, RecordStyle style) {
  record.line("JobState={} Reason={} Dependency={}", model::long_name(job.state, job.flags),
              printable(reason_text(job)), or_null(dependencies_left(job)));
  record.line("Requeue={} Restarts={} BatchFlag={} Reboot=0 ExitCode={}", job.spec->requeue.value_or(true) ? 1 : 0,
              job.restarts, job.spec->kind == model::JobKind::Batch ? 1 : 0, exit_text(job.exit));
  if (style.details) record.line("DerivedExitCode={}", exit_text(job.derived_exit));
}

void add_times(Record& record, const Job& job, Time as_of, Time expected, Time preemptable, const std::string& cron) {
  const JobSpec& spec = *job.spec;
  const ShownEnd end = shown_end(job, expected);
  record.line("RunTime={} TimeLimit={} TimeMin={}", clock_text(model::run_time(job, as_of)),
              limit_text(job.time_limit), spec.time_min.is_set() ? limit_text(spec.time_min) : "N/A");
  record.line("SubmitTime={} EligibleTime={}", moment(job.submitted, "Unknown"),
              moment(shown_eligible(job), "Unknown"));
  record.line("AccrueTime={}", moment(shown_accrue(job), "Unknown"));
  record.line("StartTime={} EndTime={} Deadline={}", moment(shown_start(job, expected), "Unknown"),
              moment(end.at, "Unknown"), moment(spec.deadline, "N/A"));
  if (job.flags & model::kCronJob) {
    record.line("CronJob=Yes ");
    if (!cron.empty()) record.more("CrontabSpec=\"{}\"", printable(cron));
  }
  if (is_set(preemptable) || is_set(job.preempt_at))
    record.line("PreemptEligibleTime={} PreemptTime={}", moment(preemptable, "Unknown"),
                moment(job.preempt_at, "None"));
  record.line("SuspendTime={} SecsPreSuspend={} LastSchedEval={} Scheduler=Main", moment(job.suspended_at, "None"),
              std::chrono::floor<seconds>(job.suspended_total).count(), moment(shown_last_eval(job), "Unknown"));
}

std::string node_count_text(const Job& job) {
  const std::uint32_t nodes = job_node_count(job);
  const auto& most = job.spec->max_nodes;
  if (job.state == model::JobState::Pending && most) return fmt::format("{}-{}", nodes, *most);
  return fmt::format("{}", nodes);
}

void add_place(Record& record, const Job& job, const wire::JobTable& table, const std::string& planned) {
  const JobSpec& spec = *job.spec;
  record.line("Partition={} AllocNode:Sid={}:{}", job_partition(job), safe_or_null(spec.submit_host),
              spec.session_id);
  record.line("ReqNodeList={} ExcNodeList={}", safe_or_null(ranged_nodes(spec.required_nodes)),
              safe_or_null(ranged_nodes(spec.excluded_nodes)));
  record.line("NodeList={}{}{}", job_nodes(job, table), planned.empty() ? "" : " SchedNodeList=", planned);
  if (!job.batch_host.empty()) record.line("BatchHost={}", job.batch_host);
}

std::string kind_of(const model::DeviceGrant& device) {
  return device.type.empty() ? device.gres : fmt::format("{}:{}", device.gres, device.type);
}
std::uint64_t count_of(const model::DeviceGrant& device) {
  return device.shares.empty() ? device.indices.size()
                               : std::accumulate(device.shares.begin(), device.shares.end(), std::uint64_t{0});
}
// GPUs and their shares have numbers, and so has what shares them; of all else only the count means something.
bool has_numbers(const model::DeviceGrant& device) {
  return device.gres == "gpu" || device.gres == "nic" || !device.shares.empty();
}

// In the order in which the job asks for them.
std::vector<model::DeviceGrant> ordered_devices(const JobSpec& spec, const model::NodeGrant& grant) {
  std::vector<model::DeviceGrant> devices = grant.devices;
  std::ranges::stable_sort(devices, {}, [&](const model::DeviceGrant& device) {
    return std::ranges::find(spec.gres, device.gres, &model::GresRequest::name) - spec.gres.begin();
  });
  return devices;
}

// What one node gives, as it is told with -d.
std::string node_details(const JobSpec& spec, const model::NodeGrant& grant) {
  IndexSet cpus;
  for (const model::CpuNumber cpu : grant.cpus) cpus.insert(cpu);
  std::string gres;
  for (const model::DeviceGrant& device : ordered_devices(spec, grant)) {
    if (!gres.empty()) gres.push_back(',');
    IndexSet indices;
    for (const std::uint32_t index : device.indices) indices.insert(index);
    gres += has_numbers(device)
                ? fmt::format("{}:{}(IDX:{})", kind_of(device), count_of(device), plain_ranges(indices))
                : fmt::format("{}(CNT:{})", kind_of(device), count_of(device));
  }
  return fmt::format("CPU_IDs={} Mem={} GRES={}", plain_ranges(cpus), grant.memory_mib, gres);
}

// With -d: which CPUs, how much memory and which devices on which node; a line for nodes in a row that give the same.
void add_details(Record& record, const Job& job, const wire::JobTable& table) {
  if (!job.allocation || !model::is_active(job.state)) return;
  std::vector<std::pair<std::string, std::uint64_t>> kinds;
  std::vector<std::pair<std::vector<std::string>, std::string>> lines;  // nodes, what each gives
  for (const model::NodeGrant& grant : job.allocation->nodes) {
    for (const model::DeviceGrant& device : ordered_devices(*job.spec, grant)) {
      const auto at = std::ranges::find(kinds, kind_of(device), &std::pair<std::string, std::uint64_t>::first);
      if (at != kinds.end())
        at->second += count_of(device);
      else
        kinds.emplace_back(kind_of(device), count_of(device));
    }
    std::string gives = node_details(*job.spec, grant);
    if (lines.empty() || lines.back().second != gives) lines.emplace_back(std::vector<std::string>(), std::move(gives));
    if (grant.node.value < table.node_names.size())
      lines.back().first.push_back(table.node_names[grant.node.value]);
  }
  std::string devices;
  for (const auto& [kind, count] : kinds) devices += fmt::format("{}{}:{}", devices.empty() ? "" : ",", kind, count);
  record.line("JOB_GRES={}", or_null(devices));
  for (const auto& [nodes, gives] : lines) record.line("  Nodes={} {}", text::compress_hostlist(nodes), gives);
}

// "*": it does not matter.
std::string number_or_any(std::uint32_t number) {
  return number > 0 ? fmt::format("{}", number) : "*";
}

// One on each node at least, where nothing was said of tasks.
std::uint32_t shown_tasks(const Job& job) {
  const std::uint32_t tasks = model::task_count(*job.spec);
  const bool said = job.spec->tasks || job.spec->tasks_per_node > 0;
  return said || !job.allocation ? tasks : std::max(tasks, static_cast<std::uint32_t>(job.allocation->nodes.size()));
}

// ReqB:S:C:T, as the job asks for it or as its hint says.
std::string wanted_shape(const JobSpec& spec) {
  const bool memory_bound = spec.hint == model::Hint::MemoryBound;
  const bool one_thread =
      memory_bound || spec.hint == model::Hint::ComputeBound || spec.hint == model::Hint::NoMultithread;
  return fmt::format("0:0:{}:{}", memory_bound ? "1" : number_or_any(spec.cores_per_socket),
                     one_thread ? "1" : number_or_any(spec.threads_per_core));
}

void add_size(Record& record, const Job& job, const wire::JobTable& table, RecordStyle style) {
  const JobSpec& spec = *job.spec;
  record.line("NumNodes={} NumCPUs={} NumTasks={} CPUs/Task={} ReqB:S:C:T={}", node_count_text(job),
              job_cpu_count(job), shown_tasks(job), spec.cpus_per_task, wanted_shape(spec));
  record.line("ReqTRES={}", requested_tres(job));
  record.line("AllocTRES={}", or_null(allocated_tres(job)));
  record.line("Socks/Node={} NtasksPerN:B:S:C={}:0:{}:{} {}Spec={}", number_or_any(spec.sockets_per_node),
              spec.tasks_per_node, number_or_any(spec.tasks_per_socket), number_or_any(spec.tasks_per_core),
              spec.core_spec && spec.core_spec_is_threads ? "Thread" : "Core", core_spec_text(spec, "*"));
  if (style.details) add_details(record, job, table);
  const bool per_cpu = spec.memory_per_cpu_mib.has_value();
  const std::uint64_t mib = per_cpu ? *spec.memory_per_cpu_mib : spec.memory_per_node_mib.value_or(0);
  record.line("MinCPUsNode={} MinMemory{}={} MinTmpDiskNode={}",
              std::max(spec.min_cpus_per_node.value_or(1), std::max(spec.tasks_per_node, 1u) * spec.cpus_per_task),
              per_cpu ? "CPU" : "Node", text::format_mib(mib), text::format_mib(spec.tmp_disk_mib));
  record.line("Features={} DelayBoot=00:00:00", safe_or_null(spec.features));
  if (!spec.reservation.empty()) record.line("Reservation={}", printable(spec.reservation));
  record.line("OverSubscribe={} Contiguous={} Licenses={} Network=(null)", oversubscribe_word(spec),
              spec.contiguous ? 1 : 0, safe_or_null(licenses(spec)));
}

// What Slurm tells as flags of the job, in one line without anything between them.
std::string flag_line(const JobSpec& spec) {
  std::string out;
  if (spec.gres_flags & model::kGresAllowTaskSharing) out += "GresAllowTaskSharing=Yes";
  if (spec.gres_flags & model::kGresDisableBinding) out += "GresEnforceBind=No";
  if (spec.gres_flags & model::kGresEnforceBinding) out += "GresEnforceBind=Yes";
  if (spec.gres_flags & model::kGresManyTasksPerSharing) out += "GresOneTaskPerSharing=No";
  if (spec.gres_flags & model::kGresOneTaskPerSharing) out += "GresOneTaskPerSharing=Yes";
  if (spec.kill_on_invalid_dependency)
    out += fmt::format("KillOInInvalidDependent={}", *spec.kill_on_invalid_dependency ? "Yes" : "No");
  if (spec.spread_nodes) out += "SpreadJob=Yes";
  return out;
}

void add_tres(Record& record, const JobSpec& spec) {
  if (const std::string flags = flag_line(spec); !flags.empty()) record.line("{}", flags);
  if (spec.cpus_per_gpu > 0) record.line("CpusPerTres=gres/gpu:{}", spec.cpus_per_gpu);
  if (spec.memory_per_gpu_mib) record.line("MemPerTres=gres/gpu:{}", *spec.memory_per_gpu_mib);
  if (!spec.gpu_bind.empty()) record.line("TresBind=gres/gpu:{}", printable(spec.gpu_bind));
  if (!spec.gpu_freq.empty()) record.line("TresFreq=gpu:{}", printable(spec.gpu_freq));
  using Per = model::GresRequest::Per;
  const std::pair<const char*, Per> kinds[] = {{"TresPerJob", Per::Job},
                                               {"TresPerNode", Per::Node},
                                               {"TresPerSocket", Per::Socket},
                                               {"TresPerTask", Per::Task}};
  for (const auto& [key, per] : kinds)
    if (const std::string terms = gres_terms(spec, per); !terms.empty()) record.line("{}={}", key, terms);
  if (spec.tasks_per_gpu > 0) record.line("NtasksPerTRES={}", spec.tasks_per_gpu);
}

void add_program(Record& record, const Job& job) {
  const JobSpec& spec = *job.spec;
  std::string command = spec.command;
  for (const std::string& argument : spec.arguments)
    if (!command.empty()) command.append(" ").append(argument);
  record.line("Command={}", safe_or_null(command));
  if (!spec.submit_line.empty()) record.line("SubmitLine={}", printable(spec.submit_line));
  record.line("WorkDir={}", printable(spec.work_dir));
  if (!spec.admin_comment.empty()) record.line("AdminComment={} ", printable(spec.admin_comment));
  if (!spec.comment.empty()) record.line("Comment={} ", printable(spec.comment));
  if (!spec.extra.empty()) record.line("Extra={} ", printable(spec.extra));
  if (spec.kind == model::JobKind::Batch) {
    record.line("StdErr={}", printable(stderr_path(job)));
    record.line("StdIn={}", printable(stdin_path(job)));
    record.line("StdOut={}", printable(stdout_path(job)));
  }
  if (spec.switches > 0)
    record.line("Switches={}@{}", spec.switches, text::format_clock(seconds(spec.switch_wait_seconds.value_or(0))));
  add_tres(record, spec);
  if (spec.mail_types != 0) {
    const std::string to = spec.mail_user.empty() ? user_name(spec.uid) : printable(spec.mail_user);
    record.line("MailUser={} MailType={}", to, text::format_mail_types(spec.mail_types));
  }
}

}  // namespace

std::string job_record(const Job& job, const wire::JobTable& table, const ShownPlan& plan,
                       std::optional<std::uint32_t> task, RecordStyle style) {
  Record record(style.one_line);
  add_identity(record, job, task);
  add_state(record, job, style);
  add_times(record, job, table.as_of, plan.expected_start, plan.preemptable, plan.cron);
  add_place(record, job, table, plan.nodes);
  add_size(record, job, table, style);
  add_program(record, job);
  record.line("");  // Slurm ends a job with an empty indented line
  return std::move(record).finish();
}

}  // namespace spur::cli
