// SPDX-License-Identifier: Apache-2.0
// The doors for those who ask once.
#include "sched/plan.h"

#include <utility>

#include "sched/engine.h"

namespace spur::sched {

Params settled(Params params, const model::ClusterConfig& config) {
  if (!std::exchange(params.as_configured, false)) return params;
  params.promises = config.promised_jobs;
  params.patience = config.promise_after;
  params.backfill = config.backfill_order;
  params.forecasts = config.planned_jobs;
  return params;
}

Plan plan(const model::View& view, const Params& params, Time now) {
  Engine engine(params);
  engine.see(view);
  return engine.plan(now);
}

Result<Forecast> will_run(const model::View& view, const model::JobSpec& spec, Time now) {
  SPUR_TRY(check_submit(view, spec));
  Engine engine({.max_starts = 0xffffffffu, .as_configured = true});
  engine.see(view);
  engine.plan(now);
  return engine.forecast(spec);
}

}  // namespace spur::sched
