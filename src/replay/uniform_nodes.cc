// SPDX-License-Identifier: Apache-2.0
#include "replay/uniform_nodes.h"

#include <utility>

#include "replay/one_partition.h"

namespace spur::replay {

model::View make_view(const UniformNodes& nodes) {
  std::vector<std::shared_ptr<model::Node>> made;
  for (std::uint32_t n = 0; n < nodes.nodes; ++n) {
    auto& node = *made.emplace_back(std::make_shared<model::Node>());
    node.hardware.cpus = node.hardware.cores_per_socket = n + 1 == nodes.nodes ? nodes.last_cpus : nodes.cpus;
    node.hardware.memory_mib = 1;
  }
  return one_partition(std::make_shared<model::ClusterConfig>(), std::move(made));
}

}  // namespace spur::replay
