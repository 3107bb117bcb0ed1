// SPDX-License-Identifier: Apache-2.0
// Steps that run, as squeue -s and scontrol show step tell of them. The controller knows nothing of steps: the agents
// of the jobs' first nodes are asked.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cli/controller.h"

namespace spur::cli {

struct StepTarget {
  JobId job;
  std::optional<std::uint32_t> step;  // none: all of the job
};
// "5.0", "5".
std::optional<StepTarget> parse_step_target(std::string_view text);

// Of the jobs that the filter picks, in order. Agents that do not answer are left out.
Result<std::vector<wire::StepInfo>> running_steps(Controller& controller, wire::JobFilter filter);
bool among(const wire::StepInfo& step, const std::vector<StepTarget>& targets);  // no targets: any

}  // namespace spur::cli
