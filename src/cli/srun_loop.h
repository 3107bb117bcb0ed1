// SPDX-License-Identifier: Apache-2.0
// What srun does while its step runs: input and output pass by, signals are passed on or end it, what becomes of the
// tasks is told.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "cli/context.h"
#include "cli/job_options.h"
#include "cli/srun_streams.h"
#include "cli/step_runner.h"

namespace spur::cli {

struct AttendedStep {
  Context& context;
  const JobRequest& request;
  StepRunner& runner;
  StepStreams& streams;
  JobId job;
  std::uint32_t tasks;
  const std::optional<wire::HetStep>& het;
};

// The tasks of an MPI program cannot go on without one of them.
bool ends_on_bad_exit(const JobRequest& request);

// Starts the step and attends to it until it is over: srun's exit status. An error is one of `start`.
Result<int> attend_step(const AttendedStep& step, const std::function<Status(const wire::StepEvents&)>& start);

}  // namespace spur::cli
