// SPDX-License-Identifier: Apache-2.0
// What came of a replay: when each job started and ended. All figures are computed from it (metrics.h, picture.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/time.h"

namespace spur::replay {

struct JobOutcome {
  Time start, end;         // not set: not started before the replay ended
  std::uint32_t node = 0;  // the first of its nodes
};

struct Outcome {
  std::vector<JobOutcome> jobs;                    // beside Workload::jobs
  Time ended;                                      // the last moment looked at
  std::uint64_t plans = 0;                         // calls of the planner
  double planning_seconds = 0, total_seconds = 0;  // of real time
};

// Called now and then with the share that is done, 0 to 1. May be empty.
using Progress = std::function<void(double)>;

}  // namespace spur::replay
