// SPDX-License-Identifier: Apache-2.0
#include "cli/sacct_json.h"

#include <fmt/format.h>

#include "cli/api_documents.h"
#include "cli/users.h"
#include "model/job_state.h"
#include "model/step_end.h"
#include "text/hostlist.h"

namespace spur::cli {
namespace {

using TresList = google::protobuf::RepeatedPtrField<v1::AcctTres>;

std::int64_t secs(std::int64_t us) {
  return us / 1'000'000;
}

void add_exit(Document& json, std::string_view key, bool over, std::uint32_t code, std::uint32_t signal) {
  json.open_object(key);
  json.open_array("status").field({}, !over ? "PENDING" : signal ? "SIGNALED" : code ? "ERROR" : "SUCCESS").close_array();
  json.number("return_code", code);
  json.open_object("signal")
      .number("id", signal ? std::optional<std::uint64_t>(signal) : std::nullopt)
      .field("name", "")
      .close_object();
  json.close_object();
}

// Slurm's fixed ids; the site's own have none here.
int tres_id(std::string_view name) {
  constexpr std::string_view kKnown[] = {"cpu", "mem", "energy", "node", "billing"};
  for (std::size_t i = 0; i < std::size(kKnown); ++i)
    if (kKnown[i] == name) return static_cast<int>(i) + 1;
  return name == "gres/gpu" ? 1001 : 0;
}

void add_tres(Document& json, std::string_view key, const TresList& list) {
  json.open_array(key);
  for (const auto& item : list) {
    const std::string_view name = item.name();
    const auto slash = name.find('/');
    json.open_object()
        .field("type", name.substr(0, slash))
        .field("name", slash == std::string_view::npos ? std::string_view{} : name.substr(slash + 1))
        .field("id", tres_id(name))
        .field("count", item.count())
        .close_object();
  }
  json.close_array();
}

void add_cpu_times(Document& json, const v1::AcctUsage& usage) {
  const auto add = [&](std::string_view key, std::uint64_t us) {
    json.open_object(key).field("seconds", us / 1'000'000).field("microseconds", us % 1'000'000).close_object();
  };
  add("system", usage.system_cpu_us());
  add("total", usage.system_cpu_us() + usage.user_cpu_us());
  add("user", usage.user_cpu_us());
}

void add_step(Document& json, const v1::AcctJob& job, const v1::AcctStep& step, const SacctStyle& style) {
  json.open_object();
  json.open_object("time").field("elapsed", sacct_elapsed({job, &step, style}).count());
  json.moment("end", from_micros(step.ended_us())).moment("start", from_micros(step.started_us()));
  json.field("suspended", 0);
  add_cpu_times(json, step.usage());
  json.close_object();
  add_exit(json, "exit_code", true, step.exit_code(), step.exit_signal());
  json.open_object("nodes").field("count", step.node_count()).field("range", step.nodes());
  json.field("list", text::expand_hostlist(step.nodes()).value_or(std::vector<std::string>{})).close_object();
  json.open_object("tasks").field("count", step.tasks()).close_object();
  json.field("pid", "");
  json.open_object("CPU").open_object("requested_frequency").number("min", 0).number("max", 0).close_object();
  json.field("governor", "0").close_object();
  json.field("kill_request_user", "");
  json.open_array("state").field({}, model::base_name(static_cast<model::JobState>(step.state()))).close_array();
  json.open_object("statistics").open_object("CPU").field("actual_frequency", 0).close_object();
  json.open_object("energy").number("consumed", 0).close_object().close_object();
  json.open_object("step")
      .field("id", fmt::format("{}.{}", job.job(), sacct_step_name(step.step())))
      .field("name", step.name())
      .close_object();
  json.open_object("task")
      .field("distribution", step.step() >= model::kBatchStep ? "Unknown" : "Block")
      .close_object();
  json.open_object("tres");
  for (const char* kind : {"requested", "consumed"}) {
    json.open_object(kind);
    for (const char* part : {"max", "min", "average", "total"}) json.open_array(part).close_array();
    json.close_object();
  }
  add_tres(json, "allocated", step.allocated());
  json.close_object();
  json.close_object();
}

void add_times(Document& json, const v1::AcctJob& job, const SacctStyle& style) {
  json.open_object("time").field("elapsed", sacct_elapsed({job, nullptr, style}).count());
  json.field("eligible", secs(job.eligible_us())).field("end", secs(job.ended_us()));
  const std::int64_t until = job.started_us() ? job.started_us() : to_micros(style.now);
  const std::int64_t planned = job.eligible_us() ? std::max<std::int64_t>(until - job.eligible_us(), 0) : 0;
  if (json.version() >= 41) json.number("planned", static_cast<std::uint64_t>(secs(planned)));
  json.field("start", secs(job.started_us())).field("submission", secs(job.submitted_us()));
  json.field("suspended", secs(job.suspended_total_us()));
  const auto limit = TimeLimit::from_raw(job.time_limit());
  json.number("limit", limit.is_finite() ? std::optional<std::uint64_t>(limit.minutes_value()) : std::nullopt,
              limit.is_unlimited());
  add_cpu_times(json, job.usage());
  json.close_object();
}

void add_identity(Document& json, const v1::AcctJobRow& row, const std::string& user) {
  const auto& job = row.job();
  json.field("account", job.account());
  json.open_object("comment")
      .field("administrator", job.admin_comment())
      .field("job", job.comment())
      .field("system", "")
      .close_object();
  json.field("allocation_nodes", job.node_count());
  json.open_object("array").field("job_id", job.array_job());
  json.open_object("limits").open_object("max").open_object("running").field("tasks", 0);
  json.close_object().close_object().close_object();
  json.number("task_id", job.has_array_task() ? std::optional<std::uint64_t>(job.array_task()) : std::nullopt);
  json.field("task", job.array_tasks()).close_object();
  json.open_object("association")
      .field("account", job.account())
      .field("cluster", row.cluster())
      .field("partition", "")
      .field("user", user)
      .field("id", 0)
      .close_object();
  json.field("block", "").field("cluster", row.cluster()).field("constraints", job.features());
  json.field("container", job.container());
}

void add_request(Document& json, const v1::AcctJob& job) {
  json.open_object("required").field("CPUs", job.cpus_requested());
  json.number("memory_per_cpu",
              job.has_memory_per_cpu_mib() ? std::optional<std::uint64_t>(job.memory_per_cpu_mib()) : std::nullopt);
  json.number("memory_per_node",
              job.has_memory_per_node_mib() ? std::optional<std::uint64_t>(job.memory_per_node_mib()) : std::nullopt);
  json.close_object();
}

void add_job(Document& json, const v1::AcctJobRow& row, const SacctStyle& style) {
  const auto& job = row.job();
  const std::string user = job.user().empty() ? user_name(Uid{job.uid()}) : job.user();
  const bool over = job.ended_us() != 0;
  json.open_object();
  add_identity(json, row, user);
  add_exit(json, "derived_exit_code", over, job.derived_code(), job.derived_signal());
  add_times(json, job, style);
  add_exit(json, "exit_code", over, job.exit_code(), job.exit_signal());
  json.field("extra", job.extra()).field("failed_node", "").open_array("flags").close_array();
  json.field("group", job.group().empty() ? group_name(Gid{job.gid()}) : job.group());
  json.open_object("het").field("job_id", job.het_job());
  json.number("job_offset", job.het_job() ? std::optional<std::uint64_t>(job.het_offset()) : std::nullopt);
  json.close_object();
  json.field("job_id", job.job()).field("name", job.name()).field("licenses", job.licenses());
  json.open_object("mcs").field("label", "").close_object();
  json.field("nodes", job.nodes().empty() ? "None assigned" : job.nodes()).field("partition", job.partition());
  json.field("hold", job.priority() == 0).number("priority", job.priority());
  json.field("qos", job.qos());
  if (json.version() >= 42) json.field("qosreq", job.qos());
  add_request(json, job);
  const bool cancelled = job.flags() & v1::ACCT_JOB_CANCELLED;
  json.field("kill_request_user", cancelled ? user_name(Uid{job.ended_by()}) : std::string());
  if (json.version() >= 42) json.field("restart_cnt", job.restarts());
  json.open_object("reservation").field("id", 0).field("name", job.reservation()).close_object();
  json.field("script", job.script());
  if (json.version() >= 41) {
    json.field("stdin_expanded", "").field("stdout_expanded", "").field("stderr_expanded", "");
    json.field("stdout", job.std_out()).field("stderr", job.std_err()).field("stdin", job.std_in());
  }
  json.open_object("state").open_array("current");
  json.field({}, model::base_name(static_cast<model::JobState>(job.state())));
  if (job.flags() & v1::ACCT_JOB_REQUEUED) json.field({}, "REQUEUED");
  json.close_array().field("reason", job.reason()).close_object();
  json.open_array("steps");
  for (const auto& step : row.steps()) add_step(json, job, step, style);
  json.close_array();
  json.field("submit_line", job.submit_line());
  json.open_object("tres");
  add_tres(json, "allocated", job.allocated());
  add_tres(json, "requested", job.requested());
  json.close_object();
  json.field("used_gres", "").field("user", user);
  json.open_object("wckey").field("wckey", job.wckey()).open_array("flags").close_array().close_object();
  json.field("working_directory", job.work_dir());
  json.close_object();
}

}  // namespace

std::string sacct_document(const Context& context, const std::vector<v1::AcctJobRow>& rows, const SacctStyle& style,
                           DocumentStyle document_style) {
  Document json(document_style);
  json.open_array("jobs");
  for (const auto& row : rows) add_job(json, row, style);
  json.close_array();
  return finish_document(std::move(json), rows.empty() ? std::string() : rows.front().cluster(), context);
}

}  // namespace spur::cli
