// SPDX-License-Identifier: Apache-2.0
// What the steps of one job hold of what the job has: CPUs and devices by number, memory by amount, on each of its
// nodes. Kept by the agent of the job's first node; pure.
//
// A step takes all CPUs of its nodes unless it asks for just what its tasks need (`exact`), and never what another
// step holds, unless it asks to overlap: then it takes from all that the job has and its share is not counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "model/agent_message.h"
#include "model/job_spec.h"

namespace spur::agent {

struct StepAsk {
  std::vector<std::size_t> nodes;               // positions among the job's, in order of preference
  std::size_t required = 0;                     // so many of them, from the first on, must be used
  std::size_t node_count = 1;                   // so many are used; 0 < required <= node_count <= nodes.size()
  std::uint32_t tasks = 1;                      // >= node_count
  std::vector<std::uint32_t> tasks_per_node{};  // parallel to nodes, which are all used then; empty: to be dealt out
  std::uint32_t max_tasks_per_node = 0;         // 0: none
  std::uint32_t cpus_per_task = 1, cpus_per_gpu = 0;
  bool exact = false, overlap = false, overcommit = false;
  std::uint64_t memory_per_node_mib = 0, memory_per_cpu_mib = 0;  // neither: not counted
  std::optional<std::vector<model::GresRequest>> gres{};          // none: all devices that the job has there
  model::Distribution distribution{};
  friend bool operator==(const StepAsk&, const StepAsk&) = default;
};

// On one node.
struct StepShare {
  std::size_t node = 0;
  std::uint32_t tasks = 0;
  std::vector<model::CpuNumber> cpus;  // ascending
  std::uint64_t memory_mib = 0;        // 0: whatever the job has
  std::vector<model::DeviceGrant> devices;
  friend bool operator==(const StepShare&, const StepShare&) = default;
};

class StepLedger {
 public:
  explicit StepLedger(const std::vector<model::LaunchPart>& parts);

  // Shares in the order of the job's nodes, held until give_back(step). NodesBusy: it fits into the job, but not now.
  // Anything else: it never will.
  Result<std::vector<StepShare>> grant(std::uint32_t step, const StepAsk& ask);
  // As granted before, by another ledger over the same job.
  void hold(std::uint32_t step, std::vector<StepShare> shares);
  void give_back(std::uint32_t step);  // a step that holds nothing: nothing happens
  bool idle() const { return held_.empty(); }

 private:
  struct Device {
    std::size_t grant;               // position in the job's devices on the node
    std::uint32_t index, all, left;  // all: 1, or its shares
  };
  struct Node {
    std::vector<model::CpuNumber> cpus;
    std::vector<bool> used;  // beside cpus
    std::uint32_t threads_per_core = 1;
    std::uint64_t memory_mib = 0, memory_left = 0;
    std::vector<model::DeviceGrant> devices;
    std::vector<Device> pool;
  };
  // One way to look at the nodes: as they are, or as if no step ran.
  struct Look;

  Result<std::vector<StepShare>> try_grant(const StepAsk& ask, bool as_if_idle) const;
  static bool take_devices(const Look& look, std::uint32_t tasks, std::size_t nodes_after,
                           std::vector<std::uint64_t>& left, StepShare& share, std::uint64_t& gpus);
  static void book(Node& node, const StepShare& share, bool take);

  std::vector<Node> nodes_;
  std::map<std::uint32_t, std::vector<StepShare>> held_;
};

}  // namespace spur::agent
