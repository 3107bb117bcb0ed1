// SPDX-License-Identifier: Apache-2.0
// RequeueJob: a running, suspended, completing or finished batch job goes back to the queue with a new epoch, at once
// or when its nodes are clean.
#include <fmt/format.h>

#include "state/apply.h"

namespace spur::state {

using model::AfterCompleting;
using model::Job;

Outcome Applier::apply(const RequeueJob& command) {
  if (command.how == AfterCompleting::Stay) return refused(ErrorCode::InvalidArgument, "a requeue must say how");
  if (means_component(command.target))
    return refused(ErrorCode::NotHetJobLeader, std::string(slurm_message(ErrorCode::NotHetJobLeader)));
  const auto check = [&](const Job& job) -> Status {
    if (is_waiting(job)) return fail(ErrorCode::JobPending, "Job is pending execution");
    if (!may_requeue(job)) return fail(ErrorCode::RequestDisabled, "Requested operation is presently disabled");
    // Tasks that were cancelled together, out of a rest that goes on without them, cannot become a second rest.
    if (job.is_array_rest() && job.id != job.array_job)
      return fail(ErrorCode::JobAlreadyDone, "Job/step already completing or completed");
    return {};
  };
  JobTarget whole = command.target;
  whole.het_offset.reset();  // the first component stands for all
  return on_targets(whole, check, [&](Job job) {
    if (job.het_job && is_waiting(job)) return;  // it has gone with the first component
    if (is_over(job)) {
      job.after_completing = command.how;
      if (command.how == AfterCompleting::SpecialExit) job.flags |= model::kSpecialExit;
      job.reason = model::Reason::None;
      back_to_queue(job);
      return put(std::move(job));
    }
    job.reason = model::Reason::None;
    job.cancelled = false;
    const bool was_completing = job.flags & model::kCompleting;
    end_run_to_requeue(job, command.how);
    if (was_completing) return put(std::move(job));  // the nodes have been told already
    close(std::move(job));
  });
}

}  // namespace spur::state
