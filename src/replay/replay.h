// SPDX-License-Identifier: Apache-2.0
// A workload through the real planner in virtual time: time jumps from one submission or end to the next, and
// whenever somebody waits the planner is asked, as the controller asks it.
#pragma once

#include <functional>
#include <optional>

#include "replay/outcome.h"
#include "replay/workload.h"
#include "sched/plan.h"

namespace spur::replay {

struct ReplayOptions {
  sched::Params params;
  Time until;  // not set: until all have ended
  Progress progress;
  std::function<double()> stopwatch;  // seconds of real time, for Outcome; empty: not measured
};

Outcome replay(const Workload& workload, const ReplayOptions& options);

}  // namespace spur::replay
