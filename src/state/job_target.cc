// SPDX-License-Identifier: Apache-2.0
#include "state/job_target.h"

namespace spur::state {

bool means(const JobTarget& target, const model::Job& job) {
  if (!target.tasks && job.het_job && job.het_job == target.id)
    return !target.het_offset || job.het_offset == *target.het_offset;
  if (target.het_offset) return false;
  if (!target.tasks) return job.id == target.id || (job.array_job && job.array_job == target.id);
  if (job.array_job != target.id) return false;
  if (job.is_array_rest()) return !job.array_pending->intersect(*target.tasks).empty();
  return job.array_task && target.tasks->contains(*job.array_task);
}

}  // namespace spur::state
