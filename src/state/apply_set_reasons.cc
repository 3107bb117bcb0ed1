// SPDX-License-Identifier: Apache-2.0
// SetReasons: why jobs wait, from one planning cycle. A job that is held or waits for another has its reason from
// that and keeps it; a job that is no longer pending needs none. The expected start is not kept here: it is stale
// after a cycle, and the controller shows it from the plan itself.
#include "state/apply.h"

namespace spur::state {

Outcome Applier::apply(const SetReasons& command) {
  Outcome outcome;
  for (const SetReasons::Row& row : command.rows) {
    const model::JobPtr* found = view.pending.find(row.job.value);
    if (!found) continue;
    const model::Job& before = **found;
    const bool blocked =
        before.hold != model::Hold::None || before.dependency_never || !before.dependencies_left.empty();
    if (blocked || before.reason == row.reason) continue;
    model::Job job = before;
    job.reason = row.reason;
    job.last_eval = now;
    put(std::move(job), true);
    outcome.jobs.push_back(row.job);
  }
  return outcome;
}

}  // namespace spur::state
