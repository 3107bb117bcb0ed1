// SPDX-License-Identifier: Apache-2.0
// Asks an agent which processes of jobs are on its node, and about itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/node.h"

namespace spur::wire {

struct NodeProcesses {
  struct Process {
    std::uint32_t pid = 0;
    JobId job;
    std::string step;                             // "batch", "0"
    std::optional<std::uint32_t> rank, local_id;  // of the first process of a task
  };
  std::string node;
  std::vector<Process> processes;  // by job, step and pid
  std::vector<JobId> jobs;
};
Result<NodeProcesses> list_processes(const std::string& address, Duration timeout);

// The agent itself, as it says.
struct AgentStatus {
  std::string node, log_file;
  model::NodeHardware found;
  Time started, heard;  // heard: the last word of a controller; not set: none
  std::uint32_t pid = 0, debug = 0;
  std::vector<std::string> steps;
};
Result<AgentStatus> ask_agent_status(const std::string& address, Duration timeout);

}  // namespace spur::wire
