// SPDX-License-Identifier: Apache-2.0
// Cores that several jobs have at once (OverSubscribe=FORCE and YES). Only jobs of one partition that run in the same
// reservation, or in none, share with each other; whether a run may is settled when it starts (kSharesCores), so that a
// change of the configuration meets only those that start later. Memory and devices are never shared.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "model/view.h"

namespace spur::model {

// How many jobs at most may have a core that a job of that specification has there; 1: nobody beside it.
std::uint32_t jobs_per_core(const PartitionConfig& partition, const JobSpec& spec);

// Whether a run shares its cores with those that run by `allocation` and may share.
bool shares_with(const Job& run, const Allocation& allocation);

// Calls f(job, grant) for those on the node that share cores with whoever runs there by `allocation` and have theirs
// now; not for `but`.
template <class F>
void for_each_sharer(const View& view, const Node& node, const Allocation& allocation, JobId but, F&& f) {
  for (const JobId id : node.jobs) {
    if (id == but) continue;
    const Job* job = find_job(view, id);
    if (!job || !shares_with(*job, allocation) || is_set(job->suspended_at)) continue;
    for (const NodeGrant& grant : job->allocation->nodes)
      if (grant.node == node.index) f(*job, grant);
  }
}

// By CPU: how many of them have it.
std::vector<std::uint32_t> sharers_by_cpu(const View& view, const Node& node, const Allocation& allocation, JobId but);

}  // namespace spur::model
