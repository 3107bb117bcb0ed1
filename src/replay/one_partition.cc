// SPDX-License-Identifier: Apache-2.0
#include "replay/one_partition.h"

#include <fmt/core.h>

#include <utility>

namespace spur::replay {

model::View one_partition(std::shared_ptr<const model::ClusterConfig> config,
                          std::vector<std::shared_ptr<model::Node>> nodes) {
  model::View view;
  view.config = std::move(config);
  auto names = std::make_shared<std::map<std::string, NodeIndex, std::less<>>>();
  model::Partition partition;
  partition.config.name = "all";
  partition.config.is_default = true;
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    auto& node = nodes[n];
    node->index = NodeIndex(n);
    node->name = fmt::format("n{}", n + 1);
    node->registered = true;
    node->cpus_in_use.resize((node->hardware.cpus + 63) / 64);
    names->emplace(node->name, node->index);
    partition.nodes.push_back(node->index);
    view.nodes.set(n, std::move(node));
  }
  view.node_by_name = std::move(names);
  view.partitions = std::make_shared<std::vector<model::Partition>>(1, std::move(partition));
  return view;
}

}  // namespace spur::replay
