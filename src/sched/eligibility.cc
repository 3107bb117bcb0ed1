// SPDX-License-Identifier: Apache-2.0
#include "sched/eligibility.h"

#include <algorithm>

#include "sched/feasibility.h"
#include "sched/placement.h"

namespace spur::sched {
namespace {

using model::Reason;

// Reasons that come with a hold; whoever held the job has chosen among them.
bool explains_hold(Reason reason) {
  return reason == Reason::JobHeldAdmin || reason == Reason::JobHeldUser || reason == Reason::JobHoldMaxRequeue ||
         reason == Reason::LaunchFailedRequeuedHeld;
}

// Why a request that does not fit on the usable nodes does not: too large for the partition, wishes that no nodes of it
// satisfy, or nodes that are not there at the moment.
Reason why_not(const model::Partition& partition, const Request& request, const Capacity& capacity) {
  std::vector<NodeNumber> all;
  for (const NodeIndex node : partition.nodes) all.push_back(node.value);
  if (!fits_when_empty(size_of(request), capacity, all)) return Reason::PartitionConfig;
  if (!fits_when_empty(request, capacity, all)) return Reason::BadConstraints;
  const bool required_missing = std::ranges::any_of(request.required, [&](NodeNumber node) { return !capacity.usable(node); });
  return required_missing ? Reason::ReqNodeNotAvail : Reason::NodeDown;
}

}  // namespace

Request size_of(const Request& request) {
  Request size = request;
  size.memory = MemoryNeed::None;
  size.tmp_disk_mib = 0;
  size.gres_per_node.clear();
  size.gres_per_task.clear();
  size.gres_per_job.clear();
  size.features = {};
  size.required.clear();
  size.excluded.clear();
  return size;
}

Reason own_reason(const model::Job& job, Time now) {
  if (job.hold != model::Hold::None) {
    if (explains_hold(job.reason)) return job.reason;
    return job.hold == model::Hold::Admin ? Reason::JobHeldAdmin : Reason::JobHeldUser;
  }
  if (job.dependency_never) return Reason::DependencyNeverSatisfied;
  if (!job.dependencies_left.empty()) return Reason::Dependency;
  if (begin_of(job) > now) return Reason::BeginTime;
  return Reason::None;
}

Time begin_of(const model::Job& job) {
  return std::max(job.spec->begin, job.eligible);
}

Reason limit_reason(const model::PartitionConfig& partition, const Request& request) {
  if (partition.state == model::PartitionState::Down) return Reason::PartitionDown;
  if (partition.state == model::PartitionState::Inactive) return Reason::PartitionInactive;
  if (request.min_nodes > request.max_nodes) return Reason::PartitionNodeLimit;
  const TimeLimit most = partition.max_time;
  if (most.is_finite() && (!request.limit.is_finite() || request.limit.minutes_value() > most.minutes_value()))
    return Reason::PartitionTimeLimit;
  return Reason::None;
}

bool fits_when_empty(const Request& request, const Capacity& capacity, const std::vector<NodeNumber>& nodes) {
  std::vector<Offer> offers;
  std::uint64_t tasks = 0;
  std::size_t required = 0;
  for (const NodeNumber node : nodes) {
    if (!node_allowed(request, capacity, node)) continue;
    Offer offer = make_offer(request, capacity, node, capacity.total(node));
    if (offer.tasks == 0) continue;
    tasks += offer.tasks;
    required += std::ranges::binary_search(request.required, node);
    offers.push_back(offer);
  }
  if (offers.size() < request.min_nodes || required < request.required.size()) return false;
  if (request.tasks_fixed && tasks < request.tasks) return false;
  // With no upper limit on nodes, enough in all is enough.
  if (request.gres_per_job.empty() && (request.max_nodes == kNoLimit || !request.tasks_fixed)) return true;
  return !choose(request, offers).empty();
}

Candidates find_candidates(const model::Partition& partition, const Request& request, const Capacity& capacity) {
  Candidates found;
  found.nodes.reserve(partition.nodes.size());
  for (const NodeIndex node : partition.nodes) {
    const NodeNumber n = node.value;
    if (capacity.usable(n) && node_allowed(request, capacity, n) &&
        tasks_that_fit(request, capacity, n, capacity.total(n)) > 0)
      found.nodes.push_back(n);
  }
  if (!fits_when_empty(request, capacity, found.nodes)) found.reason = why_not(partition, request, capacity);
  return found;
}

}  // namespace spur::sched
