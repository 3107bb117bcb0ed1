// SPDX-License-Identifier: Apache-2.0
// One step from start to end: streams, signals, exits. cmd_srun.cc finds or makes the job, this runs the program in
// it.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/job_options.h"

namespace spur::cli {

// `program`: argv of the tasks. Returns srun's exit status.
int run_step(Context& context, Controller& controller, const JobRequest& request,
             const std::vector<std::string>& program, JobId job);

}  // namespace spur::cli
