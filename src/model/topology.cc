// SPDX-License-Identifier: Apache-2.0
#include "model/topology.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "text/hostlist.h"

namespace spur::model {
const TopologyConfig* find_topology(const ClusterConfig& config, std::string_view name) {
  if (name.empty() || name == topology_name(config.topology)) return &config.topology;
  const auto found = std::ranges::find(config.other_topologies, name, &TopologyConfig::name);
  return found == config.other_topologies.end() ? nullptr : &*found;
}

const TopologyConfig& topology_of(const ClusterConfig& config, const PartitionConfig& partition) {
  const TopologyConfig* found = find_topology(config, partition.topology);
  return found ? *found : config.topology;
}

std::string topology_name(const TopologyConfig& topology) {
  return topology.name.empty() ? "default" : topology.name;
}

TopologyAddresses::TopologyAddresses(const TopologyConfig& topology) : kind_(topology.kind) {
  const bool blocks = kind_ == TopologyKind::Block;
  for (const SwitchConfig& one : blocks ? topology.blocks : topology.switches) {
    for (const std::string& node : text::expand_hostlist(one.nodes).value_or(std::vector<std::string>{}))
      unit_.emplace(node, one.name);
    for (const std::string& below : text::expand_hostlist(one.switches).value_or(std::vector<std::string>{}))
      above_.emplace(below, one.name);
    level_.emplace(one.name, 0);
  }
  if (kind_ != TopologyKind::Tree) return;
  // Configurations are checked when they are read: nothing is above itself.
  for (const SwitchConfig& leaf : topology.switches) {
    if (leaf.nodes.empty()) continue;
    std::size_t level = 0;
    for (auto at = above_.find(leaf.name); at != above_.end() && level <= level_.size(); at = above_.find(at->second)) {
      ++level;
      level_[at->second] = std::max(level_[at->second], level);
    }
    levels_ = std::max(levels_, level + 1);
  }
}

TopologyAddress TopologyAddresses::of(std::string_view node) const {
  TopologyAddress out{std::string(node), "node"};
  const auto unit = unit_.find(node);
  if (kind_ == TopologyKind::Block) {
    out.address = (unit == unit_.end() ? std::string() : unit->second) + "." + out.address;
    out.pattern = "block.node";
  }
  if (kind_ != TopologyKind::Tree) return out;
  std::vector<std::string> names(levels_);
  std::string below = unit == unit_.end() ? std::string() : unit->second;
  while (!below.empty()) {
    names[level_.find(below)->second] = below;
    const auto next = above_.find(below);
    below = next == above_.end() ? std::string() : next->second;
  }
  for (const std::string& name : names) {
    out.address = name + "." + out.address;
    out.pattern = "switch." + out.pattern;
  }
  return out;
}

}  // namespace spur::model
