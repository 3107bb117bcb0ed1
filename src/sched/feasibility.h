// SPDX-License-Identifier: Apache-2.0
// What one node can do for a request: whether it may be used at all, how many of the job's tasks fit into a row of
// free amounts, and what a share of the job takes from it. Nothing here knows about time or about other nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/capacity.h"
#include "sched/device_choice.h"
#include "sched/node_shares.h"
#include "sched/popular_gpus.h"
#include "sched/request.h"

namespace spur::sched {

// Features and temporary disk: what does not change with load, and is alike on all nodes of a kind.
bool node_allowed(const Request& request, const Capacity& capacity, NodeNumber node);

// What a node can give out of a row of free amounts. Small, as there is one per node and lane.
struct Offer {
  NodeNumber node = 0;
  std::uint32_t weight = 0;         // those without what the job prefers come behind all others
  std::uint32_t tasks = 0;          // of the job, at most; 0: the node is of no use
  std::int32_t cpus = 0, gres = 0;  // in all, before the job: what best fit is judged by
  std::int32_t unit = 1;
  std::int64_t growth = 0;   // of what popular GPU jobs cannot use there; known only where it decides
  JobGres job_gres{};        // free of each of Request::gres_per_job
  FeatureBits features = 0;  // of the groups of Request::features
};

// How many tasks fit into `row`, or 0 where the node's own part of the request (CPUs, memory, GRES per node) does
// not.
std::uint32_t tasks_that_fit(const Request& request, const Capacity& capacity, NodeNumber node, const Amount* row);
Offer make_offer(const Request& request, const Capacity& capacity, NodeNumber node, const Amount* row);

// What the node would give of its GPUs to as much of the job as it takes. Its devices have `capacity` shares each.
GpuPart gpu_part(const Request& request, const Offer& offer, Amount capacity);

// CPUs a node gives for so many tasks and so much of the job's GRES, not counting what an exclusive job gets on top.
Amount cpus_for(const Request& request, Amount unit, std::uint32_t tasks, const JobGres& job_gres);

// What the share takes from its node, out of `row`: which devices, and how many CPUs of which socket (node_shares.h).
void take_of_share(const Request& request, const Capacity& capacity, const Share& share, std::uint64_t rails,
                   const Amount* row, Amount* take);
// The numbers of GPUs that all nodes of a job can give it; row_of(share) is what is free there.
template <class RowOf>
std::uint64_t common_rails(const Request& request, const Capacity& capacity, std::span<const Share> shares,
                           RowOf row_of) {
  if (shares.size() < 2 || request.exclusive || !request.wants_gres()) return kAllRails;
  std::uint64_t rails = kAllRails;
  for (const Share& share : shares)
    rails &= free_gpus(capacity.layout(share.node), capacity.total(share.node), row_of(share));
  return rails;
}

}  // namespace spur::sched
