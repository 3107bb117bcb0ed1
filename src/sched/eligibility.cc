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
         reason == Reason::LaunchFailedRequeuedHeld || reason == Reason::ReservationDeleted;
}

// Why a request that does not fit on the usable nodes does not: too large for the partition, wishes that no nodes of
// it satisfy, or nodes that are not there at the moment.
Reason why_not(const model::Partition& partition, const Request& request, const Capacity& capacity) {
  std::vector<NodeNumber> all;
  for (const NodeIndex node : partition.nodes) all.push_back(node.value);
  if (!fits_when_empty(size_of(request), capacity, all)) return Reason::PartitionConfig;
  if (!fits_when_empty(request, capacity, all)) return Reason::BadConstraints;
  return Reason::ReqNodeNotAvail;  // Slurm says so whether or not the nodes were asked for by name
}

}  // namespace

Request size_of(const Request& request) {
  Request size = request;
  size.memory = MemoryNeed::None;
  size.tmp_disk_mib = 0;
  size.min_sockets = size.min_cores = size.min_threads = 0;
  size.gres_per_node.clear();
  size.gres_per_task.clear();
  size.gres_per_job.clear();
  size.features = {};
  size.contiguous = false;
  size.most_leaves = size.segment = 0;
  size.required.clear();
  size.excluded.clear();
  size.task_nodes.clear();
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

Time relaxes_at(const model::View& view, const model::Job& job) {
  return job.spec->switches == 0 ? Time::max() : begin_of(job) + leaf_wait(view, *job.spec);
}

Reason limit_reason(const model::PartitionConfig& partition, const Request& request) {
  if (partition.state == model::PartitionState::Down) return Reason::PartitionDown;
  if (partition.state == model::PartitionState::Inactive) return Reason::PartitionInactive;
  if (request.min_nodes > request.max_nodes) return Reason::PartitionNodeLimit;
  const TimeLimit most = partition.max_time;
  if (!request.any_time && most.is_finite() &&
      (!request.limit.is_finite() || request.limit.minutes_value() > most.minutes_value()))
    return Reason::PartitionTimeLimit;
  return Reason::None;
}

namespace {

// What a node of each kind can do for the request while it is empty; worked out once per kind.
class EmptyNodes {
 public:
  EmptyNodes(const Request& request, const Capacity& capacity)
      : request_(request), capacity_(capacity), known_(capacity.kinds()), tasks_(capacity.kinds()) {}

  std::uint32_t tasks(NodeNumber node) {
    const std::uint32_t kind = capacity_.kind(node);
    if (!known_[kind]) {
      known_[kind] = true;
      if (node_allowed(request_, capacity_, node))
        tasks_[kind] = tasks_that_fit(request_, capacity_, node, capacity_.total(node));
    }
    if (tasks_[kind] == 0 || std::ranges::binary_search(request_.excluded, node)) return 0;
    return tasks_[kind];
  }

 private:
  const Request& request_;
  const Capacity& capacity_;
  std::vector<std::uint8_t> known_;
  std::vector<std::uint32_t> tasks_;
};

}  // namespace

bool listed_suffice(const Request& request, const Capacity& capacity) {
  std::vector<Offer> offers;
  for (const NodeNumber node : request.required) {
    offers.push_back(make_offer(request, capacity, node, capacity.total(node)));
    if (offers.back().tasks == 0) return false;
  }
  return !choose(request, offers).empty();
}

namespace {

// Whether nodes that offer something when empty are enough together.
bool suffice(const Request& request, const Capacity& capacity, const std::vector<NodeNumber>& nodes,
             std::uint64_t tasks) {
  if (nodes.size() < request.min_nodes || !std::ranges::includes(nodes, request.required)) return false;
  if (!request.task_nodes.empty()) return listed_suffice(request, capacity);
  if (request.tasks_fixed && tasks < request.tasks) return false;
  // With no upper limit on nodes, enough in all is enough.
  if (request.gres_per_job.empty() && request.places_freely() &&
      (request.max_nodes == kNoLimit || !request.tasks_fixed))
    return true;
  std::vector<Offer> offers;
  for (const NodeNumber node : nodes) offers.push_back(make_offer(request, capacity, node, capacity.total(node)));
  return !choose(request, offers).empty();
}

}  // namespace

bool fits_when_empty(const Request& request, const Capacity& capacity, const std::vector<NodeNumber>& nodes) {
  EmptyNodes empty(request, capacity);
  std::vector<NodeNumber> useful;
  std::uint64_t all_tasks = 0;
  for (const NodeNumber node : nodes) {
    const std::uint32_t tasks = empty.tasks(node);
    if (tasks == 0) continue;
    all_tasks += tasks;
    useful.push_back(node);
  }
  return suffice(request, capacity, useful, all_tasks);
}

Candidates find_candidates(const model::Partition& partition, const Request& request, const Capacity& capacity) {
  Candidates found;
  EmptyNodes empty(request, capacity);
  std::uint64_t all_tasks = 0;
  found.nodes.reserve(partition.nodes.size());
  for (const NodeIndex index : partition.nodes) {
    const NodeNumber node = index.value;
    const std::uint32_t tasks = capacity.usable(node) ? empty.tasks(node) : 0;
    if (tasks == 0) continue;
    all_tasks += tasks;
    found.nodes.push_back(node);
  }
  if (!suffice(request, capacity, found.nodes, all_tasks)) found.reason = why_not(partition, request, capacity);
  return found;
}

}  // namespace spur::sched
