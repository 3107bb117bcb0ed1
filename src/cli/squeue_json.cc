// SPDX-License-Identifier: Apache-2.0
#include "cli/squeue_json.h"

#include "cli/job_files.h"
#include "cli/json.h"
#include "cli/users.h"

namespace spur::cli {
namespace {

using model::Job;
using model::JobSpec;
using Per = model::GresRequest::Per;

void add_states(Json& json, const Job& job) {
  json.open_array("job_state").item(model::base_name(job.state));
  if (job.flags != 0) {
    const std::string_view shown = model::long_name(job.state, job.flags);
    if (shown != model::base_name(job.state)) json.item(shown);
  }
  json.close_array();
}

void add_exit(Json& json, std::string_view key, const model::ExitStatus& exit) {
  json.open_object(key);
  json.open_array("status").item(exit.signal != 0 ? "SIGNALED" : exit.code != 0 ? "ERROR" : "SUCCESS").close_array();
  json.number("return_code", exit.code);
  json.open_object("signal")
      .number("id", exit.signal == 0 ? std::nullopt : std::optional<std::uint64_t>(exit.signal))
      .field("name", "")
      .close_object();
  json.close_object();
}

void add_identity(Json& json, const JobLine& line) {
  const Job& job = *line.job;
  const JobSpec& spec = *job.spec;
  json.field("job_id", job.id.value).field("name", spec.name).field("cluster", line.table->cluster_name);
  json.number("array_job_id", job.array_job.value);
  const auto task = line.task ? line.task : job.array_task;
  json.number("array_task_id", task ? std::optional<std::uint64_t>(*task) : std::nullopt);
  json.field("array_task_string", job.array_pending && !line.task ? array_tasks(job, 0) : "");
  json.number("array_max_tasks", job.array_max_running);
  json.number("het_job_id", job.het_job.value);
  json.field("het_job_id_set", model::het_id_set(job));
  json.number("het_job_offset", job.het_job ? std::optional<std::uint64_t>(job.het_offset) : std::nullopt);
  json.field("user_id", spec.uid.value).field("user_name", user_name(spec.uid));
  json.field("group_id", spec.gid.value).field("group_name", group_name(spec.gid));
  json.field("account", spec.account).field("qos", spec.qos).field("wckey", spec.wckey);
  json.field("comment", spec.comment).field("admin_comment", spec.admin_comment).field("extra", spec.extra);
  json.field("reservation", spec.reservation == "" ? "" : spec.reservation);
}

void add_state(Json& json, const JobLine& line) {
  const Job& job = *line.job;
  add_states(json, job);
  json.field("state_reason", model::reason_name(job.reason)).field("state_description", job.reason_detail);
  json.field("hold", job.hold != model::Hold::None)
      .field("requeue", job.spec->requeue.value_or(true))
      .field("restart_cnt", job.restarts);
  json.number("priority", job.priority).field("nice", job.spec->nice);
  json.field("dependency", dependencies_left(job));
  add_exit(json, "exit_code", job.exit);
  add_exit(json, "derived_exit_code", job.derived_exit);
  json.field("batch_flag", job.spec->kind == model::JobKind::Batch);
}

void add_times(Json& json, const JobLine& line) {
  const Job& job = *line.job;
  json.moment("submit_time", job.submitted).moment("eligible_time", job.eligible).moment("accrue_time", job.accrue);
  json.moment("start_time", shown_start(job, line.expected_start))
      .moment("end_time", shown_end(job, line.expected_start).at);
  json.moment("suspend_time", job.suspended_at)
      .moment("last_sched_evaluation", job.last_eval)
      .moment("deadline", job.spec->deadline);
  const bool finite = job.time_limit.is_finite();
  json.number("time_limit", finite ? std::optional<std::uint64_t>(job.time_limit.minutes_value()) : std::nullopt,
              job.time_limit.is_unlimited());
}

void add_resources(Json& json, const JobLine& line) {
  const Job& job = *line.job;
  const JobSpec& spec = *job.spec;
  json.field("partition", job_partition(job))
      .field("nodes", job_nodes(job, *line.table))
      .field("batch_host", job.batch_host);
  json.number("node_count", job_node_count(job))
      .number("cpus", job_cpu_count(job))
      .number("tasks", model::task_count(spec));
  json.number("cpus_per_task", spec.cpus_per_task).number("tasks_per_node", spec.tasks_per_node);
  const auto& per_cpu = spec.memory_per_cpu_mib;
  const auto& per_node = spec.memory_per_node_mib;
  json.number("memory_per_cpu", per_cpu ? std::optional<std::uint64_t>(*per_cpu) : std::nullopt);
  json.number("memory_per_node", per_node ? std::optional<std::uint64_t>(*per_node) : std::nullopt);
  json.field("required_nodes", spec.required_nodes)
      .field("excluded_nodes", spec.excluded_nodes)
      .field("scheduled_nodes", line.planned_nodes ? *line.planned_nodes : std::string())
      .field("features", spec.features)
      .field("prefer", spec.prefer);
  json.field("licenses", licenses(spec)).field("contiguous", spec.contiguous);
  json.field("tres_req_str", requested_tres(job)).field("tres_alloc_str", allocated_tres(job));
  json.field("tres_per_job", gres_terms(spec, Per::Job)).field("tres_per_node", gres_terms(spec, Per::Node));
  json.field("tres_per_task", gres_terms(spec, Per::Task)).field("tres_per_socket", gres_terms(spec, Per::Socket));
  json.open_array("gres_detail");
  if (job.allocation) {
    for (const model::NodeGrant& grant : job.allocation->nodes)
      for (const model::DeviceGrant& device : grant.devices) {
        json.item(fmt::format("{}{}{}:{}", device.gres, device.type.empty() ? "" : ":", device.type,
                              device.indices.size()));
      }
  }
  json.close_array();
}

void add_allocation(Json& json, const JobLine& line) {
  const Job& job = *line.job;
  json.open_object("job_resources");
  if (job.allocation) {
    json.field("cpus", job_cpu_count(job));
    json.open_object("nodes").field("count", job.allocation->nodes.size()).field("list", job_nodes(job, *line.table));
    json.open_array("allocation");
    for (const model::NodeGrant& grant : job.allocation->nodes) {
      const auto& names = line.table->node_names;
      json.open_object().field("name", grant.node.value < names.size() ? names[grant.node.value] : "");
      json.open_object("cpus").field("count", grant.cpus.size()).close_object();
      json.open_object("memory").field("allocated", grant.memory_mib).close_object();
      json.close_object();
    }
    json.close_array().close_object();
  }
  json.close_object();
}

void add_program(Json& json, const Job& job) {
  const JobSpec& spec = *job.spec;
  json.field("command", spec.command).field("current_working_directory", spec.work_dir);
  json.field("standard_input", stdin_path(job))
      .field("standard_output", stdout_path(job))
      .field("standard_error", stderr_path(job));
  json.field("stdin_expanded", stdin_path(job))
      .field("stdout_expanded", stdout_path(job))
      .field("stderr_expanded", stderr_path(job));
  json.field("submit_line", spec.submit_line)
      .field("allocating_node", spec.submit_host)
      .field("mail_user", spec.mail_user);
}

}  // namespace

std::string jobs_json(const std::vector<JobLine>& lines, const wire::JobTable& table, std::string_view program) {
  Json json;
  json.open_object();
  json.open_array("jobs");
  for (const JobLine& line : lines) {
    json.open_object();
    add_identity(json, line);
    add_state(json, line);
    add_times(json, line);
    add_resources(json, line);
    add_allocation(json, line);
    add_program(json, *line.job);
    json.close_object();
  }
  json.close_array();
  json.moment("last_update", table.as_of);
  add_meta(json, table.cluster_name, program);
  add_no_errors(json);
  json.close_object();
  return std::move(json).finish();
}

}  // namespace spur::cli
