// SPDX-License-Identifier: Apache-2.0
// srun --bcast: the program goes to the step's nodes before it runs, and is run from there.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/job_options.h"

namespace spur::cli {

// Sends program[0] to `place` and puts its path there in its stead. Returns the exit status, after the messages.
int broadcast_program(Context& context, Controller& controller, const JobRequest& request, JobId job,
                      const wire::FilePlace& place, std::vector<std::string>& program);

}  // namespace spur::cli
