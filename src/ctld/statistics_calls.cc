// SPDX-License-Identifier: Apache-2.0
// Calls about the controller itself (sdiag, scontrol setdebug), scontrol top, and usage that is forgotten.
#include <fmt/format.h>

#include <chrono>

#include "ctld/authorization.h"
#include "ctld/controller_calls.h"
#include "ctld/top_jobs.h"
#include "sched/priority.h"

namespace spur::ctld {
namespace {

void fill(const Statistics::Cycles& from, v1::GetStatisticsReply::Cycles* to) {
  to->set_count(from.count);
  to->set_last_us(from.last_us);
  to->set_max_us(from.max_us);
  to->set_sum_us(from.sum_us);
  to->set_depth_last(from.depth_last);
  to->set_depth_sum(from.depth_sum);
  to->set_tried_last(from.tried_last);
  to->set_tried_sum(from.tried_sum);
  to->set_queue_last(from.queue_last);
  to->set_queue_sum(from.queue_sum);
  to->set_last_at_us(to_micros(from.last_at));
  to->set_starts(from.starts);
  to->set_starts_ever(from.starts_ever);
  to->set_het_starts_ever(from.het_starts_ever);
  to->set_starts_last(from.starts_last);
}

// Pending tasks of arrays one by one, as Slurm counts them.
std::uint64_t pending_jobs(const model::View& view) {
  std::uint64_t count = 0;
  view.pending.for_each(
      [&](std::uint32_t, const model::JobPtr& job) { count += job->array_pending ? job->array_pending->size() : 1; });
  return count;
}

std::uint64_t running_jobs(const model::View& view) {
  std::uint64_t count = 0;
  view.jobs.for_each(
      [&](std::uint32_t, const model::JobPtr& job) { count += job->state == model::JobState::Running ? 1 : 0; });
  return count;
}

std::uint32_t clock_latency(const std::function<Time()>& now) {
  const Time before = now();
  Time last = before;
  for (int i = 0; i < 1000; ++i) last = now();
  return static_cast<std::uint32_t>(std::max<std::int64_t>(0, (last - before).count()));
}

bool users_may_top(const model::ClusterConfig& config) {
  for (const auto& [key, value] : config.shown)
    if (key == "SchedulerParameters") return value.find("enable_user_top") != std::string::npos;
  return false;
}

}  // namespace

void ControllerCalls::get_statistics(const Caller& caller, const v1::GetStatisticsRequest& request,
                                     Answer<v1::GetStatisticsReply> answer) {
  if (!options_.statistics || !options_.now)
    return answer(fail(ErrorCode::NotSupported, "this controller counts nothing"));
  if (request.reset()) {
    if (!caller.is_admin()) return answer(fail(ErrorCode::PermissionDenied, "Access/permission denied"));
    options_.statistics->reset(options_.now());
  }
  const auto picture = core_.picture();
  const Statistics::Counts counts = options_.statistics->counts();
  v1::GetStatisticsReply reply;
  reply.set_as_of_us(to_micros(options_.now()));
  reply.set_since_us(to_micros(counts.since));
  reply.set_submitted(counts.submitted);
  reply.set_started(counts.started);
  reply.set_completed(counts.completed);
  reply.set_cancelled(counts.cancelled);
  reply.set_failed(counts.failed);
  reply.set_pending(pending_jobs(picture->view));
  reply.set_running(running_jobs(picture->view));
  fill(counts.quick, reply.mutable_quick());
  fill(counts.full, reply.mutable_full());
  for (const auto& [method, calls] : counts.by_method) {
    auto* row = reply.add_by_method();
    row->set_method(method);
    row->set_count(calls.count);
    row->set_total_us(calls.total_us);
  }
  for (const auto& [uid, calls] : counts.by_user) {
    auto* row = reply.add_by_user();
    row->set_uid(uid);
    row->set_count(calls.count);
    row->set_total_us(calls.total_us);
  }
  reply.set_cluster_name(picture->view.config->cluster_name);
  reply.set_clock_us(clock_latency(options_.now));
  if (options_.accounting_backlog) reply.set_accounting_backlog(options_.accounting_backlog());
  answer(std::move(reply));
}

void ControllerCalls::set_debug(const Caller& caller, const v1::SetDebugRequest& request, Answer<v1::Done> answer) {
  if (request.has_scheduler_log()) {
    auto done = options_.log_scheduling ? options_.log_scheduling(request.scheduler_log())
                                        : Status(fail(ErrorCode::RequestDisabled, ""));
    if (!done) return answer(std::unexpected(std::move(done.error())));
    std::lock_guard lock(debug_mutex_);
    scheduler_level_ = request.scheduler_log() ? "1" : "0";
    return answer(v1::Done{});
  }
  if (!request.nodes().empty()) {  // agents have their links with the leader, as for every change of a node
    if (auto role = check_role("UpdateNode", false); !role) return answer(std::unexpected(std::move(role.error())));
    const model::ControllerDebug debug{request.level(), request.flags_on(), request.flags_off()};
    return change(caller, std::move(answer), [nodes = request.nodes(), debug](Controller& c, const Caller&, auto reply) {
      reply(c.debug_agents(nodes, debug));
    });
  }
  if (!options_.set_debug || !options_.set_debug_flags)
    return answer(fail(ErrorCode::NotSupported, "this controller's log has one level"));
  if (request.level().empty()) {
    auto flagged = options_.set_debug_flags(request.flags_on(), request.flags_off());
    return flagged ? answer(v1::Done{}) : answer(std::unexpected(std::move(flagged.error())));
  }
  auto done = options_.set_debug(request.level());
  if (done) {
    std::lock_guard lock(debug_mutex_);
    debug_level_ = request.level();
  }
  done ? answer(v1::Done{}) : answer(std::unexpected(std::move(done.error())));
}

void ControllerCalls::reset_usage(const Caller& caller, const v1::ResetUsageRequest& request, Answer<v1::Done> answer) {
  const std::vector<std::uint32_t> associations(request.associations().begin(), request.associations().end());
  const std::vector<std::string> qos(request.qos().begin(), request.qos().end());
  change(caller, std::move(answer), [associations, qos](Controller& c, const Caller& who, auto reply) {
    c.reset_usage(who, associations, qos, std::move(reply));
  });
}

void ControllerCalls::top_jobs(const Caller& caller, const v1::TopJobsRequest& request, Answer<v1::Done> answer) {
  change(caller, std::move(answer), [this, &request](Controller& c, const Caller& who, auto reply) {
    const model::View& view = c.cluster().view();
    if (!who.is_admin() && !users_may_top(*view.config))
      return reply(fail(ErrorCode::PermissionDenied, "Access/permission denied"));
    if (request.jobs().empty()) return reply(fail(ErrorCode::InvalidJobId, "Invalid job id specified"));
    std::vector<JobId> ids;
    for (const std::uint32_t number : request.jobs()) {
      ids.emplace_back(number);
      const model::Job* job = model::find_job(view, ids.back());
      if (job && !may_touch(who, *job)) return reply(fail(ErrorCode::PermissionDenied, "Access/permission denied"));
    }
    const sched::PriorityScale scale(view);
    auto updates =
        ctld::top_jobs(view, ids, [&](const model::Job& job) { return scale.priority(job, this->now(view)); });
    if (!updates) return reply(std::unexpected(std::move(updates.error())));
    if (updates->empty()) return reply({});
    // By now the caller may; that he lowers a nice value is part of it.
    Caller administrator = who;
    administrator.role = model::Role::Admin;
    c.update_jobs(administrator, *std::move(updates), std::move(reply));
  });
}

}  // namespace spur::ctld
