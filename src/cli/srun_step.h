// SPDX-License-Identifier: Apache-2.0
// One step from start to end: streams, signals, exits. cmd_srun.cc finds or makes the job, this runs the program in
// it. Steps in several components of a heterogeneous job run as one, with a process of srun's for each.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/job_options.h"

namespace spur::cli {

struct StepOrder {
  const JobRequest* request = nullptr;
  std::vector<std::string> program;  // argv of the tasks
  JobId job;                         // or a component of one
};

// `leader`: the job that all of them belong to. Returns srun's exit status, the highest of all.
int run_steps(Context& context, Controller& controller, const std::vector<StepOrder>& orders, JobId leader);

}  // namespace spur::cli
