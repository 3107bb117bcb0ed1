// SPDX-License-Identifier: Apache-2.0
// What this machine has, as an agent reports it: the machine's, not this process's share of it (a cgroup or an
// affinity mask of the agent does not make the node smaller), counted the way slurmd -C counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/node.h"

namespace spur::os {

struct Machine {
  model::NodeHardware hardware;            // without gres
  std::vector<std::uint32_t> cpu_numbers;  // the kernel's number of each CPU, by ours: socket by socket, core by core
  std::string hostname;                    // up to the first dot
  std::string os;                          // "Linux 6.1.0-18-amd64 #1 SMP ...", as uname gives it
  std::string arch;                        // "x86_64"
  Time boot_time;
};

struct HardwareOptions {
  std::string tmp_dir = "/tmp";  // the file system that counts as temporary disk
  // For tests and demos: a machine in hwloc's words ("pack:2 core:8 pu:2") in place of this one's processors.
  std::string synthetic;
};

Result<Machine> discover_machine(const HardwareOptions& options = {});

// How busy it is right now; goes with each heartbeat.
struct MachineLoad {
  std::uint32_t load_hundredths = 0;  // 1-minute load average x 100
  std::uint64_t free_memory_mib = 0;  // wholly unused, as Slurm's FreeMem
};
MachineLoad sample_load();

}  // namespace spur::os
