// SPDX-License-Identifier: Apache-2.0
// PurgeJobs: forgets finished jobs. A job that is not over (requeued since the leader looked) is left alone, and so
// is a component as long as another one is not over: the whole may be requeued.
#include "state/apply.h"

namespace spur::state {

Outcome Applier::apply(const PurgeJobs& command) {
  Outcome outcome;
  for (const JobId id : command.jobs) {
    const model::JobPtr* found = view.jobs.find(id.value);
    if (!found || !is_over(**found) || !all_components_over(**found)) continue;
    const model::JobPtr job = *found;  // keeps it while it is being taken out of everything
    // All components go at once: what is left of a heterogeneous job could not be requeued.
    std::vector<JobId> all = components_of(*job);
    if (all.empty()) all.push_back(id);
    for (const JobId one : all) {
      const model::JobPtr record = *view.jobs.find(one.value);
      forget(*record);
      outcome.jobs.push_back(one);
    }
  }
  return outcome;
}

}  // namespace spur::state
