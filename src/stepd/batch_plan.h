// SPDX-License-Identifier: Apache-2.0
// From a launch to the plan of the one process it needs: names of output files, environment, limits. Decides; starts
// nothing.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/agent_message.h"
#include "os/privileges.h"
#include "stepd/job_environment.h"
#include "stepd/task.h"
#include "text/file_pattern.h"

namespace spur::stepd {

struct BatchSource {
  const model::ControllerLaunch& launch;
  const os::Identity& identity;
  std::string script_path;
  const std::vector<std::string>& of_node;
  std::string token;  // entry that marks the job's processes
};
Result<TaskPlan> plan_batch(const BatchSource& source);

// `pattern` with Slurm's letters replaced, as a path: relative ones start at the working directory.
Result<std::string> file_of(std::string_view pattern, std::string_view work_dir, const text::PatternValues& values);

// %N in file names is the host's own name, not the node's in the configuration.
std::string short_host_name();
// Whose GPUs this machine has; Unknown when it has none.
GpuVendor gpu_vendor();

}  // namespace spur::stepd
