// SPDX-License-Identifier: Apache-2.0
// An allocation that a command holds for as long as it runs: srun without a job around it, and salloc. Needs a
// SignalWatch: signals end the waiting.
#pragma once

#include <expected>
#include <vector>

#include "cli/context.h"
#include "model/job_spec.h"

namespace spur::cli {

// The job as it stands, or an error when it is gone.
Result<model::JobPtr> look_at_job(Controller& controller, JobId id);

// The job, which runs now, or the exit status after the messages. A job that starts at once says nothing; one that
// has to wait says so.
std::expected<JobId, int> allocate(Context& context, Controller& controller,
                                   const std::vector<model::JobSpec>& specs);

// `status`: what the command exits with, for the job's record.
void give_back(Context& context, Controller& controller, JobId job, int status);

}  // namespace spur::cli
