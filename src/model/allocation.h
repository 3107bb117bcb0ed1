// SPDX-License-Identifier: Apache-2.0
// What a running job holds: per node the CPUs by index, memory, and devices by index. The sum over jobs never exceeds
// a node's capacity, per device; state/apply_start.cc refuses a start that would break that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"

namespace spur::model {

using CpuNumber = std::uint32_t;  // as the node numbers its CPUs

struct DeviceGrant {
  std::string gres;                     // "gpu"
  std::string type;                     // "mi300x", may be empty
  std::vector<std::uint32_t> indices;   // device numbers on that node, ascending
  std::vector<std::uint32_t> shares{};  // beside `indices`: how much of each; empty: whole devices
  friend bool operator==(const DeviceGrant&, const DeviceGrant&) = default;
};

struct NodeGrant {
  NodeIndex node;
  std::vector<CpuNumber> cpus;  // in the node's abstract numbering, ascending
  std::uint64_t memory_mib = 0;
  std::uint32_t tasks = 0;  // tasks of the job laid out on this node
  std::vector<DeviceGrant> devices;
  std::vector<CpuNumber> kept_cpus{};  // held as well, but kept for the system (-S), ascending
  std::vector<std::uint32_t> task_ids{};   // which tasks; empty: those that follow the previous node's
  friend bool operator==(const NodeGrant&, const NodeGrant&) = default;
};

// Calls f(cpu) for all CPUs that the job has from others.
template <class F>
void for_each_cpu_held(const NodeGrant& grant, F&& f) {
  for (const CpuNumber cpu : grant.cpus) f(cpu);
  for (const CpuNumber cpu : grant.kept_cpus) f(cpu);
}
inline std::uint32_t cpus_held(const NodeGrant& grant) {
  return static_cast<std::uint32_t>(grant.cpus.size() + grant.kept_cpus.size());
}

struct Allocation {
  std::vector<NodeGrant> nodes;  // in the order of Slurm's node list (ascending index)
  std::string partition;         // the one of the job's partitions that was chosen
  std::string reservation;       // the one it runs in; empty: none
  std::uint32_t total_cpus() const;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

}  // namespace spur::model
