// SPDX-License-Identifier: Apache-2.0
// The order in which pending jobs are looked at: partition tier, then priority, then age of the id. priority_at() is
// declared in plan.h, because commands show it too.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace spur::sched {

// A job without a priority set by hand starts from here; age adds, --nice subtracts.
inline constexpr std::uint32_t kBasePriority = 100'000;
// One less than Slurm's INFINITE and NO_VAL.
inline constexpr std::uint32_t kMaxPriority = 0xfffffffdu;

// One job in one of its partitions.
struct QueueEntry {
  std::uint32_t tier = 0, priority = 0;
  JobId job;
  std::uint32_t slot = 0;  // the planner's number of the job
  std::uint32_t lane = 0;  // ... of the class of jobs and the partition
  std::uint32_t nth = 0;   // which of the job's partitions
};

// Front of the queue first.
void sort_queue(std::vector<QueueEntry>& queue);

}  // namespace spur::sched
