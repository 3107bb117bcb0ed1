// SPDX-License-Identifier: Apache-2.0
// ReleaseJob: ends any hold. Who may release whose hold is the caller's business. A priority that an administrator
// had given after the submit is not restored, as in Slurm; one given at submit is.
#include "state/apply.h"

namespace spur::state {

using model::Job;

void Applier::release(Job& job) const {
  if (job.hold == model::Hold::None) return;
  job.hold = model::Hold::None;
  job.priority = job.spec->priority.value_or(1);
  if (job.priority == 0) job.priority = 1;  // sbatch --priority=0 was a hold, nothing else
  job.priority_by_hand = job.spec->priority.value_or(0) > 0;
  job.flags &= ~(model::kSpecialExit | model::kResvDelHold);
  job.reason_detail.clear();
  if (is_waiting(job)) settle_pending(job);
}

Outcome Applier::apply(const ReleaseJob& command) {
  const auto check = [](const Job& job) -> Status {
    if (model::is_final(job.state)) return fail(ErrorCode::JobFinished, "Job has already finished");
    return {};
  };
  return on_targets(command.target, check, [&](Job job) {
    release(job);
    put(std::move(job));
  });
}

}  // namespace spur::state
