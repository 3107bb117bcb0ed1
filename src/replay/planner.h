// SPDX-License-Identifier: Apache-2.0
// The one place where a replay meets the scheduler.
#pragma once

#include "sched/plan.h"

namespace spur::replay {

class Planner {
 public:
  explicit Planner(const sched::Params& params) : params_(params) {}
  sched::Plan plan(const model::View& view, Time now) { return sched::plan(view, params_, now); }

 private:
  sched::Params params_;
};

}  // namespace spur::replay
