// SPDX-License-Identifier: Apache-2.0
#include "cli/squeue_columns.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/job_files.h"
#include "cli/reason_words.h"
#include "cli/users.h"
#include "text/memory_size.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using Line = const JobLine&;
using Per = model::GresRequest::Per;

const model::JobSpec& spec(Line line) {
  return *line.job->spec;
}
std::string number(std::uint64_t value) {
  return std::to_string(value);
}
std::string or_na(std::string text) {
  return text.empty() ? "N/A" : std::move(text);
}

std::string size_text(std::uint64_t mib, Line line) {
  return text::format_mib(mib, line.convert ? text::UnitStyle::Exact : text::UnitStyle::Plain);
}
std::string limit_text(TimeLimit limit) {
  return text::format_time_limit(limit, text::LimitStyle::Squeue);
}
std::string elapsed(Duration span) {
  return text::format_elapsed(std::chrono::floor<seconds>(span));
}

std::string planned_nodes(Line l) {
  return or_null(l.planned_nodes ? *l.planned_nodes : std::string());
}

// What Slurm has and a Spur job record does not: the column is there, with the text Slurm shows when nothing is set.
std::string null_text(Line) {
  return "(null)";
}
std::string core_spec(Line l) {
  return core_spec_text(spec(l), "N/A");
}
std::string not_available(Line) {
  return "N/A";
}
std::string no_federation(Line) {
  return "NA";
}
std::string star(Line) {
  return "*";
}
std::string zero(Line) {
  return "0";
}
std::string zero_time(Line) {
  return "0:00";
}

