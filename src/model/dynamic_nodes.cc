// SPDX-License-Identifier: Apache-2.0
#include "model/dynamic_nodes.h"

#include <algorithm>
#include <limits>

#include "text/words.h"

namespace spur::model {

bool is_future(const NodeConfig& row) {
  if (row.presence != NodePresence::AsDeclared) return row.presence == NodePresence::Future;
  return text::equal_ignoring_case(row.state, "FUTURE");
}

bool takes_anybody(const ClusterConfig& config) {
  return config.max_node_count == 0 && (config.nodes.empty() || config.nodes.front().created);
}

std::uint64_t room_for_nodes(const ClusterConfig& config, std::size_t unlisted) {
  if (takes_anybody(config)) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t there = config.nodes.size() + unlisted;
  return config.max_node_count > there ? config.max_node_count - there : 0;
}

bool can_be(const NodeConfig& row, const NodeHardware& found, const std::string& feature) {
  const auto fits = [](const std::optional<std::uint32_t>& declared, std::uint32_t there) {
    return !declared || *declared == there;
  };
  if (!feature.empty() && std::ranges::find(row.features, feature) == row.features.end()) return false;
  return fits(row.cpus, found.cpus) && fits(row.boards, found.boards) && fits(row.sockets, found.sockets) &&
         fits(row.cores_per_socket, found.cores_per_socket) && fits(row.threads_per_core, found.threads_per_core) &&
         row.memory_mib.value_or(0) <= found.memory_mib;
}

}  // namespace spur::model
