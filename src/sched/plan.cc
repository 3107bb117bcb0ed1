// SPDX-License-Identifier: Apache-2.0
// The doors of the scheduler. The walk itself is in planner.cc.
#include "sched/plan.h"

#include "sched/planner.h"

namespace spur::sched {

Plan plan(const model::View& view, const Params& params, Time now) {
  return Planner(view, params, now).run();
}

Result<Forecast> will_run(const model::View& view, const model::JobSpec& spec, Time now) {
  SPUR_TRY(check_submit(view, spec));
  const Params params{.max_starts = 0xffffffffu};
  Planner planner(view, params, now);
  planner.run();
  return planner.forecast(spec);
}

}  // namespace spur::sched
