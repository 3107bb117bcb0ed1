// SPDX-License-Identifier: Apache-2.0
// stats_msg: sdiag --json. What the main scheduler and backfill are here: cmd_sdiag.cc.
#include "cli/api_documents.h"
#include "cli/api_values.h"
#include "cli/slurm_calls.h"

namespace spur::cli {
namespace {

using Statistics = wire::ControllerStatistics;

std::uint64_t mean(std::uint64_t sum, std::uint64_t count) {
  return count == 0 ? 0 : sum / count;
}

std::uint64_t per_minute(const Statistics& s) {
  const auto whole = static_cast<std::uint64_t>(std::chrono::floor<minutes>(s.as_of - s.since).count());
  return whole == 0 ? 0 : s.quick.count / whole;
}

void add_exits(Document& to, std::string_view key, std::uint64_t count, std::initializer_list<const char*> others) {
  to.open_object(key).field("end_job_queue", count);
  for (const char* other : others) to.field(other, 0);
  to.close_object();
}

void add_calls(Document& to, std::string_view key, const Statistics& s) {
  to.open_array(key);
  for (const NamedCalls& row : sorted_calls(s, CallOrder::Count)) {
    to.open_object().field("type_id", row.number).field("message_type", row.name).field("count", row.calls->count);
    to.field("queued", 0).field("dropped", 0).field("cycle_last", 0).field("cycle_max", 0);
    to.field("total_time", row.calls->total_us).number("average_time", row.average_us()).close_object();
  }
  to.close_array();
}

void add_users(Document& to, std::string_view key, const Statistics& s) {
  to.open_array(key);
  for (const NamedCalls& row : sorted_users(s, CallOrder::Count)) {
    to.open_object().field("user_id", row.number).field("user", row.name).field("count", row.calls->count);
    to.field("total_time", row.calls->total_us).number("average_time", row.average_us()).close_object();
  }
  to.close_array();
}

// clang-format off
constexpr ApiField<Statistics> kFields[] = {
    {"parts_packed", API_VALUE(1)},
    {"req_time", API_MOMENT(of.as_of)},
    {"req_time_start", API_MOMENT(of.since)},
    {"server_thread_count", API_VALUE(1)},
    {"agent_queue_size", API_VALUE(0)},
    {"agent_count", API_VALUE(0)},
    {"agent_thread_count", API_VALUE(0)},
    {"dbd_agent_queue_size", API_VALUE(of.accounting_backlog)},
    {"gettimeofday_latency", API_VALUE(of.clock_us)},
    {"schedule_cycle_max", API_VALUE(of.quick.max_us)},
    {"schedule_cycle_last", API_VALUE(of.quick.last_us)},
    {"schedule_cycle_sum", API_VALUE(of.quick.sum_us)},
    {"schedule_cycle_total", API_VALUE(of.quick.count)},
    {"schedule_cycle_mean", API_VALUE(mean(of.quick.sum_us, of.quick.count))},
    {"schedule_cycle_mean_depth", API_VALUE(mean(of.quick.depth_sum, of.quick.count))},
    {"schedule_cycle_per_minute", API_VALUE(per_minute(of))},
    {"schedule_cycle_depth", API_VALUE(of.quick.depth_sum)},
    {"schedule_exit", SPUR_API_ADD(add_exits(to, key, of.quick.count, {"default_queue_depth", "max_job_start", "max_rpc_cnt", "max_sched_time", "licenses"}))},
    {"schedule_queue_length", API_VALUE(of.quick.queue_last)},
    {"jobs_submitted", API_VALUE(of.submitted)},
    {"jobs_started", API_VALUE(of.started)},
    {"jobs_completed", API_VALUE(of.completed)},
    {"jobs_canceled", API_VALUE(of.cancelled)},
    {"jobs_failed", API_VALUE(of.failed)},
    {"jobs_pending", API_VALUE(of.pending)},
    {"jobs_running", API_VALUE(of.running)},
    {"job_states_ts", API_MOMENT(of.as_of)},
    {"bf_backfilled_jobs", API_VALUE(of.full.starts_ever)},
    {"bf_last_backfilled_jobs", API_VALUE(of.full.starts)},
    {"bf_backfilled_het_jobs", API_VALUE(of.full.het_starts_ever)},
    {"bf_cycle_counter", API_VALUE(of.full.count)},
    {"bf_cycle_mean", API_VALUE(mean(of.full.sum_us, of.full.count))},
    {"bf_depth_mean", API_VALUE(mean(of.full.depth_sum, of.full.count))},
    {"bf_depth_mean_try", API_VALUE(mean(of.full.tried_sum, of.full.count))},
    {"bf_cycle_sum", API_VALUE(of.full.sum_us)},
    {"bf_cycle_last", API_VALUE(of.full.last_us)},
    {"bf_cycle_max", API_VALUE(of.full.max_us)},
    {"bf_exit", SPUR_API_ADD(add_exits(to, key, of.full.count, {"bf_max_job_start", "bf_max_job_test", "bf_max_time", "bf_node_space_size", "state_changed"}))},
    {"bf_last_depth", API_VALUE(of.full.depth_last)},
    {"bf_last_depth_try", API_VALUE(of.full.tried_last)},
    {"bf_depth_sum", API_VALUE(of.full.depth_sum)},
    {"bf_depth_try_sum", API_VALUE(of.full.tried_sum)},
    {"bf_queue_len", API_VALUE(of.full.queue_last)},
    {"bf_queue_len_mean", API_VALUE(mean(of.full.queue_sum, of.full.count))},
    {"bf_queue_len_sum", API_VALUE(of.full.queue_sum)},
    {"bf_table_size", API_VALUE(of.full.tried_last)},
    {"bf_table_size_sum", API_VALUE(of.full.tried_sum)},
    {"bf_table_size_mean", API_VALUE(mean(of.full.tried_sum, of.full.count))},
    {"bf_when_last_cycle", API_MOMENT(of.full.last_at)},
    {"bf_active", API_VALUE(false)},
    {"rpcs_by_message_type", SPUR_API_ADD(add_calls(to, key, of))},
    {"rpcs_by_user", SPUR_API_ADD(add_users(to, key, of))},
    {"pending_rpcs", API_NO_LIST, 41},
    {"pending_rpcs_by_hostlist", API_NO_LIST, 41},
};
// clang-format on

}  // namespace

std::span<const ApiField<Statistics>> statistics_fields() {
  return kFields;
}

}  // namespace spur::cli
