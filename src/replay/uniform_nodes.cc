// SPDX-License-Identifier: Apache-2.0
#include "replay/uniform_nodes.h"

#include <fmt/core.h>

#include <utility>

namespace spur::replay {

model::View make_view(const UniformNodes& nodes) {
  model::View view;
  view.config = std::make_shared<model::ClusterConfig>();
  auto names = std::make_shared<std::map<std::string, NodeIndex, std::less<>>>();
  model::Partition partition;
  partition.config.name = "all";
  partition.config.is_default = true;
  for (std::uint32_t n = 0; n < nodes.nodes; ++n) {
    auto node = std::make_shared<model::Node>();
    node->index = NodeIndex(n);
    node->name = fmt::format("n{}", n + 1);
    const std::uint32_t cpus = n + 1 == nodes.nodes ? nodes.last_cpus : nodes.cpus;
    node->hardware.cpus = node->hardware.cores_per_socket = cpus;
    node->hardware.memory_mib = 1;
    node->registered = true;
    node->cpus_in_use.resize((cpus + 63) / 64);
    names->emplace(node->name, node->index);
    partition.nodes.push_back(node->index);
    view.nodes.set(n, std::move(node));
  }
  view.node_by_name = std::move(names);
  view.partitions = std::make_shared<std::vector<model::Partition>>(1, std::move(partition));
  return view;
}

}  // namespace spur::replay
