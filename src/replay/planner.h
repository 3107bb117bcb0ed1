// SPDX-License-Identifier: Apache-2.0
// The one place where a replay meets the scheduler.
#pragma once

#include "sched/engine.h"

namespace spur::replay {

class Planner {
 public:
  explicit Planner(const sched::Params& params) : engine_(params) {}
  sched::Plan plan(const model::View& view, Time now) {
    engine_.see(view);
    return engine_.plan(now);
  }
  // Where nobody left and nothing was changed, jobs only came: what is planned stays.
  sched::Plan respond(const model::View& view, Time now) {
    engine_.see(view);
    return engine_.respond(now);
  }

 private:
  sched::Engine engine_;
};

}  // namespace spur::replay
