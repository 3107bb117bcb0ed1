// SPDX-License-Identifier: Apache-2.0
// job_info: squeue --json, scontrol show job --json. What Spur has no notion of is there with the value that Slurm
// shows where nobody uses it.
#include "cli/api_documents.h"
#include "cli/api_values.h"
#include "cli/job_files.h"
#include "cli/users.h"
#include "text/mail_type.h"
#include "text/signal_name.h"
#include "text/words.h"

namespace spur::cli {
namespace {

using model::Job;
using model::JobSpec;
using Per = model::GresRequest::Per;
using Words = std::vector<std::string>;

const JobSpec& spec(const JobLine& line) {
  return *line.job->spec;
}

Words state_words(const Job& job) {
  static constexpr std::pair<std::uint32_t, const char*> kFlags[] = {
      {model::kRequeued, "REQUEUED"},        {model::kRequeueHold, "REQUEUE_HOLD"},
      {model::kSpecialExit, "SPECIAL_EXIT"}, {model::kResizing, "RESIZING"},
      {model::kConfiguring, "CONFIGURING"},  {model::kCompleting, "COMPLETING"},
      {model::kStopped, "STOPPED"},          {model::kRevoked, "REVOKED"},
      {model::kRequeueFed, "REQUEUE_FED"},   {model::kResvDelHold, "RESV_DEL_HOLD"},
      {model::kSignaling, "SIGNALING"},      {model::kStageOut, "STAGE_OUT"}};
  Words words{std::string(model::base_name(job.state))};
  for (const auto& [bit, name] : kFlags)
    if ((job.flags & bit) != 0) words.emplace_back(name);
  return words;
}

Words flag_words(const Job& job) {
  const JobSpec& s = *job.spec;
  Words words;
  const auto add = [&](bool is, const char* word) {
    if (is) words.emplace_back(word);
  };
  add(s.kill_on_invalid_dependency == true, "KILL_INVALID_DEPENDENCY");
  add(s.kill_on_invalid_dependency == false, "NO_KILL_INVALID_DEPENDENCY");
  add((s.gres_flags & model::kGresEnforceBinding) != 0, "GRES_BINDING_ENFORCED");
  add(s.spread_nodes, "SPREAD_JOB");
  add(s.fewest_nodes, "PREFER_MINIMUM_NODE_COUNT");
  add(bool(job.het_job), "HETEROGENEOUS_JOB");
  add(s.tasks.has_value(), "EXACT_TASK_COUNT_REQUESTED");
  add((s.gres_flags & model::kGresDisableBinding) != 0, "GRES_BINDING_DISABLED");
  add((job.flags & model::kCronJob) != 0, "CRON_JOB");
  add(job.restarts > 0, "JOB_WAS_RUNNING");
  add(!job.dependencies_left.empty(), "DEPENDENT");
  add(is_set(job.last_eval), "SCHEDULING_ATTEMPTED");
  return words;
}

Words mail_words(const JobSpec& s) {
  Words words;
  if (s.mail_types == 0) return words;
  const std::string all = text::format_mail_types(s.mail_types);
  for (const std::string_view word : text::split(all, ',')) {
    if (word == "TIME_LIMIT") {
      words.emplace_back("TIME=100%");
    } else if (word.starts_with("TIME_LIMIT_")) {
      words.push_back(fmt::format("TIME={}%", word.substr(11)));
    } else {
      words.emplace_back(word == "INVALID_DEPEND" ? "INVALID_DEPENDENCY" : word);
    }
  }
  return words;
}

Words shared_words(const JobSpec& s) {
  switch (s.exclusive) {
    case model::Exclusive::Node:
      return {"none"};
    case model::Exclusive::User:
      return {"user"};
    case model::Exclusive::Mcs:
      return {"mcs"};
    case model::Exclusive::No:
      break;
  }
  return s.oversubscribe ? Words{"oversubscribe"} : Words{};
}

void add_exit(Document& to, std::string_view key, const model::ExitStatus& exit) {
  to.open_object(key);
  to.field("status", Words{exit.signal != 0 ? "SIGNALED" : exit.code != 0 ? "ERROR" : "SUCCESS"});
  to.number("return_code", static_cast<std::uint64_t>(exit.code));
  to.open_object("signal");
  to.number("id", exit.signal == 0 ? std::nullopt : std::optional<std::uint64_t>(exit.signal));
  to.field("name", exit.signal == 0 ? std::string() : text::signal_name(exit.signal));
  to.close_object().close_object();
}

void add_node_of_job(Document& to, const JobLine& line, const model::NodeGrant& grant, std::size_t index) {
  const auto& names = line.table->node_names;
  to.open_object().field("index", index);
  to.field("name", grant.node.value < names.size() ? names[grant.node.value] : std::string());
  to.open_object("cpus").field("count", grant.cpus.size()).field("used", 0).close_object();
  to.open_object("memory").field("used", 0).field("allocated", grant.memory_mib).close_object();
  // Which sockets and cores these CPUs are, the controller's table of jobs does not say.
  to.open_array("sockets").close_array().close_object();
}

// As they were up to v0.0.40.
void add_old_resources(Document& to, const JobLine& line) {
  const Job& job = *line.job;
  const auto& names = line.table->node_names;
  to.field("nodes", job_nodes(job, *line.table));
  to.field("allocated_cores", job_cpu_count(job)).field("allocated_cpus", job_cpu_count(job));
  to.field("allocated_hosts", job.allocation->nodes.size());
  to.open_array("allocated_nodes");
  for (const model::NodeGrant& grant : job.allocation->nodes) {
    to.open_object().open_object("sockets").close_object();
    to.field("nodename", grant.node.value < names.size() ? names[grant.node.value] : std::string());
    to.field("cpus_used", 0).field("memory_used", 0).field("memory_allocated", grant.memory_mib).close_object();
  }
  to.close_array();
}

void add_resources(Document& to, std::string_view key, const JobLine& line) {
  to.open_object(key);
  const Job& job = *line.job;
  if (job.allocation && to.version() <= 40) {
    add_old_resources(to, line);
    to.close_object();
    return;
  }
  if (job.allocation) {
    to.open_array("select_type").close_array();
    to.open_object("nodes").field("count", job.allocation->nodes.size());
    to.open_array("select_type").close_array();
    to.field("list", job_nodes(job, *line.table)).field("whole", spec(line).exclusive == model::Exclusive::Node);
    to.open_array("allocation");
    for (std::size_t i = 0; i < job.allocation->nodes.size(); ++i)
      add_node_of_job(to, line, job.allocation->nodes[i], i);
    to.close_array().close_object();
    to.field("cpus", job_cpu_count(job));
    const std::uint32_t threads = spec(line).threads_per_core;
    to.number("threads_per_core", threads > 0 ? std::optional<std::uint64_t>(threads) : std::nullopt);
  }
  to.close_object();
}

Words gres_detail(const Job& job) {
  Words words;
  if (!job.allocation) return words;
  for (const model::NodeGrant& grant : job.allocation->nodes) {
    std::string of_node;
    for (const model::DeviceGrant& device : grant.devices) {
      IndexSet indices;
      for (const auto index : device.indices) indices.insert(static_cast<std::uint32_t>(index));
      of_node +=
          fmt::format("{}{}{}{}:{}(IDX:{})", of_node.empty() ? "" : ",", device.gres, device.type.empty() ? "" : ":",
                      device.type, device.indices.size(), plain_ranges(indices));
    }
    words.push_back(std::move(of_node));
  }
  std::erase(words, "");
  return words;
}

std::optional<std::uint64_t> task_of(const JobLine& line) {
  if (line.task) return *line.task;
  if (line.job->array_task) return *line.job->array_task;
  return std::nullopt;
}

std::optional<std::uint64_t> limit_minutes(const TimeLimit& limit) {
  return limit.is_finite() ? std::optional<std::uint64_t>(limit.minutes_value()) : std::nullopt;
}

std::optional<std::uint64_t> if_positive(std::uint64_t n) {
  return n > 0 ? std::optional(n) : std::nullopt;
}

// Slurm's value for "not given" here is without bound.
void add_per(Document& to, std::string_view key, std::uint32_t n) {
  to.number(key, n, n == 0);
}

std::string tres_of_gpus(std::uint64_t n) {
  return n > 0 ? fmt::format("gres/gpu:{}", n) : std::string();
}

std::int64_t reserved_cores(const JobSpec& s, bool threads) {
  if (!s.core_spec || s.core_spec_is_threads != threads) return threads ? 32766 : 0;  // as Slurm shows it
  return *s.core_spec;
}

std::int64_t switch_wait(const JobSpec& s) {
  return s.switches > 0 ? s.switch_wait_seconds.value_or(0) : 0;
}

// clang-format off
constexpr ApiField<JobLine> kFields[] = {
    {"account", API_VALUE(spec(of).account)},
    {"accrue_time", API_MOMENT(shown_accrue(*of.job))},
    {"admin_comment", API_VALUE(spec(of).admin_comment)},
    {"allocating_node", API_VALUE(spec(of).submit_host)},
    {"array_job_id", API_NUMBER(of.job->array_job.value)},
    {"array_task_id", API_NUMBER(task_of(of))},
    {"array_max_tasks", API_NUMBER(of.job->array_max_running)},
    {"array_task_string", API_VALUE(of.job->array_pending && !of.task ? array_tasks(*of.job, 0) : std::string())},
    {"association_id", API_VALUE(0)},
    {"batch_features", API_VALUE(spec(of).batch_features)},
    {"batch_flag", API_VALUE(spec(of).kind == model::JobKind::Batch)},
    {"batch_host", API_VALUE(of.job->batch_host)},
    {"flags", API_VALUE(flag_words(*of.job))},
    {"burst_buffer", API_VALUE(spec(of).burst_buffer)},
    {"burst_buffer_state", API_NONE},
    {"cluster", API_VALUE(of.table->cluster_name)},
    {"cluster_features", API_NONE},
    {"command", API_VALUE(spec(of).command)},
    {"comment", API_VALUE(spec(of).comment)},
    {"container", API_VALUE(spec(of).container.bundle)},
    {"container_id", API_NONE},
    {"contiguous", API_VALUE(spec(of).contiguous)},
    {"core_spec", API_VALUE(reserved_cores(spec(of), false))},
    {"thread_spec", API_VALUE(reserved_cores(spec(of), true))},
    {"cores_per_socket", API_NUMBER(if_positive(spec(of).cores_per_socket))},
    {"billable_tres", SPUR_API_ADD(to.open_object(key).field("set", true).field("infinite", false).decimal("number", job_cpu_count(*of.job)).close_object())},
    {"cpus_per_task", API_NUMBER(spec(of).cpus_per_task)},
    {"cpu_frequency_minimum", API_UNSET},
    {"cpu_frequency_maximum", API_UNSET},
    {"cpu_frequency_governor", API_UNSET},
    {"cpus_per_tres", API_VALUE(tres_of_gpus(spec(of).cpus_per_gpu))},
    {"cron", API_NONE},
    {"deadline", API_MOMENT(spec(of).deadline)},
    {"delay_boot", API_ZERO},
    {"dependency", API_VALUE(dependencies_left(*of.job))},
    {"derived_exit_code", SPUR_API_ADD(add_exit(to, key, of.job->derived_exit))},
    {"eligible_time", API_MOMENT(shown_eligible(*of.job))},
    {"end_time", API_MOMENT(shown_end(*of.job, of.expected_start).at)},
    {"excluded_nodes", API_VALUE(spec(of).excluded_nodes)},
    {"exclusive", API_VALUE(spec(of).exclusive == model::Exclusive::Node), 0, 41},
    {"exit_code", SPUR_API_ADD(add_exit(to, key, of.job->exit))},
    {"extra", API_VALUE(spec(of).extra)},
    {"failed_node", API_NONE},
    {"features", API_VALUE(spec(of).features)},
    {"federation_origin", API_NONE},
    {"federation_siblings_active", API_NONE},
    {"federation_siblings_viable", API_NONE},
    {"gres_detail", API_VALUE(gres_detail(*of.job))},
    {"group_id", API_VALUE(spec(of).gid.value)},
    {"group_name", API_VALUE(group_name(spec(of).gid))},
    {"het_job_id", API_NUMBER(of.job->het_job.value)},
    {"het_job_id_set", API_VALUE(model::het_id_set(*of.job))},
    {"het_job_offset", API_NUMBER(of.job->het_job ? of.job->het_offset : 0)},
    {"job_id", API_VALUE(of.job->id.value)},
    {"job_resources", SPUR_API_ADD(add_resources(to, key, of))},
    {"job_size_str", API_NO_LIST},
    {"job_state", API_VALUE(state_words(*of.job))},
    {"last_sched_evaluation", API_MOMENT(shown_last_eval(*of.job))},
    {"licenses", API_VALUE(licenses(spec(of)))},
    {"licenses_allocated", API_VALUE(of.job->allocation ? licenses(spec(of)) : std::string()), 43},
    {"mail_type", API_VALUE(mail_words(spec(of)))},
    {"mail_user", API_VALUE(spec(of).mail_user.empty() ? user_name(spec(of).uid) : spec(of).mail_user)},
    {"max_cpus", API_ZERO},
    {"max_nodes", API_NUMBER(spec(of).max_nodes.value_or(0))},
    {"mcs_label", API_NONE},
    {"memory_per_tres", API_VALUE(tres_of_gpus(spec(of).memory_per_gpu_mib.value_or(0)))},
    {"minimum_switches", API_VALUE(spec(of).switches), 0, 41},
    {"name", API_VALUE(spec(of).name)},
    {"network", API_NONE},
    {"nodes", API_VALUE(job_nodes(*of.job, *of.table))},
    {"nice", API_VALUE(spec(of).nice)},
    {"oversubscribe", API_VALUE(spec(of).oversubscribe), 0, 41},
    {"tasks_per_core", SPUR_API_ADD(add_per(to, key, spec(of).tasks_per_core))},
    {"tasks_per_tres", API_NUMBER(spec(of).tasks_per_gpu)},
    {"tasks_per_node", API_NUMBER(spec(of).tasks_per_node)},
    {"tasks_per_socket", SPUR_API_ADD(add_per(to, key, spec(of).tasks_per_socket))},
    {"tasks_per_board", API_ZERO},
    {"cpus", API_NUMBER(job_cpu_count(*of.job))},
    {"node_count", API_NUMBER(job_node_count(*of.job))},
    {"tasks", API_NUMBER(model::task_count(spec(of)))},
    {"partition", API_VALUE(job_partition(*of.job))},
    {"prefer", API_VALUE(spec(of).prefer)},
    {"memory_per_cpu", API_NUMBER(spec(of).memory_per_cpu_mib)},
    {"memory_per_node", API_NUMBER(spec(of).memory_per_node_mib)},
    {"minimum_cpus_per_node", API_NUMBER(spec(of).min_cpus_per_node.value_or(1))},
    {"minimum_tmp_disk_per_node", API_NUMBER(spec(of).tmp_disk_mib)},
    {"power.flags", API_NO_LIST},
    {"preempt_time", API_MOMENT(of.job->preempt_at)},
    {"preemptable_time", API_MOMENT(of.preemptable)},
    {"pre_sus_time", API_NUMBER(static_cast<std::uint64_t>(std::chrono::floor<seconds>(of.job->suspended_total).count()))},
    {"hold", API_VALUE(of.job->hold != model::Hold::None)},
    {"priority", API_NUMBER(of.job->priority)},
    {"priority_by_partition", API_NO_LIST, 42},
    {"profile", API_VALUE(Words{"NOT_SET"})},
    {"qos", API_VALUE(spec(of).qos)},
    {"reboot", API_VALUE(false)},
    {"required_nodes", API_VALUE(spec(of).required_nodes)},
    {"required_switches", API_VALUE(spec(of).switches), 42},
    {"requeue", API_VALUE(spec(of).requeue.value_or(true))},
    {"resize_time", API_ZERO},
    {"restart_cnt", API_VALUE(of.job->restarts)},
    {"resv_name", API_VALUE(spec(of).reservation)},
    {"scheduled_nodes", API_VALUE(of.planned_nodes ? *of.planned_nodes : std::string())},
    {"segment_size", API_VALUE(spec(of).segment), 43},
    {"selinux_context", API_NONE},
    {"shared", API_VALUE(shared_words(spec(of)))},
    {"show_flags", API_VALUE(Words{"ALL", "DETAIL"}), 0, 41},
    {"sockets_per_board", API_VALUE(0)},
    {"sockets_per_node", API_NUMBER(if_positive(spec(of).sockets_per_node))},
    {"start_time", API_MOMENT(shown_start(*of.job, of.expected_start))},
    {"state_description", API_VALUE(of.job->reason_detail)},
    {"state_reason", API_VALUE(model::reason_name(of.job->reason))},
    {"standard_error", API_VALUE(stderr_path(*of.job)), 0, 42},
    {"standard_input", API_VALUE(stdin_path(*of.job)), 0, 42},
    {"standard_output", API_VALUE(stdout_path(*of.job)), 0, 42},
    {"standard_error", API_VALUE(spec(of).std_err), 43},
    {"standard_input", API_VALUE(spec(of).std_in), 43},
    {"standard_output", API_VALUE(spec(of).std_out), 43},
    {"stderr_expanded", API_VALUE(stderr_path(*of.job)), 43},
    {"stdin_expanded", API_VALUE(stdin_path(*of.job)), 43},
    {"stdout_expanded", API_VALUE(stdout_path(*of.job)), 43},
    {"submit_line", API_VALUE(spec(of).submit_line), 44},
    {"submit_time", API_MOMENT(of.job->submitted)},
    {"suspend_time", API_MOMENT(of.job->suspended_at)},
    {"system_comment", API_NONE},
    {"time_limit", SPUR_API_ADD(to.number(key, limit_minutes(of.job->time_limit), of.job->time_limit.is_unlimited()))},
    {"time_minimum", API_NUMBER(limit_minutes(spec(of).time_min).value_or(0))},
    {"threads_per_core", API_NUMBER(if_positive(spec(of).threads_per_core))},
    {"tres_bind", API_NONE},
    {"tres_freq", API_NONE},
    {"tres_per_job", API_VALUE(gres_terms(spec(of), Per::Job))},
    {"tres_per_node", API_VALUE(gres_terms(spec(of), Per::Node))},
    {"tres_per_socket", API_VALUE(gres_terms(spec(of), Per::Socket))},
    {"tres_per_task", API_VALUE(gres_terms(spec(of), Per::Task))},
    {"tres_req_str", API_VALUE(requested_tres(*of.job))},
    {"tres_alloc_str", API_VALUE(allocated_tres(*of.job))},
    {"user_id", API_VALUE(spec(of).uid.value)},
    {"user_name", API_VALUE(user_name(spec(of).uid))},
    {"maximum_switch_wait_time", API_VALUE(switch_wait(spec(of)))},
    {"wckey", API_VALUE(spec(of).wckey)},
    {"current_working_directory", API_VALUE(spec(of).work_dir)},
};
// clang-format on

}  // namespace

std::span<const ApiField<JobLine>> job_fields() {
  return kFields;
}

}  // namespace spur::cli
