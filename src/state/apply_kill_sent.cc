// SPDX-License-Identifier: Apache-2.0
// MarkKillSent: TERM was not enough. The flag SIGNALING beside COMPLETING says that KILL goes out, so that a new
// leader sends KILL and not TERM again.
#include <fmt/format.h>

#include "state/apply.h"

namespace spur::state {

Outcome Applier::apply(const MarkKillSent& command) {
  const model::Job* found = model::find_job(view, command.job);
  if (!found) return refused(ErrorCode::InvalidJobId, fmt::format("Invalid job id specified: {}", command.job.value));
  if (found->epoch != command.epoch)
    return refused(ErrorCode::StaleEpoch, fmt::format("job {} is in another run", command.job.value));
  if (!(found->flags & model::kCompleting) || (found->flags & model::kSignaling)) return {};
  model::Job job = *found;
  job.flags |= model::kSignaling;
  emit(EndJob{job.id, job.epoch, true});
  put(std::move(job));
  return {.status = {}, .job = {}, .repeated = false, .jobs = {command.job}};
}

}  // namespace spur::state
