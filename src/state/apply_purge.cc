// SPDX-License-Identifier: Apache-2.0
// PurgeJobs: forgets finished jobs. A job that is not over (requeued since the leader looked) is left alone.
#include "state/apply.h"

namespace spur::state {

Outcome Applier::apply(const PurgeJobs& command) {
  Outcome outcome;
  for (const JobId id : command.jobs) {
    const model::JobPtr* found = view.jobs.find(id.value);
    if (!found || !is_over(**found)) continue;
    const model::JobPtr job = *found;  // keeps it while it is being taken out of everything
    forget(*job);
    outcome.jobs.push_back(id);
  }
  return outcome;
}

}  // namespace spur::state
