// SPDX-License-Identifier: Apache-2.0
// One batch script from its record in the spool to its end in that record. Runs in a process of its own that outlives
// the agent:
//
//   prepare --> script runs --> script has ended --> what it left behind is killed --> end recorded --> exit
//      |            ^ orders: TERM, KILL, signals, suspend
//      +-- cannot (user, files, cgroup): recorded as a failed launch, nothing was run
//
// Whatever happens the record gets an end; only a crash of this very process leaves it without, which the agent then
// notices.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "os/confinement.h"
#include "os/privileges.h"
#include "os/spool.h"
#include "os/unique_fd.h"
#include "stepd/task_prolog.h"

namespace spur::stepd {

struct BatchInput {
  std::string directory;             // of the run, in the spool
  os::RunFile record;                // locked by us
  os::UniqueFd orders;               // os/step_control.h
  os::Identity identity;             // of the job's user, looked up by the agent
  std::vector<std::string> of_node;  // entries for every job's environment
  os::CgroupLimits limits;           // of the job on this node
  Duration sample_every{0};
  std::string token;       // of the spool, see os::run_token
  std::string containers;  // os::encode_container_settings
  TaskHooks hooks{};       // of the site
  int agent = 0;           // its pid; while it lives, it makes the end durable
};

// Returns when the end is recorded.
void run_batch(BatchInput input);

}  // namespace spur::stepd
