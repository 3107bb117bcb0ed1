// SPDX-License-Identifier: Apache-2.0
// The moves of the drawing in model/job_state.h that several commands make: a run ends, nodes are left, a job goes
// back to the queue.
#include <algorithm>

#include "base/check.h"
#include "model/limits.h"
#include "model/power.h"
#include "state/apply.h"
#include "state/node_books.h"

namespace spur::state {

using model::AfterCompleting;
using model::Hold;
using model::Job;
using model::JobState;
using model::Reason;

namespace {

// A job whose launch failed, or whose exit code asks for another run, waits a little before its next try, so that a broken
// node, or program, does not eat its tries within milliseconds. (A requeue by hand does not wait: epochs keep the runs
// apart.)
constexpr seconds kRetryDelay{10};

bool is_hold_reason(Reason reason) {
  return reason == Reason::JobHeldUser || reason == Reason::JobHeldAdmin || reason == Reason::JobHoldMaxRequeue ||
         reason == Reason::LaunchFailedRequeuedHeld || reason == Reason::ReservationDeleted;
}

// Reasons that only an evaluation of this job's own conditions gives; the scheduler's are left alone.
bool is_condition(Reason reason) {
  return is_hold_reason(reason) || reason == Reason::Dependency || reason == Reason::DependencyNeverSatisfied ||
         reason == Reason::BeginTime;
}

}  // namespace

void Applier::settle_pending(Job& job) const {
  const auto not_yet = [&](Reason reason) {
    job.reason = reason;
    job.accrue = {};
    forget_claim(job);
    if (job.eligible <= now) job.eligible = {};  // a later moment stays as a lower bound (after:JOB+MINUTES)
  };
  if (job.hold != Hold::None) {
    const Reason held = job.hold == Hold::Admin ? Reason::JobHeldAdmin : Reason::JobHeldUser;
    return not_yet(is_hold_reason(job.reason) && job.reason != Reason::JobHeldUser ? job.reason : held);
  }
  if (job.dependency_never) return not_yet(Reason::DependencyNeverSatisfied);
  if (!job.dependencies_left.empty()) return not_yet(Reason::Dependency);
  if (!is_set(job.accrue)) {
    job.eligible = std::max({now, job.spec->begin, job.eligible});
    job.accrue = job.eligible;
  }
  if (job.eligible > now) {
    forget_claim(job);
    job.reason = Reason::BeginTime;
  } else if (is_condition(job.reason)) {
    job.reason = Reason::None;
  }
}

bool Applier::may_requeue(const Job& job) const {
  if (job.is_het_follower())  // all or none of them, and the first one says which
    if (const Job* leader = model::find_job(view, job.het_job)) return may_requeue(*leader);
  return job.spec->kind == model::JobKind::Batch && job.spec->requeue.value_or(config().requeue_default);
}

TimeLimit Applier::limit_in_force(const model::JobSpec& spec) const {
  if (spec.time_limit.is_set()) return spec.time_limit;
  const model::Partition* partition =
      spec.partitions.empty() ? model::default_partition(view) : model::find_partition(view, spec.partitions.front());
  if (!partition) return TimeLimit::unlimited();
  TimeLimit limit =
      partition->config.default_time.is_set() ? partition->config.default_time : partition->config.max_time;
  if (!config().accounting.limits) return limit;
  // Who asks for no time gets no more than the account or the QOS allows.
  const auto where = model::counted_in(view, spec, association_of(spec), partition->config.name);
  const auto longest = model::longest_wall(view, where);
  if (longest && (!limit.is_finite() || limit.minutes_value() > *longest)) limit = TimeLimit::of_minutes(*longest);
  return limit;
}

void Applier::end_run(Job& job, JobState final_state, Reason reason) {
  SPUR_CHECK(model::is_final(final_state));
  const bool was_completing = job.flags & model::kCompleting;
  job.state = final_state;
  job.reason = reason;
  job.after_completing = AfterCompleting::Stay;
  job.flags &=
      ~(model::kRequeued | model::kRequeueHold | model::kSpecialExit | model::kStopped | model::kConfiguring);
  if (was_completing) return;
  job.flags |= model::kCompleting;
  job.ended = now;
  job.kill_began = now;
  for (const NodeIndex at : job.nodes_left) {
    model::Node node = node_copy(at);
    ++node.jobs_completing;
    put_node(std::move(node));
  }
}

void Applier::end_run_to_requeue(Job& job, AfterCompleting how) {
  // The same moves as an end; then the state says where it is going.
  end_run(job, JobState::Cancelled, job.reason);
  job.state = JobState::Pending;
  job.after_completing = how;
  job.flags |= model::kRequeued;
  if (how == AfterCompleting::RequeueHold) job.flags |= model::kRequeueHold;
  if (how == AfterCompleting::SpecialExit) job.flags |= model::kSpecialExit;
}

void Applier::leave_node(Job& job, NodeIndex at) {
  const auto left = std::find(job.nodes_left.begin(), job.nodes_left.end(), at);
  SPUR_CHECK(left != job.nodes_left.end());
  job.nodes_left.erase(left);
  const auto& grants = job.allocation->nodes;
  const auto grant = std::find_if(grants.begin(), grants.end(), [at](const auto& g) { return g.node == at; });
  SPUR_CHECK(grant != grants.end());
  model::Node node = node_copy(at);
  give_back(node, *grant, job.id, !is_set(job.suspended_at), job.flags & model::kCompleting,
            cpus_of_others(view, node, job));
  node.last_busy = now;
  const model::Partition* partition = model::find_partition(view, job.allocation->partition);
  if (partition && partition->config.power_down_on_idle && node.jobs.empty() && !node.is_away() &&
      model::saves_power(config()))
    node.flags |= model::kNodePowerDown;
  put_node(std::move(node));
}

void Applier::close(Job job) {
  SPUR_CHECK(job.flags & model::kCompleting);
  const JobId id = job.id;
  std::optional<Job> component;  // as it ended
  if (job.het_job) component = job;
  // Nothing of it has ever been on a node that is switched off.
  const std::vector<NodeIndex> left = job.nodes_left;
  for (const NodeIndex at : left)
    if ((*view.nodes.find(at.value))->is_away()) leave_node(job, at);
  if (!job.nodes_left.empty()) {
    emit(EndJob{id, job.epoch, (job.flags & model::kSignaling) != 0});
    put(std::move(job));
  } else if (job.flags &= ~(model::kCompleting | model::kSignaling); job.after_completing != AfterCompleting::Stay) {
    note_requeue(job);
    back_to_queue(job);
    put(std::move(job));
  } else {
    const bool comes_back = cron_entry_of(job) != nullptr;
    put(std::move(job));
    ended(*model::find_job(view, id));
    if (comes_back) wait_for_next_time(id);
  }
  if (component) end_with(*component);
}

void Applier::back_to_queue(Job& job) {
  job.state = JobState::Pending;
  const AfterCompleting how = job.after_completing;
  if (how == AfterCompleting::RequeueHold || how == AfterCompleting::SpecialExit) {
    if (job.hold == Hold::None) job.hold = Hold::User;
    job.priority = 0;
    if (job.reason_detail.empty()) job.reason_detail = "job requeued in held state";
  }
  const bool failed = job.reason == Reason::JobLaunchFailure || job.reason == Reason::NonZeroExitCode;
  job.after_completing = AfterCompleting::Stay;
  job.flags &= ~(model::kRequeued | model::kRequeueHold | model::kSharesCores);
  job.epoch = Epoch{job.epoch.value + 1};
  ++job.restarts;
  if (job.spec->time_min.is_set()) job.time_limit = limit_in_force(*job.spec);  // what it got was for that run
  job.submitted = now;  // Slurm: the submit time of a requeued job starts anew
  job.started = job.ended = job.kill_began = job.suspended_at = job.accrue = job.last_eval = job.counted_from = {};
  job.suspended_total = Duration{0};
  forget_preemption(job);
  job.eligible = failed ? now + kRetryDelay : Time{};
  job.allocation = nullptr;
  job.nodes_left.clear();
  job.last_nodes.clear();
  job.lost_nodes.clear();
  job.batch_host.clear();
  job.cpus_allocated = 0;
  job.exit = job.derived_exit = {};
  job.usage = nullptr;
  job.cancelled = false;
  job.ended_by = {};
  if (!is_hold_reason(job.reason)) job.reason = Reason::None;
  if (!job.dependencies_left.empty() || job.dependency_never) {  // it was cancelled while it waited for others
    job.dependency_never = false;
    review_dependencies(job);
  }
  settle_pending(job);
}

// Its first node starts its steps, or runs its script: without it there is nothing that could go on.
bool Applier::outlives(const Job& job, NodeIndex at) const {
  return job.spec->no_kill && job.state == JobState::Running && !(job.flags & model::kCompleting) && !job.het_job &&
         job.allocation->nodes.size() > 1 && job.allocation->nodes.front().node != at && holds(job, at);
}

// What still runs there is unknown to us from now on: the node has to end it before it is taken in again.
void Applier::go_on_without(Job job, NodeIndex at) {
  leave_node(job, at);
  auto rest = std::make_shared<model::Allocation>(*job.allocation);
  const auto grant = std::ranges::find(rest->nodes, at, &model::NodeGrant::node);
  job.cpus_allocated -= std::min(job.cpus_allocated, static_cast<std::uint32_t>(grant->cpus.size()));
  rest->nodes.erase(grant);
  job.allocation = std::move(rest);
  job.last_nodes = model::node_list(view, job.nodes_left);
  job.lost_nodes.push_back((*view.nodes.find(at.value))->name);
  emit(TellNodesLost{job.id, job.epoch});
  end_configuring(job);
  put(std::move(job));
}

void Applier::fail_on_node(JobId id, NodeIndex at, bool gone) {
  Job job = *model::find_job(view, id);
  if (outlives(job, at)) return go_on_without(std::move(job), at);
  if (!(job.flags & model::kCompleting)) {
    if (may_requeue(job)) {
      job.reason = Reason::NodeDown;
      end_run_to_requeue(job, AfterCompleting::Requeue);
    } else {
      end_run(job, JobState::NodeFail, Reason::NodeDown);
    }
  } else if (!gone) {
    return;  // it is being ended there already
  }
  if (gone) leave_node(job, at);
  close(std::move(job));
}

void Applier::fail_jobs_of(NodeIndex at, bool gone) {
  // A copy: the list shrinks on the way.
  const std::vector<JobId> jobs = node_copy(at).jobs;
  for (const JobId id : jobs) fail_on_node(id, at, gone);
}

Applier::Sharing Applier::sharing_of(const Job& job, std::string_view partition_name) const {
  if (job.spec->exclusive == model::Exclusive::Node) return Sharing::Alone;
  const model::Partition* partition = model::find_partition(view, partition_name);
  if (partition && partition->config.oversubscribe == model::OverSubscribe::Exclusive) return Sharing::Alone;
  if (job.spec->exclusive != model::Exclusive::No) return Sharing::SameUser;
  return partition && partition->config.exclusive_user ? Sharing::SameUser : Sharing::WithAll;
}

Status Applier::can_join(const model::Node& node, const Job& job, Sharing sharing) const {
  const auto busy = [&] { return fail(ErrorCode::NodesBusy, "node " + node.name + " is used exclusively"); };
  if (node.exclusive || (sharing == Sharing::Alone && node.cpus_allocated > 0)) return busy();
  const auto& partitions = *view.partitions;
  const bool look =
      sharing == Sharing::SameUser || cluster.index_.user_exclusive() > 0 ||
      std::any_of(partitions.begin(), partitions.end(), [](const auto& p) { return p.config.exclusive_user; });
  if (!look) return {};
  for (const JobId id : node.jobs) {
    const Job& other = *model::find_job(view, id);
    if (id == job.id || other.spec->uid == job.spec->uid) continue;
    if (sharing == Sharing::SameUser || sharing_of(other, other.allocation->partition) == Sharing::SameUser)
      return busy();
  }
  return {};
}

}  // namespace spur::state
