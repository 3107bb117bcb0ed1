// SPDX-License-Identifier: Apache-2.0
// Topologies of the network by name: the cluster's own, and those that partitions name instead (topology.yaml).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "model/cluster_config.h"

namespace spur::model {

// Null if there is none of that name; empty: the cluster's.
const TopologyConfig* find_topology(const ClusterConfig& config, std::string_view name);
// What counts in the partition: the cluster's, where it names none that there is.
const TopologyConfig& topology_of(const ClusterConfig& config, const PartitionConfig& partition);
// As it is shown: "default" for one that no file named.
std::string topology_name(const TopologyConfig& topology);

// SLURM_TOPOLOGY_ADDR and SLURM_TOPOLOGY_ADDR_PATTERN of a node: what is above it, from the top, and its own name
// ("s5.s4.s1.n1", "switch.switch.switch.node"). A level at which nothing is above it is empty.
struct TopologyAddress {
  std::string address, pattern;
};
// Of all nodes of a topology.
class TopologyAddresses {
 public:
  explicit TopologyAddresses(const TopologyConfig& topology);
  TopologyAddress of(std::string_view node) const;

 private:
  TopologyKind kind_;
  std::map<std::string, std::string, std::less<>> unit_;  // the leaf, or the block, of a node
  std::map<std::string, std::string, std::less<>> above_;  // the switch above a switch
  std::map<std::string, std::size_t, std::less<>> level_;  // of a switch: leaves are 0
  std::size_t levels_ = 0;
};

}  // namespace spur::model
