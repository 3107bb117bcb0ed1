// SPDX-License-Identifier: Apache-2.0
// Where the kernel's CPUs are: the order in which jobs count a node's CPUs (socket by socket, core by core, thread by
// thread) against the kernel's own numbers. From sysfs alone, so that the step daemon needs no library for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spur::os {

struct CpuPlace {
  std::uint32_t os = 0;  // the kernel's number
  std::uint32_t socket = 0, core = 0, numa = 0;
  friend bool operator==(const CpuPlace&, const CpuPlace&) = default;
};

struct CpuMap {
  std::vector<CpuPlace> cpus;  // by the number that jobs know
};

// Empty where the kernel does not say.
CpuMap read_cpu_map(const std::string& system = "/sys/devices/system");

}  // namespace spur::os
