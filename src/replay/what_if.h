// SPDX-License-Identifier: Apache-2.0
// The future of a cluster as it stands: running jobs end at their limits, waiting ones start as the planner says and
// run as long as they asked for. Nobody else comes, every job ends well, no node fails; jobs that are held or wait
// for a failure stay where they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/view.h"
#include "replay/outcome.h"
#include "sched/plan.h"

namespace spur::replay {

// A View out of tables. What nodes have in use is counted anew from the jobs, so that tables that were asked for one
// after the other agree.
Result<model::View> view_of(const std::vector<model::NodePtr>& nodes, const std::vector<model::Partition>& partitions,
                            const model::ClusterConfig& config, const std::vector<model::JobPtr>& jobs);

// Adds `count` nodes like that one, to all its partitions, with names that are not taken. Takes nodes out of service.
void add_nodes(model::View& view, NodeIndex like, std::uint32_t count);
void drain_node(model::View& view, NodeIndex node);

struct WhatIfOptions {
  sched::Params params;
  Time now;
  Time until;                           // not set: until nothing happens any more
  std::size_t most_starts = 1'000'000;  // an array may have millions of tasks
  Progress progress;
};

struct FutureStart {
  model::JobPtr job;  // as it started: the task of an array by itself, with its allocation
  Time end;           // not set: never, it has no limit
};
struct WhatIf {
  std::vector<FutureStart> running;    // at the beginning
  std::vector<FutureStart> starts;     // in order of time
  std::vector<model::JobPtr> waiting;  // at the end, or until their deadline and the like, with their reasons
  Time ended;
  bool cut_off = false;  // most_starts were reached
};

WhatIf look_ahead(model::View view, const WhatIfOptions& options);

}  // namespace spur::replay
