// SPDX-License-Identifier: Apache-2.0
// HoldJob. A running job may be held too: it takes effect if the job is requeued. An administrator's hold is the
// stronger one: a user's hold does not replace it.
#include "state/apply.h"

namespace spur::state {

using model::Hold;
using model::Job;

Outcome Applier::apply(const HoldJob& command) {
  if (command.hold == Hold::None)
    return refused(ErrorCode::InvalidArgument, "a hold must be a user's or an administrator's");
  const auto check = [](const Job& job) -> Status {
    if (model::is_final(job.state)) return fail(ErrorCode::JobFinished, "Job has already finished");
    return {};
  };
  return on_targets(command.target, check, [&](Job job) {
    if (job.hold != Hold::Admin) job.hold = command.hold;
    job.priority = 0;
    if (is_waiting(job)) settle_pending(job);
    put(std::move(job));
  });
}

}  // namespace spur::state
