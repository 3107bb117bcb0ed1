// SPDX-License-Identifier: Apache-2.0
// Whose turn it is: the order of the queue. Partition tier, then priority, then who has aged longer, then the lower
// id.
//
// Priorities change with time, but among jobs that differ in nothing but the time since when they age, the order
// never does: such jobs form a priority group, which is sorted once. The walk merges the fronts of the groups.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "base/ids.h"
#include "model/view.h"
#include "sched/priority.h"
#include "sched/turns.h"

namespace spur::sched {

// Everything of a job's priority that is not its age: its points in each of its partitions that exist, in the order
// in which it names them. Jobs of one class with equal keys are one priority group.
using PriorityGroupKey = std::vector<std::int64_t>;

struct Standing {
  PriorityGroupKey points;
  std::int64_t order = 0;  // of Rank
};
Standing standing_of(const model::Job& job, const model::View& view, const PriorityScale& scale);

// A job's place in the whole queue, in one of its partitions. The smallest comes first.
struct Position {
  std::uint32_t tier = 0;
  std::int64_t priority = 0;  // behind: points, without age
  std::int64_t order = 0;
  JobId job;
  std::uint32_t nth = 0;  // which of the job's partitions
  bool behind = false;    // its turn comes when all that may be planned have had theirs
  std::int64_t size = 0;  // counts only behind

  friend bool operator<(const Position& a, const Position& b) {
    return std::tie(a.behind, b.tier, b.priority, a.size, a.order, a.job, a.nth) <
           std::tie(b.behind, a.tier, a.priority, b.size, b.order, b.job, b.nth);
  }
};

}  // namespace spur::sched
