// SPDX-License-Identifier: Apache-2.0
// Whose turn it is: the order of the queue. Partition tier, then priority, then who has aged longer, then the lower
// id.
//
// Priorities change with time, but among jobs that differ in nothing but the time since when they age, the order
// never does: such jobs form a priority group, which is sorted once. The walk merges the fronts of the groups.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>

#include "base/ids.h"
#include "base/time.h"
#include "model/cluster_config.h"
#include "model/job.h"

namespace spur::sched {

// Since when the job ages; not set where age counts nothing, so that ids decide.
Time aging_since(const model::Job& job, const model::ClusterConfig& config);

// Everything of a job's priority that is not its age. Jobs of one class with equal keys are one priority group.
struct PriorityGroupKey {
  bool by_hand = false;
  std::int64_t points = 0;  // set by hand, or --nice
  friend auto operator<=>(const PriorityGroupKey&, const PriorityGroupKey&) = default;
};
PriorityGroupKey priority_group(const model::Job& job);

// A job's place inside its priority group.
struct Turn {
  Time since;
  JobId job;
  std::uint32_t slot = 0;  // the backlog's number of the job
};
struct TurnOrder {
  using is_transparent = void;
  bool operator()(const Turn& a, const Turn& b) const {
    return a.since != b.since ? a.since < b.since : a.job < b.job;
  }
  // For lower_bound: the first turn that is_before is false for.
  template <class IsBefore>
  bool operator()(const Turn& turn, const IsBefore& is_before) const {
    return is_before(turn);
  }
};
using Turns = std::set<Turn, TurnOrder>;

// A job's place in the whole queue, in one of its partitions. The smallest comes first.
struct Position {
  std::uint32_t tier = 0, priority = 0;
  Time since;
  JobId job;
  std::uint32_t nth = 0;  // which of the job's partitions

  friend bool operator<(const Position& a, const Position& b) {
    return std::tie(b.tier, b.priority, a.since, a.job, a.nth) < std::tie(a.tier, a.priority, b.since, b.job, b.nth);
  }
};

}  // namespace spur::sched