std::string account(Line l) {
  return or_null(spec(l).account);
}
std::string accrue_time(Line l) {
  return moment(shown_accrue(*l.job), "N/A");
}
std::string admin_comment(Line l) {
  return or_null(spec(l).admin_comment);
}
std::string alloc_node(Line l) {
  return or_null(spec(l).submit_host);
}
std::string alloc_sid(Line l) {
  return number(spec(l).session_id);
}
std::string job_number(Line l) {
  return number(l.job->id.value);
}
std::string array_job(Line l) {
  return number(l.job->array_job ? l.job->array_job.value : l.job->id.value);
}
std::string array_task(Line l) {
  if (l.task) return number(*l.task);
  if (const auto last = last_task(*l.job)) return number(*last);
  return or_na(array_tasks(*l.job, l.longest_array));
}
std::string batch_flag(Line l) {
  return spec(l).kind == model::JobKind::Batch ? "1" : "0";
}
std::string batch_host(Line l) {
  return l.job->batch_host.empty() ? "n/a" : l.job->batch_host;
}
std::string min_cpus_per_node(Line l) {
  return number(
      std::max(spec(l).min_cpus_per_node.value_or(1), std::max(spec(l).tasks_per_node, 1u) * spec(l).cpus_per_task));
}
std::string cluster(Line l) {
  return or_null(l.table->cluster_name);
}
std::string command(Line l) {
  return or_null(spec(l).command);
}
std::string comment(Line l) {
  return or_null(spec(l).comment);
}
std::string contiguous(Line l) {
  return spec(l).contiguous ? "1" : "0";
}
std::string cpus(Line l) {
  return number(job_cpu_count(*l.job));
}
std::string cpus_per_task(Line l) {
  return number(spec(l).cpus_per_task);
}
std::string deadline(Line l) {
  return moment(spec(l).deadline, "N/A");
}
std::string dependency(Line l) {
  return or_null(dependencies_left(*l.job));
}
// As wait() tells it.
std::string wait_status(const model::ExitStatus& exit) {
  return number((static_cast<std::uint64_t>(exit.code) << 8) | exit.signal);
}
std::string exit_code(Line l) {
  return wait_status(l.job->exit);
}
std::string derived_exit(Line l) {
  return wait_status(l.job->derived_exit);
}
std::string eligible_time(Line l) {
  return moment(shown_eligible(*l.job), "N/A");
}
std::string end_time(Line l) {
  const ShownEnd end = shown_end(*l.job, l.expected_start);
  return end.unlimited ? "NONE" : moment(end.at, "N/A");
}
std::string extra(Line l) {
  return or_null(spec(l).extra);
}
std::string features(Line l) {
  return or_null(spec(l).features);
}
std::string group(Line l) {
  return group_name(spec(l).gid);
}
std::string group_id(Line l) {
  return number(spec(l).gid.value);
}
std::string licenses_column(Line l) {
  return or_null(licenses(spec(l)));
}
std::string last_eval(Line l) {
  return moment(shown_last_eval(*l.job), "N/A");
}
std::string min_tmp_disk(Line l) {
  return size_text(spec(l).tmp_disk_mib, l);
}
std::string min_memory(Line l) {
  const auto& asked = spec(l).memory_per_cpu_mib ? spec(l).memory_per_cpu_mib : spec(l).memory_per_node_mib;
  return size_text(asked.value_or(0), l);
}
std::string max_nodes(Line l) {
  return number(spec(l).max_nodes.value_or(job_node_count(*l.job)));
}
std::string name(Line l) {
  return spec(l).name;
}
std::string nice(Line l) {
  return fmt::format("{}", spec(l).nice);
}
std::string nodes(Line l) {
  return job_nodes(*l.job, *l.table);
}
std::string node_count(Line l) {
  return number(job_node_count(*l.job));
}
std::string ntasks_per_node(Line l) {
  return number(spec(l).tasks_per_node);
}
std::string tasks(Line l) {
  return number(model::task_count(spec(l)));
}
std::string over_subscribe(Line l) {
  return oversubscribe_word(spec(l));
}
std::string partition(Line l) {
  return l.partition ? *l.partition : job_partition(*l.job);
}
std::string preempt_time(Line l) {
  return moment(l.job->preempt_at, "N/A");
}
std::string pending_time(Line l) {
  const Time until =
      l.job->state == model::JobState::Pending || !is_set(l.job->started) ? l.table->as_of : l.job->started;
  return fmt::format("{}", to_unix_seconds(until) - to_unix_seconds(l.job->submitted));
}
std::string priority_share(Line l) {
  return fmt::format("{:.14f}", l.job->priority / 4294967295.0);
}
std::string priority(Line l) {
  return number(l.job->priority);
}
std::string qos(Line l) {
  return or_null(spec(l).qos);
}
std::string reason(Line l) {
  return reason_text(*l.job);
}
std::string reason_list(Line l) {
  return nodes_or_reason(*l.job, *l.table);
}
std::string requeue(Line l) {
  return spec(l).requeue.value_or(true) ? "1" : "0";
}
std::string required_nodes(Line l) {
  return ranged_nodes(spec(l).required_nodes);
}
std::string excluded_nodes(Line l) {
  return ranged_nodes(spec(l).excluded_nodes);
}
std::string reservation(Line l) {
  return or_null(spec(l).reservation);
}
std::string restarts(Line l) {
  return number(l.job->restarts);
}
std::string sockets_cores_threads(Line) {
  return "*:*:*";
}
std::string start_time(Line l) {
  return moment(shown_start(*l.job, l.expected_start), "N/A");
}
std::string state(Line l) {
  return std::string(model::long_name(l.job->state, l.job->flags));
}
std::string state_compact(Line l) {
  return std::string(model::short_name(l.job->state, l.job->flags));
}
std::string std_err(Line l) {
  return stderr_path(*l.job);
}
std::string std_in(Line l) {
  return stdin_path(*l.job);
}
std::string std_out(Line l) {
  return stdout_path(*l.job);
}
std::string submit_line(Line l) {
  return or_null(spec(l).submit_line);
}
std::string submit_time(Line l) {
  return moment(l.job->submitted, "N/A");
}
std::string time_left(Line l) {
  if (!l.job->time_limit.is_finite()) return limit_text(l.job->time_limit);
  const Duration left = l.job->time_limit.duration() - model::run_time(*l.job, l.table->as_of);
  return elapsed(std::max(left, Duration::zero()));
}
std::string time_limit(Line l) {
  return limit_text(l.job->time_limit);
}
std::string time_min(Line l) {
  return spec(l).time_min.is_set() ? limit_text(spec(l).time_min) : "0:00";
}
std::string time_used(Line l) {
  return elapsed(model::run_time(*l.job, l.table->as_of));
}
std::string tres_alloc(Line l) {
  const std::string held = allocated_tres(*l.job);
  return held.empty() ? requested_tres(*l.job) : held;
}
std::string switches(Line l) {
  return fmt::format("{}", spec(l).switches);
}
std::string switch_wait(Line l) {
  return text::format_elapsed(seconds(spec(l).switch_wait_seconds.value_or(0)));
}
std::string tres_per_job(Line l) {
  return or_na(gres_terms(spec(l), Per::Job));
}
std::string tres_per_node(Line l) {
  return or_na(gres_terms(spec(l), Per::Node));
}
std::string tres_per_socket(Line l) {
  return or_na(gres_terms(spec(l), Per::Socket));
}
std::string tres_per_task(Line l) {
  return or_na(gres_terms(spec(l), Per::Task));
}
std::string user(Line l) {
  return user_name(spec(l).uid);
}
std::string user_id(Line l) {
  return number(spec(l).uid.value);
}
std::string wckey(Line l) {
  return or_null(spec(l).wckey);
}
std::string work_dir(Line l) {
  return or_null(spec(l).work_dir);
}
// For people: nodes of a job that has some; else why not, in words, and how far an array is.
std::string where_or_why(Line l) {
  std::string text;
  if (l.progress) text = progress_bar(*l.progress, 10);
  const std::string why = why_words(*l.job, l.expected_start, l.table->as_of);
  const std::string rest = why.empty() ? job_nodes(*l.job, *l.table) : why;
  return text.empty() || rest.empty() ? text + rest : text + " " + rest;
}
std::string nothing(Line) {
  return "";
}
std::string profile(Line) {
  return "NotSet";
}

