// SPDX-License-Identifier: Apache-2.0
// StartJob: the scheduler's proposal against the state as it is now. Anything that is no longer so refuses it whole;
// the scheduler plans again. This is the only place where resources are given out for a new run.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "model/core_sharing.h"
#include "model/limits.h"
#include "state/apply.h"
#include "state/node_books.h"

namespace spur::state {

using model::Job;

namespace {

Status may_start(const Job& job, const StartJob& command, const JobIndex::Tally& tally, Time now) {
  if (!is_waiting(job)) return fail(ErrorCode::JobNotPending, fmt::format("job {} is not pending", job.id.value));
  if (job.hold != model::Hold::None)
    return fail(ErrorCode::JobNotPending, fmt::format("job {} is held", job.id.value));
  if (!job.dependencies_left.empty() || job.dependency_never)
    return fail(ErrorCode::InvalidDependency, fmt::format("job {} waits for another job", job.id.value));
  if (!is_set(job.eligible) || job.eligible > now)
    return fail(ErrorCode::JobNotPending, fmt::format("the begin time of job {} is not reached", job.id.value));
  if (job.is_array_rest()) {
    if (!command.array_task || !job.array_pending->contains(*command.array_task))
      return fail(ErrorCode::InvalidArray, fmt::format("array {} has no such pending task", job.id.value));
  } else if (command.array_task && command.array_task != job.array_task) {
    return fail(ErrorCode::InvalidArray, fmt::format("job {} is another task", job.id.value));
  }
  if (job.array_max_running > 0 && tally.running >= job.array_max_running)
    return fail(ErrorCode::ResourceLimit, fmt::format("array {} runs as many tasks as it may", job.array_job.value));
  return {};
}

// A limit other than the job's own: only where the job leaves it open, and neither shorter nor longer than it says.
Status may_run_for(const Job& job, TimeLimit limit) {
  if (!limit.is_set() || limit == job.time_limit) return {};
  const TimeLimit least = job.spec->time_min;
  const bool allowed = least.is_finite() && limit.is_finite() && limit.minutes_value() >= least.minutes_value() &&
                       (!job.time_limit.is_finite() || limit.minutes_value() < job.time_limit.minutes_value());
  if (allowed) return {};
  return fail(ErrorCode::InvalidTimeLimit, fmt::format("job {} did not ask for such a time limit", job.id.value));
}

// The whole of the licenses, against what is left of the cluster's now (which may have become fewer).
Status can_take_licenses(const model::ClusterConfig& config, const JobIndex& index,
                         const std::vector<model::LicenseRequest>& licenses) {
  std::map<std::string, std::uint64_t> wanted;  // a name may be given twice
  for (const model::LicenseRequest& license : licenses) wanted[license.name] += license.count;
  for (const auto& [name, count] : wanted) {
    const auto at = std::find_if(config.licenses.begin(), config.licenses.end(),
                                 [&](const model::LicenseConfig& license) { return license.name == name; });
    if (at == config.licenses.end())
      return fail(ErrorCode::InvalidLicense, fmt::format("the cluster has no license {}", name));
    const std::uint64_t held = index.licenses_held(name);
    if (held + count > at->count)
      return fail(ErrorCode::ResourceLimit,
                  fmt::format("license {}: {} asked for, {} of {} are in use", name, count, held, at->count));
  }
  return {};
}

// The reservation that the allocation counts on must still be there for the job.
Status may_enter(const model::View& view, const Job& job, const model::Allocation& allocation) {
  const std::string& asked = job.spec->reservation;
  if (allocation.reservation.empty() && asked.empty()) return {};
  const model::Reservation* r = model::find_reservation(view, allocation.reservation);
  if (!r && !allocation.reservation.empty())
    return fail(ErrorCode::InvalidReservation, fmt::format("there is no reservation {}", allocation.reservation));
  if (!r || (!asked.empty() && !model::names_reservation(asked, r->name)))
    return fail(ErrorCode::ReservationNotUsable, fmt::format("job {} is to run in {} only", job.id.value, asked));
  if (!r->active && !r->has(model::kResvFlex))
    return fail(ErrorCode::ReservationNotUsable, fmt::format("reservation {} has not begun", r->name));
  if (!model::lets_in(*r, job.spec->uid, job.spec->account, job.spec->qos))
    return fail(ErrorCode::ReservationDenied, fmt::format("reservation {} is not for job {}", r->name, job.id.value));
  return {};
}

// Whether a job that runs in `entry` (null: in none) must keep off what the other one has reserved.
bool keeps_out(const model::Reservation& other, const model::Reservation* entry) {
  if (!entry) return true;
  if (&other == entry || entry->has(model::kResvMaint)) return false;
  return !entry->has(model::kResvOverlap) || other.has(model::kResvMaint);
}

// A plan may be older than a reservation. The plan itself is exact; a few seconds that it took to get here are none
// of the job's fault.
Status is_not_reserved(const model::View& view, TimeLimit limit, const model::Allocation& allocation, Time now) {
  const model::Reservation* entry =
      allocation.reservation.empty() ? nullptr : model::find_reservation(view, allocation.reservation);
  for (const model::Reservation& r : *view.reservations) {
    if (!keeps_out(r, entry)) continue;
    const model::Occurrence when = model::occurrence_after(r, now);
    const bool meets = is_set(when.end) && (!limit.is_finite() || when.start + seconds(5) < now + limit.duration());
    if (!meets) continue;
    for (const model::NodeGrant& grant : allocation.nodes) {
      const auto at = std::ranges::lower_bound(r.nodes, grant.node, {}, &model::ReservedNode::node);
      if (at != r.nodes.end() && at->node == grant.node && at->whole())
        return fail(ErrorCode::NodesBusy, fmt::format("a node is reserved by {}", r.name));
    }
  }
  return {};
}

}  // namespace

Status Applier::check_start(const StartJob& command) const {
  const Job* found = model::find_job(view, command.job);
  if (!found) return fail(ErrorCode::InvalidJobId, fmt::format("Invalid job id specified: {}", command.job.value));
  SPUR_TRY(may_start(*found, command, cluster.index_.tally(found->array_job), now));
  SPUR_TRY(can_take_licenses(config(), cluster.index_, found->spec->licenses));
  if (!command.allocation || command.allocation->nodes.empty())
    return fail(ErrorCode::InvalidArgument, "an allocation without nodes");
  const model::Allocation& allocation = *command.allocation;
  SPUR_TRY(may_enter(view, *found, allocation));
  SPUR_TRY(may_run_for(*found, command.limit));
  const TimeLimit limit = command.limit.is_set() ? command.limit : found->time_limit;
  SPUR_TRY(is_not_reserved(view, limit, allocation, now));
  if (found->association != 0) {
    const auto question = model::limit_question(view, *found->spec, found->association, allocation, limit);
    if (const auto over = model::limit_at_start(view, view.tallies, question, now); over != model::Reason::None)
      return fail(ErrorCode::ResourceLimit,
                  fmt::format("job {} is over a limit ({})", found->id.value, model::reason_name(over)));
  }
  const Sharing sharing = sharing_of(*found, allocation.partition);
  const bool memory_counts = config().memory_as == model::MemoryAs::Consumable;
  for (std::size_t i = 0; i < allocation.nodes.size(); ++i) {
    const model::NodeGrant& grant = allocation.nodes[i];
    if (i > 0 && grant.node <= allocation.nodes[i - 1].node)
      return fail(ErrorCode::InvalidArgument, "an allocation's nodes must be in ascending order");
    const model::NodePtr* node = view.nodes.find(grant.node.value);
    if (!node) return fail(ErrorCode::InvalidNode, fmt::format("there is no node number {}", grant.node.value));
    if (!(*node)->usable()) return fail(ErrorCode::NodesBusy, fmt::format("node {} is not available", (*node)->name));
    SPUR_TRY(can_take(**node, grant, memory_counts, shareable_cpus(**node, *found, allocation)));
    SPUR_TRY(can_join(**node, *found, sharing));
  }
  return {};
}

// All of a heterogeneous job, on nodes of which each component has its own; so that what holds for each by itself
// holds for all, apart from licenses.
Status Applier::check_het_start(const StartJob& command) const {
  const Job* leader = model::find_job(view, command.job);
  if (!leader || leader->het_job != leader->id || leader->het_size != command.others.size() + 1)
    return fail(ErrorCode::NotWholeHetJob, std::string(slurm_message(ErrorCode::NotWholeHetJob)));
  std::vector<model::LicenseRequest> licenses;
  std::set<NodeIndex> nodes;
  for (std::uint32_t i = 0; i < leader->het_size; ++i) {
    StartJob one{command.job, {}, command.allocation, command.limit};
    if (i > 0) one = {command.others[i - 1].job, {}, command.others[i - 1].allocation, command.others[i - 1].limit};
    if (one.job.value != leader->id.value + i)
      return fail(ErrorCode::InvalidArgument, "the components of a heterogeneous job are not in order");
    SPUR_TRY(check_start(one));
    const auto& asked = model::find_job(view, one.job)->spec->licenses;
    licenses.insert(licenses.end(), asked.begin(), asked.end());
    for (const model::NodeGrant& grant : one.allocation->nodes)
      if (!nodes.insert(grant.node).second)
        return fail(ErrorCode::InvalidArgument, "components of a heterogeneous job cannot share a node");
  }
  return can_take_licenses(config(), cluster.index_, licenses);
}

Outcome Applier::apply(const StartJob& command) {
  const Job* found = model::find_job(view, command.job);
  const bool het = !command.others.empty() || (found && found->het_job);
  if (auto ok = het ? check_het_start(command) : check_start(command); !ok) return refused(ok.error());
  Outcome outcome = start_checked(command);
  for (const StartJob::Component& other : command.others)
    outcome.jobs.push_back(start_checked({other.job, {}, other.allocation, other.limit}).job);
  return outcome;
}

Outcome Applier::start_checked(const StartJob& command) {
  const Job* found = model::find_job(view, command.job);
  const model::Allocation& allocation = *command.allocation;
  const TimeLimit limit = command.limit.is_set() ? command.limit : found->time_limit;
  const Sharing sharing = sharing_of(*found, allocation.partition);
  std::optional<Job> split;
  if (found->is_array_rest()) {
    split = split_task(command.job, *command.array_task);
    if (!split) return refused(ErrorCode::TooManyJobs, "all job ids are in use");
  }
  Job job = split ? *std::move(split) : Job(*found);
  // The claim of an array is for one task.
  if (const Job* rest = model::find_job(view, command.job); job.id != command.job && rest->claim) {
    Job others = *rest;
    forget_claim(others);
    put(std::move(others), true);
  }
  job.state = model::JobState::Running;
  job.flags &= ~(model::kSpecialExit | model::kSharesCores);
  const model::Partition* partition = model::find_partition(view, allocation.partition);
  if (partition && model::jobs_per_core(partition->config, *job.spec) > 1) job.flags |= model::kSharesCores;
  job.reason = model::Reason::None;
  job.reason_detail.clear();
  job.started = job.counted_from = now;
  job.time_limit = limit;
  job.last_eval = now;
  forget_claim(job);
  job.allocation = command.allocation;
  job.cpus_allocated = allocation.total_cpus();
  job.nodes_left.clear();
  for (const model::NodeGrant& grant : allocation.nodes) {
    model::Node node = node_copy(grant.node);
    take(node, grant, job.id, sharing == Sharing::Alone, shareable_cpus(node, job, allocation));
    node.last_busy = now;
    if (job.nodes_left.empty()) job.batch_host = node.name;
    job.nodes_left.push_back(grant.node);
    put_node(std::move(node));
  }
  job.last_nodes = model::node_list(view, job.nodes_left);
  if (waits_for_nodes(job)) job.flags |= model::kConfiguring;
  emit(LaunchJob{job.id, job.epoch});
  const JobId id = job.id;
  put(std::move(job));
  started(*model::find_job(view, id));
  return {.status = {}, .job = id, .repeated = false, .jobs = {id}};
}

}  // namespace spur::state
