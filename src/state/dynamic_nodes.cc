// SPDX-License-Identifier: Apache-2.0
#include "state/dynamic_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "model/dynamic_nodes.h"
#include "state/apply.h"
#include "state/node_config.h"

namespace spur::state {

using model::NodeConfig;
using model::NodePresence;

void keep_dynamic_nodes(model::ClusterConfig& fresh, const model::ClusterConfig& before) {
  // One that was made of the configuration in force (scontrol update PartitionName=) has them; what was done since counts.
  std::erase_if(fresh.nodes, [](const NodeConfig& row) { return row.created; });
  for (NodeConfig& row : fresh.nodes) row.presence = NodePresence::AsDeclared;
  const auto matters = [](const NodeConfig& row) { return row.created || row.presence != NodePresence::AsDeclared; };
  if (std::ranges::none_of(before.nodes, matters)) return;
  std::map<std::string_view, std::size_t> declared;
  for (std::size_t i = 0; i < fresh.nodes.size(); ++i) declared.emplace(fresh.nodes[i].name, i);
  std::vector<NodeConfig> kept;
  for (const NodeConfig& old : before.nodes) {
    const auto at = declared.find(old.name);
    if (at == declared.end()) {
      if (old.created) kept.push_back(old);
      continue;
    }
    NodeConfig& row = fresh.nodes[at->second];
    if (!old.created && (old.presence == NodePresence::Future || model::is_future(row))) row.presence = old.presence;
  }
  std::ranges::move(kept, std::back_inserter(fresh.nodes));
}

WithFutureNodes with_future_nodes(const model::View& view) {
  WithFutureNodes out;
  NodeNames names = *view.node_by_name;
  std::vector<NodeIndex> all;
  view.nodes.for_each([&](std::uint32_t at, const model::NodePtr&) { all.emplace_back(at); });
  for (const NodeConfig& row : view.config->nodes) {
    const NodeIndex at{static_cast<std::uint32_t>(names.size())};
    if (!model::is_future(row) || !names.emplace(row.name, at).second) continue;
    model::Node node = fresh_node(row, {});
    node.index = at;
    node.down = false;
    node.flags = model::kNodeFuture;
    node.reason.clear();
    all.push_back(at);
    out.nodes.push_back(std::move(node));
  }
  auto partitions = resolve_partitions(*view.config, names, all, true);
  out.partitions = partitions ? *std::move(partitions) : *view.partitions;
  return out;
}

const NodeConfig* Applier::future(const std::string& name) const {
  const auto& rows = config().nodes;
  const auto at = std::ranges::find_if(rows, [&](const NodeConfig& row) { return row.name == name; });
  return at != rows.end() && model::is_future(*at) ? &*at : nullptr;
}

// As Slurm: one that is idle or down, and only if the configuration knows it.
Status Applier::check_put_off(const model::Node& node) const {
  const model::NodeState base = model::base_state(node);
  const bool rests = base == model::NodeState::Idle || base == model::NodeState::Down || base == model::NodeState::Unknown;
  if (!rests || !node.jobs.empty() || !configured(node.name))
    return fail(ErrorCode::InvalidNodeState, fmt::format("Invalid node state specified: {} cannot be FUTURE", node.name));
  return {};
}

Outcome Applier::set_presence(const std::vector<std::string>& names, NodePresence presence) {
  const std::set<std::string_view> meant(names.begin(), names.end());
  model::ClusterConfig fresh = config();
  for (NodeConfig& row : fresh.nodes)
    if (meant.contains(row.name)) row.presence = presence;
  return take_config(std::move(fresh));
}

}  // namespace spur::state
