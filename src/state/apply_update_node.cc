// SPDX-License-Identifier: Apache-2.0
// UpdateNode (scontrol update NodeName=), for all named nodes or none.
//
// Down ends the jobs of the node (requeued or NODE_FAIL). A node that still answers is told to end its part and frees
// it when it has; the share of one that does not answer is given up at once, as in apply_node_lost.cc. Drain leaves
// jobs alone. Resume ends down, drain and fail, and a reboot that was asked for; there must be something to end, or it is
// refused, as in Slurm; a node that is being switched off counts as switched off then. Reboot: see reboot.h; power_up and
// power_down: see power.h. FUTURE nodes are there when they are resumed or set down; Future is the way back: dynamic_nodes.h.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "model/power.h"
#include "state/apply.h"
#include "state/node_config.h"
#include "state/power.h"
#include "state/reboot.h"
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

bool switches_power(Action action) {
  return action == Action::PowerUp || action == Action::PowerDown || action == Action::PowerDownAsap ||
         action == Action::PowerDownForce;
}

void act(Node& node, const UpdateNode& command, Time now) {
  const auto clear_reason = [&node] {
    node.reason.clear();
    node.reason_by = {};
    node.reason_at = {};
  };
  switch (command.action) {
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
      if (node.flags & model::kNodePoweringDown) be_powered_down(node);
      forget_reboot(node);
      clear_reason();
      break;
    case Action::Reboot:
      request_reboot(node, command, now);
      break;
    case Action::CancelReboot:
      cancel_reboot(node);
      break;
    case Action::PowerUp:
    case Action::PowerDown:
    case Action::PowerDownAsap:
    case Action::PowerDownForce:
      request_power(node, command, now);
      break;
    case Action::Future:
      break;
  }
}

// What is active is among what is available, also what was so before: it all is when only the latter is named.
Status check_features(const Node& node, const UpdateNode& command) {
  if (!command.active_features && !command.features) return {};
  const auto there = command.features ? split_list(*command.features) : node.features;
  for (const std::string& feature : command.active_features ? split_list(*command.active_features) : node.active_features)
    if (std::ranges::find(there, feature) == there.end())
      return fail(ErrorCode::ActiveFeaturesUnknown, fmt::format("{} has no feature {}", node.name, feature));
  return {};
}

Status check_action(const Node& node, Action action) {
  const bool out_of_service =
      node.down || (node.flags & (model::kNodeDrain | model::kNodeFail | model::kNodeRebootRequested |
                                  model::kNodePoweringDown));
  if (action == Action::Resume && !out_of_service)
    return fail(ErrorCode::InvalidNodeState,
                fmt::format("Invalid node state specified: {} is in service", node.name));
  if (action == Action::CancelReboot && !(node.flags & model::kNodeRebootRequested))
    return fail(ErrorCode::InvalidNodeState,
                "Invalid node state specified: no reboot of " + node.name + " is pending");
  return {};
}

void take_words(Node& node, const UpdateNode& command) {
  if (command.comment) node.comment = *command.comment;
  if (command.extra) node.extra = *command.extra;
  if (command.instance_id) node.instance_id = *command.instance_id;
  if (command.instance_type) node.instance_type = *command.instance_type;
  if (command.features) node.features = node.active_features = split_list(*command.features);
  if (command.active_features) node.active_features = split_list(*command.active_features);
  if (command.weight) node.weight = *command.weight;
}

}  // namespace

Outcome Applier::apply(const UpdateNode& command) {
  std::vector<std::string> arriving;
  for (const std::string& name : command.nodes) {
    const Node* node = model::find_node(view, name);
    if (!node && future(name)) {
      if (command.action == Action::Future) continue;
      if (command.action != Action::Resume && command.action != Action::Down)
        return refused(ErrorCode::InvalidNodeState,
                       fmt::format("Invalid node state specified: {} is FUTURE", name));
      arriving.push_back(name);
      continue;
    }
    if (!node) return refused(ErrorCode::InvalidNode, fmt::format("Invalid node name specified: {}", name));
    if (auto ok = check_action(*node, command.action); !ok) return refused(std::move(ok).error());
    if (auto ok = check_features(*node, command); !ok) return refused(std::move(ok).error());
    if (command.action != Action::Future) continue;
    if (auto ok = check_put_off(*node); !ok) return refused(std::move(ok).error());
  }
  if (switches_power(command.action) && !model::saves_power(config()))
    return refused(ErrorCode::InvalidNodeState, "Invalid node state specified: no node is switched off and on here");
  if (command.action == Action::Reboot && config().reboot_program.empty())
    return refused(ErrorCode::NotSupported, "RebootProgram isn't defined");
  if (command.nodes.empty()) return refused(ErrorCode::InvalidNode, "Invalid node name specified");
  if (command.action == Action::Future) return set_presence(command.nodes, model::NodePresence::Future);
  Outcome outcome;
  if (!arriving.empty()) outcome = set_presence(arriving, model::NodePresence::Here);
  if (!outcome.status) return outcome;
  for (const std::string& name : command.nodes) {
    Node node = *model::find_node(view, name);
    act(node, command, now);
    const bool said = command.action == Action::Reboot || command.action == Action::PowerDownAsap ||
                      command.action == Action::PowerDownForce;
    if (command.reason && !said) {
      node.reason = *command.reason;
      node.reason_by = command.by;
      node.reason_at = now;
    }
    take_words(node, command);
    const NodeIndex at = node.index;
    const bool answers = node.registered && !(node.flags & model::kNodeNoResponse) && !node.is_away();
    const bool ends_jobs = command.action == Action::Down || command.action == Action::PowerDownForce;
    if (ends_jobs) outcome.jobs.insert(outcome.jobs.end(), node.jobs.begin(), node.jobs.end());
    put_node(std::move(node));
    if (ends_jobs) fail_jobs_of(at, !answers);
  }
  return outcome;
}

}  // namespace spur::state
