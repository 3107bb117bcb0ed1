// SPDX-License-Identifier: Apache-2.0
// UpdateNode (scontrol update NodeName=), for all named nodes or none.
//
// Down ends the jobs of the node (requeued or NODE_FAIL). A node that still answers is told to end its part and frees
// it when it has; the share of one that does not answer is given up at once, as in apply_node_lost.cc. Drain leaves
// jobs alone. Resume ends down, drain and fail; there must be something to end, or it is refused, as in Slurm.
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "state/apply.h"
#include "state/node_config.h"
#include "text/words.h"

namespace spur::state {

using model::Node;
using Action = UpdateNode::Action;

namespace {

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> out;
  for (const std::string_view word : text::split(list, ','))
    if (!word.empty()) out.emplace_back(word);
  return out;
}

void act(Node& node, Action action) {
  const auto clear_reason = [&node] {
    node.reason.clear();
    node.reason_by = {};
    node.reason_at = {};
  };
  switch (action) {
    case Action::None:
      break;
    case Action::Down:
      node.down = true;
      break;
    case Action::Drain:
      node.flags |= model::kNodeDrain;
      break;
    case Action::Fail:
      node.flags |= model::kNodeFail;
      break;
    case Action::Undrain:
      node.flags &= ~model::kNodeDrain;
      if (!node.down && !(node.flags & model::kNodeFail)) clear_reason();
      break;
    case Action::Resume:
      node.down = false;
      node.flags &= ~(model::kNodeDrain | model::kNodeFail);
      clear_reason();
      break;
  }
}

}  // namespace

Outcome Applier::apply(const UpdateNode& command) {
  for (const std::string& name : command.nodes) {
    const Node* node = model::find_node(view, name);
    if (!node) return refused(ErrorCode::InvalidNode, fmt::format("Invalid node name specified: {}", name));
    const bool out_of_service = node->down || (node->flags & (model::kNodeDrain | model::kNodeFail));
    if (command.action == Action::Resume && !out_of_service)
      return refused(ErrorCode::InvalidNodeState,
                     fmt::format("Invalid node state specified: {} is in service", name));
  }
  if (command.nodes.empty()) return refused(ErrorCode::InvalidNode, "Invalid node name specified");
  Outcome outcome;
  for (const std::string& name : command.nodes) {
    Node node = *model::find_node(view, name);
    act(node, command.action);
    if (command.reason) {
      node.reason = *command.reason;
      node.reason_by = command.by;
      node.reason_at = now;
    }
    if (command.comment) node.comment = *command.comment;
    if (command.extra) node.extra = *command.extra;
    if (command.features) node.features = node.active_features = split_list(*command.features);
    if (command.weight) node.weight = *command.weight;
    const NodeIndex at = node.index;
    const bool answers = node.registered && !(node.flags & model::kNodeNoResponse);
    if (command.action == Action::Down) outcome.jobs.insert(outcome.jobs.end(), node.jobs.begin(), node.jobs.end());
    put_node(std::move(node));
    if (command.action == Action::Down) fail_jobs_of(at, !answers);
  }
  return outcome;
}

}  // namespace spur::state