using J = wire::JobField;
using S = wire::SpecField;
// What functions of display.h and job_files.h read that several columns call.
constexpr wire::JobFields kTasks{S::tasks, S::min_nodes, S::tasks_per_node};
constexpr wire::JobFields kCpus =
    kTasks | wire::JobFields{S::min_cpus_per_node, S::overcommit, S::cpus_per_task, J::cpus_allocated, J::state};
constexpr wire::JobFields kNodes{J::flags, J::nodes_left, J::allocation, J::state, J::last_nodes};
constexpr wire::JobFields kNodeCount = kTasks | wire::JobFields{J::flags, J::nodes_left, J::allocation, J::state,
                                                                S::required_nodes};
constexpr wire::JobFields kStart{J::state, J::started, J::ended, J::expected_start, S::begin};
constexpr wire::JobFields kEnd = kStart | wire::JobFields{J::flags, J::time_limit, J::suspended_total};
constexpr wire::JobFields kRunTime{J::started, J::ended, J::suspended_at, J::suspended_total};
constexpr wire::JobFields kReason{J::state, J::reason, J::reason_detail};
constexpr wire::JobFields kFile{J::batch_host, S::name, S::uid, S::work_dir};

// clang-format off
constexpr JobColumn kSqueueColumns[] = {
    {'a', "Account", "ACCOUNT", account, {S::account}},
    {0, "AccrueTime", "ACCRUE_TIME", accrue_time, {J::flags, J::accrue, J::state, S::begin}},
    {0, "admin_comment", "ADMIN_COMMENT", admin_comment, {S::admin_comment}},
    {0, "AllocNodes", "ALLOC_NODES", alloc_node, {S::submit_host}},
    {0, "AllocSID", "ALLOC_SID", alloc_sid, {S::session_id}},
    {'F', "ArrayJobID", "ARRAY_JOB_ID", array_job, {}},
    {'K', "ArrayTaskID", "ARRAY_TASK_ID", array_task, {J::array_max_running}},
    {0, "AssocID", "ASSOC_ID", zero, {}},
    {0, "BatchFlag", "BATCH_FLAG", batch_flag, {S::kind}},
    {'B', "BatchHost", "EXEC_HOST", batch_host, {J::batch_host}},
    {0, "BoardsPerNode", "BOARDS_PER_NODE", zero, {}},
    {0, "BurstBuffer", "BURST_BUFFER", null_text, {}},
    {0, "BurstBufferState", "BURST_BUFFER_STATE", null_text, {}},
    {0, "Cluster", "CLUSTER", cluster, {}},
    {0, "ClusterFeature", "CLUSTER_FEATURES", null_text, {}},
    {'o', "Command", "COMMAND", command, {S::command}},
    {'k', "Comment", "COMMENT", comment, {S::comment}},
    {0, "Container", "CONTAINER", null_text, {}},
    {0, "ContainerID", "CONTAINER_ID", null_text, {}},
    {'O', "Contiguous", "CONTIGUOUS", contiguous, {S::contiguous}},
    {'I', "Cores", "CORES_PER_SOCKET", star, {}},
    {'X', "CoreSpec", "CORE_SPEC", core_spec, {S::core_spec}},
    {0, "cpus-per-task", "CPUS_PER_TASK", cpus_per_task, {S::cpus_per_task}},
    {0, "cpus-per-tres", "CPUS_PER_TRES", not_available, {}},
    {0, "Deadline", "DEADLINE", deadline, {S::deadline}},
    {0, "DelayBoot", "DELAY_BOOT", zero_time, {}},
    {'E', "Dependency", "DEPENDENCY", dependency, {J::dependency_never, J::dependencies_left, S::dependencies, S::dependencies_any}},
    {0, "DerivedEC", "DERIVED_EC", derived_exit, {J::derived_exit}},
    {0, "EligibleTime", "ELIGIBLE_TIME", eligible_time, {J::eligible, J::state, S::begin}},
    {'e', "EndTime", "END_TIME", end_time, kEnd},
    {'x', "ExcNodes", "EXC_NODES", excluded_nodes, {S::excluded_nodes}},
    {0, "exit_code", "EXIT_CODE", exit_code, {J::exit}},
    {0, "Extra", "EXTRA", extra, {S::extra}},
    {'f', "Feature", "FEATURES", features, {S::features}},
    {'G', "GroupID", "GROUP", group_id, {S::gid}},
    {'g', "GroupName", "GROUP", group, {S::gid}},
    {0, "HetJobID", "HET_JOB_ID", [](Line l) { return l.job->het_job ? number(l.job->het_job.value) : "N/A"; }, {J::het_job}},
    {0, "HetJobIDSet", "HET_JOB_ID_SET", [](Line l) { return l.job->het_job ? model::het_id_set(*l.job) : "N/A"; }, {J::het_job, J::het_size}},
    {0, "HetJobOffset", "HET_JOB_OFFSET", [](Line l) { return l.job->het_job ? number(l.job->het_offset) : "N/A"; }, {J::het_job, J::het_offset}},
    {'i', "JobArrayID", "JOBID", line_id, {J::het_job, J::het_offset, J::array_max_running}},
    {'A', "JobID", "JOBID", job_number, {}},
    {0, "LastSchedEval", "LAST_SCHED_EVAL", last_eval, {J::last_eval, J::submitted}},
    {'W', "Licenses", "LICENSES", licenses_column, {S::licenses}},
    {0, "MaxCPUs", "MAX_CPUS", cpus, kCpus},
    {0, "MaxNodes", "MAX_NODES", max_nodes, kNodeCount | wire::JobFields{S::max_nodes}},
    {0, "MCSLabel", "MCSLABEL", null_text, {}},
    {0, "mem-per-tres", "MEM_PER_TRES", not_available, {}},
    {'c', "MinCpus", "MIN_CPUS", min_cpus_per_node, {S::min_cpus_per_node, S::tasks_per_node, S::cpus_per_task}},
    {'m', "MinMemory", "MIN_MEMORY", min_memory, {S::memory_per_cpu_mib, S::memory_per_node_mib}},
    {0, "MinTime", "TIME_MIN", time_min, {S::time_min}},
    {'d', "MinTmpDisk", "MIN_TMP_DISK", min_tmp_disk, {S::tmp_disk_mib}},
    {'j', "Name", "NAME", name, {S::name}},
    {0, "Network", "NETWORK", null_text, {}},
    {'y', "Nice", "NICE", nice, {S::nice}},
    {'N', "NodeList", "NODELIST", nodes, kNodes, Cut::Value},
    {0, "NTPerBoard", "NTASKS_PER_BOARD", zero, {}},
    {0, "NTPerCore", "NTASKS_PER_CORE", not_available, {}},
    {0, "NTPerNode", "NTASKS_PER_NODE", ntasks_per_node, {S::tasks_per_node}},
    {0, "NTPerSocket", "NTASKS_PER_SOCKET", not_available, {}},
    {'C', "NumCPUs", "CPUS", cpus, kCpus},
    {'D', "NumNodes", "NODES", node_count, kNodeCount},
    {0, "NumTasks", "TASKS", tasks, kTasks},
    {0, "Origin", "ORIGIN", no_federation, {}},
    {0, "OriginRaw", "ORIGIN_RAW", no_federation, {}},
    {'h', "OverSubscribe", "OVER_SUBSCRIBE", over_subscribe, {S::exclusive, S::oversubscribe}},
    {'P', "Partition", "PARTITION", partition, {J::allocation, J::state, S::partitions}},
    {0, "PendingTime", "PENDING_TIME", pending_time, {J::state, J::started, J::submitted}},
    {0, "PreemptTime", "PREEMPT_TIME", preempt_time, {J::preempt_at}},
    {0, "Prefer", "PREFER", [](Line l) { return or_null(l.job->spec->prefer); }, {S::prefer}},
    {'p', "Priority", "PRIORITY", priority_share, {J::priority}},
    {'Q', "PriorityLong", "PRIORITY", priority, {J::priority}},
    {0, "Profile", "PROFILE", profile, {}},
    {'q', "QOS", "QOS", qos, {S::qos}},
    {'r', "Reason", "REASON", reason, kReason},
    {'R', "ReasonList", "NODELIST(REASON)", reason_list, kReason | kNodes, Cut::Value},
    {0, "Reboot", "REBOOT", zero, {}},
    {'n', "ReqNodes", "REQ_NODES", required_nodes, {S::required_nodes}},
    {0, "ReqSwitch", "REQ_SWITCH", switches, {S::switches}},
    {0, "Requeue", "REQUEUE", requeue, {S::requeue}},
    {'v', "Reservation", "RESERVATION", reservation, {S::reservation}},
    {0, "ResizeTime", "RESIZE_TIME", not_available, {}},
    {0, "RestartCnt", "RESTART_COUNT", restarts, {J::restarts}},
    {'Y', "SchedNodes", "SCHEDNODES", planned_nodes, {J::planned_nodes}, Cut::Neither},
    {'z', "SCT", "S:C:T", sockets_cores_threads, {}},
    {'s', "SelectJobInfo", "", nothing, {}},
    {0, "SiblingsActive", "ACTIVE_SIBLINGS", no_federation, {}},
    {0, "SiblingsActiveRaw", "ACTIVE_SIBLINGS_RAW", no_federation, {}},
    {0, "SiblingsViable", "VIABLE_SIBLINGS", no_federation, {}},
    {0, "SiblingsViableRaw", "VIALBLE_SIBLINGS_RAW", no_federation, {}},
    {'H', "Sockets", "SOCKETS_PER_NODE", star, {}},
    {0, "SPerBoard", "SOCKETS_PER_BOARD", zero, {}},
    {'S', "StartTime", "START_TIME", start_time, kStart},
    {'T', "State", "STATE", state, {J::state, J::flags}},
    {'t', "StateCompact", "ST", state_compact, {J::state, J::flags}},
    {0, "STDERR", "STDERR", std_err, kFile | wire::JobFields{S::std_err, S::std_out}},
    {0, "STDIN", "STDIN", std_in, kFile | wire::JobFields{S::std_in}},
    {0, "STDOUT", "STDOUT", std_out, kFile | wire::JobFields{S::std_out}},
    {0, "SubmitLine", "SUBMIT_LINE", submit_line, {S::submit_line}},
    {'V', "SubmitTime", "SUBMIT_TIME", submit_time, {J::submitted}},
    {0, "system_comment", "SYSTEM_COMMENT", null_text, {}},
    {'J', "Threads", "THREADS_PER_CORE", star, {}},
    {'L', "TimeLeft", "TIME_LEFT", time_left, kRunTime | wire::JobFields{J::time_limit}, Cut::Title},
    {'l', "TimeLimit", "TIME_LIMIT", time_limit, {J::time_limit}, Cut::Title},
    {'M', "TimeUsed", "TIME", time_used, kRunTime, Cut::Title},
    {0, "tres-alloc", "TRES_ALLOC", tres_alloc, kCpus | wire::JobFields{J::allocation, S::memory_per_cpu_mib, S::memory_per_node_mib, S::gres, S::sockets_per_node}},
    {0, "tres", "TRES_ALLOC", tres_alloc, kCpus | wire::JobFields{J::allocation, S::memory_per_cpu_mib, S::memory_per_node_mib, S::gres, S::sockets_per_node}},
    {0, "tres-bind", "TRES_BIND", not_available, {}},
    {0, "tres-freq", "TRES_FREQ", not_available, {}},
    {0, "tres-per-job", "TRES_PER_JOB", tres_per_job, {S::gres}},
    {'b', "tres-per-node", "TRES_PER_NODE", tres_per_node, {S::gres}},
    {0, "tres-per-socket", "TRES_PER_SOCKET", tres_per_socket, {S::gres}},
    {0, "tres-per-task", "TRES_PER_TASK", tres_per_task, {S::gres}},
    {'U', "UserID", "UID", user_id, {S::uid}},
    {'u', "UserName", "USER", user, {S::uid}},
    {0, "Wait4Switch", "WAIT4SWITCH", switch_wait, {S::switch_wait_seconds}},
    {0, "Why", "WHERE, OR WHY NOT", where_or_why, kReason | kNodes | wire::JobFields{J::expected_start, S::begin}},
    {'w', "WCKey", "WCKEY", wckey, {S::wckey}},
    {'Z', "WorkDir", "WORK_DIR", work_dir, {S::work_dir}},
};
// clang-format on

}  // namespace

