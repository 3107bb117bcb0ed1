// SPDX-License-Identifier: Apache-2.0
// From a step's start message and the job it is part of to the plans of its tasks on this node. Decides; starts
// nothing.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/agent_message.h"
#include "os/cpu_map.h"
#include "os/privileges.h"
#include "stepd/job_environment.h"
#include "stepd/task.h"

namespace spur::v1 {
class StepStart;
}

namespace spur::stepd {

struct StepSource {
  const model::ControllerLaunch& launch;  // as this node holds it
  const os::Identity& identity;
  const v1::StepStart& start;
  const std::vector<std::string>& of_node;
  std::string token;  // entry that marks the job's processes
  const os::CpuMap& cpus;
  const TaskHooks& hooks;  // of the site
  std::string_view gpu_cores;  // os/gpu_places.h
};
struct StepPlan {
  StepLayout layout;
  std::vector<TaskPlan> tasks;  // of this node, by local id; files only where they are opened on the node
  std::string node;
  std::vector<model::DeviceGrant> devices;  // of the job's, those that the step has
};
// StepTooLarge: tasks cannot be bound to CPUs as they are told.
Result<StepPlan> plan_step(const StepSource& source);

}  // namespace spur::stepd
