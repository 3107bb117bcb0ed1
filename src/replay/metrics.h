// SPDX-License-Identifier: Apache-2.0
// How good a schedule was. Waits in seconds; bounded slowdown is (wait + run) / max(run, 10 s), at least 1.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "replay/outcome.h"
#include "replay/workload.h"

namespace spur::replay {

// Of a group of jobs.
struct WaitFigures {
  std::size_t jobs = 0;
  double wait_mean = 0, wait_median = 0, wait_p95 = 0, wait_max = 0;
  double slowdown_mean = 0, slowdown_p95 = 0;
  double processor_hours = 0;
};

struct Metrics {
  WaitFigures all;
  std::size_t not_started = 0;
  double utilisation = 0;  // processors in use, from the first submission to the last end
  double makespan_seconds = 0;
  // The widest tenth: all jobs at least as wide as the one that closes it.
  std::uint32_t widest_from = 0;
  double widest_wait_max = 0, widest_wait_mean = 0;
  // The largest job that could have started, over time: free processors.
  double free_mean = 0;
  std::uint32_t free_max = 0;
  std::map<std::int32_t, WaitFigures> by_user, by_partition;
};

Metrics measure(const Workload& workload, const Outcome& outcome);

// Processors in use from that moment on, until the next row. Ascending; the last row is 0 when all have ended.
struct Load {
  Time from;
  std::uint32_t processors = 0, waiting = 0;  // waiting: jobs
};
std::vector<Load> load_curve(const Workload& workload, const Outcome& outcome);

}  // namespace spur::replay