std::span<const JobColumn> job_columns() {
  return kSqueueColumns;
}

const JobColumn* find_job_column(char letter) {
  const auto found = std::ranges::find_if(kSqueueColumns, [&](const JobColumn& column) { return column.letter == letter; });
  return letter == 0 || found == std::end(kSqueueColumns) ? nullptr : found;
}

const JobColumn* find_job_column(std::string_view name) {
  const auto found = std::ranges::find_if(
      kSqueueColumns, [&](const JobColumn& column) { return text::equal_ignoring_case(column.name, name); });
  return found == std::end(kSqueueColumns) ? nullptr : found;
}

std::string progress_bar(const ArrayProgress& progress, std::size_t width) {
  if (progress.total == 0) return {};
  const std::uint64_t ended = progress.total - std::min(progress.total, progress.waiting + progress.running);
  const auto cells = [&](std::uint64_t tasks) { return static_cast<std::size_t>(tasks * width / progress.total); };
  std::size_t done = cells(ended), runs = cells(progress.running);
  // What there is, is seen.
  if (progress.running > 0 && runs == 0) runs = 1;
  if (progress.waiting > 0 && done + runs >= width) (done > 1 ? done : runs) -= 1;
  if (progress.waiting == 0 && progress.running > 0) done = width - runs;
  const std::size_t rest = width - std::min(width, done + runs);
  return fmt::format("[{}{}{}] {}/{}", std::string(done, '#'), std::string(runs, '>'), std::string(rest, '.'), ended,
                     progress.total);
}

std::string line_id(const JobLine& line) {
  if (line.task) return fmt::format("{}_{}", line.job->array_job.value, *line.task);
  if (const auto last = last_task(*line.job)) return fmt::format("{}_{}", line.job->array_job.value, *last);
  if (line.job->array_pending) {
    return fmt::format("{}_[{}]", line.job->array_job.value, array_tasks(*line.job, line.longest_array));
  }
  return model::display_id(*line.job);
}

}  // namespace spur::cli
