// SPDX-License-Identifier: Apache-2.0
// Steps that run, as squeue -s and scontrol show step tell of them. The controller knows nothing of steps: the agents
// of the jobs' first nodes are asked.
#pragma once

#include <optional>
#include <string>
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

struct RunningStep {
  wire::StepInfo info;
  model::JobPtr job;
  std::string id() const;  // "5.0", "5_3.0" of a task of an array, "5+1.0" of a component
};
// By any of a job's names: "5.0", "5_3.0", "5+1.0"; without a step: all of the job.
struct StepPick {
  JobId job;
  std::optional<std::uint32_t> array_task, het_offset, step;
  bool is(const RunningStep& running) const;
};
std::optional<StepPick> parse_step_pick(std::string_view text);

// Of the jobs that the filter picks, in order; with nodes in the filter, only steps on them. Agents that do not
// answer are left out.
Result<std::vector<RunningStep>> running_steps(Controller& controller, wire::JobFilter filter);
bool among(const RunningStep& step, const std::vector<StepPick>& picks);  // no picks: any

}  // namespace spur::cli
