// SPDX-License-Identifier: Apache-2.0
// CreateNodes, DeleteNodes, ClaimFutureNode: nodes that come and go at run time (dynamic_nodes.h).
//
// There is room for MaxNodeCount nodes, FUTURE ones among them. A node goes only while nothing is on it and no reservation has
// it; partitions that name it forget it. One that is in a file of the configuration is the file's to take away.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "model/dynamic_nodes.h"
#include "state/apply.h"
#include "state/dynamic_nodes.h"
#include "state/node_config.h"
#include "text/hostlist.h"
#include "text/words.h"

namespace spur::state {

using model::NodeConfig;
using model::NodePresence;

namespace {

std::size_t unlisted_nodes(const model::View& view) {
  const auto& rows = view.config->nodes;
  const auto there = std::ranges::count_if(rows, [](const NodeConfig& row) { return !model::is_future(row); });
  const std::size_t listed = static_cast<std::size_t>(there);
  return view.nodes.size() > listed ? view.nodes.size() - listed : 0;
}

const NodeConfig* row_of(const model::ClusterConfig& config, std::string_view name) {
  const auto at = std::ranges::find(config.nodes, name, &NodeConfig::name);
  return at == config.nodes.end() ? nullptr : &*at;
}

Status check_gres(const model::ClusterConfig& config, const NodeConfig& row) {
  for (const model::NodeGres& gres : row.gres)
    if (std::ranges::find(config.gres_types, gres.name) == config.gres_types.end())
      return fail(ErrorCode::InvalidGres, fmt::format("gres/{} of node {} is not in GresTypes", gres.name, row.name));
  return {};
}

// Partitions that were told of the node by name would be wrong without it.
void forget_in_partitions(model::ClusterConfig& config, const std::set<std::string>& gone) {
  for (model::PartitionConfig& partition : config.partitions) {
    if (text::equal_ignoring_case(partition.nodes, "ALL")) continue;
    auto hosts = text::expand_hostlist(partition.nodes);
    if (!hosts) continue;
    if (std::erase_if(*hosts, [&](const std::string& host) { return gone.contains(host); }) > 0)
      partition.nodes = text::compress_hostlist(*hosts);
  }
}

}  // namespace

Status may_delete(const model::View& view, const std::string& name) {
  const model::Node* node = model::find_node(view, name);
  const NodeConfig* row = row_of(*view.config, name);
  if (!node && !row) return fail(ErrorCode::InvalidNode, fmt::format("Invalid node name specified: {}", name));
  if (row ? !row->created : !model::takes_anybody(*view.config))
    return fail(ErrorCode::InvalidNodeState, fmt::format("Can't delete non-dynamic node '{}'.", name));
  if (!node) return {};
  const auto in_use = [&](std::string_view why) {
    return fail(ErrorCode::NodesBusy, fmt::format("Node '{}' can't be deleted because it's {}.", name, why));
  };
  if (!node->jobs.empty()) return in_use("still in use");
  for (const model::Reservation& reservation : *view.reservations)
    if (std::ranges::find(reservation.nodes, node->index, &model::ReservedNode::node) != reservation.nodes.end())
      return in_use("in reservation " + reservation.name);
  return {};
}

Outcome Applier::apply(const CreateNodes& command) {
  if (command.nodes.empty()) return refused(ErrorCode::InvalidNode, "Invalid node name specified");
  model::ClusterConfig fresh = config();
  std::map<std::string, std::size_t> rows;
  for (std::size_t i = 0; i < fresh.nodes.size(); ++i) rows.emplace(fresh.nodes[i].name, i);
  std::uint64_t more = 0;
  for (const NodeConfig& wanted : command.nodes) {
    const auto at = rows.find(wanted.name);
    const bool known = at != rows.end();
    const bool again = known && fresh.nodes[at->second].created && command.by_agent;
    // An agent may call itself what it likes only if nobody else is called so.
    if ((known && !again) || (!known && model::find_node(view, wanted.name)))
      return refused(ErrorCode::AlreadyExists, fmt::format("Node '{}' already exists in the node table", wanted.name));
    if (!text::is_node_name(wanted.name)) return refused(ErrorCode::InvalidNode, "Invalid node name specified");
    if (auto ok = check_gres(fresh, wanted); !ok) return refused(std::move(ok).error());
    if (!known) ++more;
    NodeConfig row = wanted;
    row.created = true;
    row.presence = NodePresence::AsDeclared;
    if (again) {
      fresh.nodes[at->second] = std::move(row);
    } else {
      rows.emplace(row.name, fresh.nodes.size());
      fresh.nodes.push_back(std::move(row));
    }
  }
  if (more > model::room_for_nodes(config(), unlisted_nodes(view)))
    return refused(ErrorCode::InvalidNodeCount,
                   fmt::format("Attempting to create node record past MaxNodeCount:{}", config().max_node_count));
  return take_config(std::move(fresh));
}

Outcome Applier::apply(const DeleteNodes& command) {
  if (command.nodes.empty()) return refused(ErrorCode::InvalidNode, "Invalid node name specified");
  for (const std::string& name : command.nodes)
    if (auto ok = may_delete(view, name); !ok) return refused(std::move(ok).error());
  const std::set<std::string> gone(command.nodes.begin(), command.nodes.end());
  model::ClusterConfig fresh = config();
  std::erase_if(fresh.nodes, [&](const NodeConfig& row) { return gone.contains(row.name); });
  forget_in_partitions(fresh, gone);
  return take_config(std::move(fresh), command.nodes);
}

Outcome Applier::apply(const ClaimFutureNode& command) {
  Outcome outcome;
  if (command.hostname.empty()) return refused(ErrorCode::InvalidNode, "Invalid node name specified");
  view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    if ((node->flags & model::kNodeDynamicFuture) && node->hostname == command.hostname) outcome.name = node->name;
    return outcome.name.empty();
  });
  if (!outcome.name.empty()) return outcome;
  const auto& rows = config().nodes;
  const auto at = std::ranges::find_if(rows, [&](const NodeConfig& row) {
    return model::is_future(row) && model::can_be(row, command.found, command.feature);
  });
  if (at == rows.end())
    return refused(ErrorCode::InvalidNode,
                   fmt::format("Invalid node name specified: no FUTURE node is like {}", command.hostname));
  const std::string name = at->name;
  outcome = set_presence({name}, NodePresence::Here);
  if (!outcome.status) return outcome;
  model::Node node = *model::find_node(view, name);
  node.flags |= model::kNodeDynamicFuture;
  node.hostname = command.hostname;
  put_node(std::move(node));
  outcome.name = name;
  return outcome;
}

}  // namespace spur::state
