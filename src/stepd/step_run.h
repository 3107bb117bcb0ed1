// SPDX-License-Identifier: Apache-2.0
// The tasks of one step on this node: started when the agent's stream brings the start, fed and listened to over it,
// gone when it closes. Messages are those of proto/spur/v1/agent.proto (StepInput in, StepOutput out).
//
//   start --> StepStarted --> StepData ... StepTaskExit of each task --> what they left behind is killed -->
//   StepDone, exit
//     |            ^ stdin, signals, window sizes on the stream; orders of the agent (os/step_control.h)
//     +-- cannot be started: StepError, StepDone
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "os/confinement.h"
#include "os/cpu_map.h"
#include "os/privileges.h"
#include "os/spool.h"
#include "os/unique_fd.h"
#include "stepd/task_prolog.h"

namespace spur::stepd {

struct StepRunInput {
  os::RunFile record;     // of the job, for its launch
  std::string directory;  // of the run, in the spool
  os::UniqueFd orders, stream;
  os::Identity identity;
  std::vector<std::string> of_node;
  os::CgroupLimits limits;  // of the job on this node
  Duration sample_every{0};
  std::string token;
  std::string containers;  // os::encode_container_settings
  TaskHooks hooks{};       // of the site
  std::string gpu_cores{};  // os/gpu_places.h
  os::CpuMap cpus;          // of this machine
};

// Returns when nothing of the step is left.
void run_step(StepRunInput input);

}  // namespace spur::stepd
