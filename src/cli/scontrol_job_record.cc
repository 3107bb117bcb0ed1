// SPDX-License-Identifier: Apache-2.0
// `scontrol show job`. Programs read this text by its keys, so keys, their order and the words for "nothing" are
// Slurm's; keys of features that Spur does not have show the value they have in a Slurm without them.
#include <algorithm>

#include "cli/display.h"
#include "cli/job_files.h"
#include "cli/record.h"
#include "cli/scontrol_records.h"
#include "cli/users.h"
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

// With -d: which CPUs, how much memory and which devices on which node.
void add_details(Record& record, const Job& job, const wire::JobTable& table) {
  if (!job.allocation || !model::is_active(job.state)) return;
  std::string devices;
  for (const model::NodeGrant& grant : job.allocation->nodes)
    for (const model::DeviceGrant& device : grant.devices) {
      if (!devices.empty()) devices.push_back(',');
      devices.append(device.gres).append(device.type.empty() ? "" : ":" + device.type);
      devices.append(fmt::format(":{}", device.indices.size()));
    }
  record.line("JOB_GRES={}", or_null(devices));
  for (const model::NodeGrant& grant : job.allocation->nodes) {
    IndexSet cpus;
    for (const model::CpuNumber cpu : grant.cpus) cpus.insert(cpu);
    std::string gres;
    for (const model::DeviceGrant& device : grant.devices) {
      IndexSet indices;
      for (const std::uint32_t index : device.indices) indices.insert(index);
      if (!gres.empty()) gres.push_back(',');
      gres.append(device.gres).append(device.type.empty() ? "" : ":" + device.type);
      gres.append(fmt::format(":{}(IDX:{})", device.indices.size(), plain_ranges(indices)));
    }
    const std::string name = grant.node.value < table.node_names.size() ? table.node_names[grant.node.value] : "";
    record.line("  Nodes={} CPU_IDs={} Mem={} GRES={}", name, plain_ranges(cpus), grant.memory_mib, gres);
  }
}

void add_size(Record& record, const Job& job, const wire::JobTable& table, RecordStyle style) {
  const JobSpec& spec = *job.spec;
  record.line("NumNodes={} NumCPUs={} NumTasks={} CPUs/Task={} ReqB:S:C:T=0:0:*:*", node_count_text(job),
              job_cpu_count(job), model::task_count(spec), spec.cpus_per_task);
  record.line("ReqTRES={}", requested_tres(job));
  record.line("AllocTRES={}", or_null(allocated_tres(job)));
  record.line("Socks/Node={} NtasksPerN:B:S:C={}:0:*:* {}Spec={}",
              spec.sockets_per_node > 0 ? fmt::format("{}", spec.sockets_per_node) : "*", spec.tasks_per_node,
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
  using Per = model::GresRequest::Per;
  const std::pair<const char*, Per> kinds[] = {{"TresPerJob", Per::Job},
                                               {"TresPerNode", Per::Node},
                                               {"TresPerSocket", Per::Socket},
                                               {"TresPerTask", Per::Task}};
  for (const auto& [key, per] : kinds)
    if (const std::string terms = gres_terms(spec, per); !terms.empty()) record.line("{}={}", key, terms);
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
