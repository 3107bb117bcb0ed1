// SPDX-License-Identifier: Apache-2.0
// What a job may use of its node, as limits of its cgroup: from the site's policy (cgroup.conf) and what the job was
// granted. The agent decides, the step daemon enforces; the limits travel between them as one line of text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/agent_message.h"
#include "os/cpu_map.h"

namespace spur::os {

struct DeviceNumber {
  char type = 'c';  // or 'b'
  std::uint32_t major = 0, minor = 0;
  friend auto operator<=>(const DeviceNumber&, const DeviceNumber&) = default;
};

// A device that is handed out to jobs, with all files that belong to it alone.
struct ManagedDevice {
  std::string gres;         // "gpu"
  std::uint32_t index = 0;  // as grants count it
  std::vector<DeviceNumber> numbers;
  std::vector<std::string> files{};  // paths, for containers
  friend bool operator==(const ManagedDevice&, const ManagedDevice&) = default;
};

// The settings of cgroup.conf. Percentages are in thousandths, as Slurm takes "101.5".
struct ConfinementPolicy {
  bool cores = false, ram = false, swap = false, devices = false;
  std::uint64_t allowed_ram = 100'000, allowed_swap = 0;  // of what was granted
  std::uint64_t max_ram = 100'000, max_swap = 100'000;    // of the node's memory
  std::uint64_t min_ram_mib = 30;
  std::uint64_t max_processes = 0;    // of a job on a node; 0: no limit
  std::vector<std::string> io_max{};  // lines for io.max, "8:0 wbps=1048576"
};

// What does not change from job to job.
struct ConfinedNode {
  ConfinementPolicy policy;
  std::uint64_t memory_mib = 0;
  std::vector<std::uint32_t> cpu_numbers{};  // the kernel's number of each CPU, by our own
  std::vector<ManagedDevice> devices{};
};

struct CgroupLimits {
  std::string cpus;                                                // "0-3,8" in the kernel's numbers; empty: all
  std::optional<std::uint64_t> memory_max, memory_high, swap_max;  // bytes
  std::uint64_t processes_max = 0;
  std::vector<std::string> io_max;
  bool devices = false;                // whether devices are confined
  std::vector<ManagedDevice> granted;  // whether or not
  std::vector<DeviceNumber> denied;    // what other jobs may get and this one has not got
  friend bool operator==(const CgroupLimits&, const CgroupLimits&) = default;
};

CgroupLimits limits_of(const ConfinedNode& node, const model::LaunchPart& part);
// Of a step that has `memory_mib` (0: all) of the `job_mib`, and of the job's devices only `devices`. Devices are
// confined step by step: a group is one step's alone, while several steps at once may make the job's.
// The machine's CPUs with these numbers (as jobs count them), as cpuset.cpus takes them. Empty: it does not have all.
std::string cpuset_of(const CpuMap& map, const std::vector<model::CpuNumber>& cpus);
CgroupLimits limits_of_step(const CgroupLimits& job, std::uint64_t job_mib, std::uint64_t memory_mib,
                            const std::vector<model::DeviceGrant>& devices);

std::string encode_limits(const CgroupLimits& limits);
Result<CgroupLimits> decode_limits(std::string_view text);

// "0-3,8", ascending.
std::string number_list(std::vector<std::uint32_t> numbers);

}  // namespace spur::os
