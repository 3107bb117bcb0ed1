// SPDX-License-Identifier: Apache-2.0
// RegisterNode: an agent introduces itself, or does so again.
//
// With nodes in the configuration an unknown name is refused (an agent that is to be a new one has it made before:
// dynamic_nodes.h); without any, who registers is a node of the cluster.
// What the configuration declares wins over what was found; finding less than declared makes the node INVALID_REG and
// drains it, until a registration finds enough (config_overrides: declared is right, whatever was found). Whether a
// node that is down returns to service is ReturnToService: 0 never, 1 if it was only not responding, 2 always.
//
// A node that is switched off is not there before it has booted (power.h), whatever its agent says.
//
// A node that still holds a run that is over for us (it was given up while it was silent) is refused: its CPUs and
// devices would be given out twice. It may come again when that run is gone.
#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "model/dynamic_nodes.h"
#include "state/apply.h"
#include "state/node_books.h"
#include "state/node_config.h"
#include "state/power.h"
#include "state/reboot.h"

namespace spur::state {

using model::Node;

namespace {

void judge_registration(Node& node, bool overrides, Time now) {
  const std::string problem = overrides ? std::string() : shortage(node);
  const bool was_invalid = node.flags & model::kNodeInvalidRegistration;
  if (!problem.empty()) {
    const bool ours = was_invalid || node.reason.empty();
    node.flags |= model::kNodeInvalidRegistration | model::kNodeDrain;
    if (ours && node.reason != problem) {
      node.reason = problem;
      node.reason_by = kRootUid;
      node.reason_at = now;
    }
  } else if (was_invalid) {
    node.flags &= ~(model::kNodeInvalidRegistration | model::kNodeDrain);
    node.reason.clear();
    node.reason_at = {};
  }
}

void return_to_service(Node& node, std::uint32_t policy) {
  if (!node.down || policy == 0 || (node.flags & (model::kNodeInvalidRegistration | model::kNodeRebootIssued))) return;
  if (policy == 1 && node.reason != kNotResponding) return;
  node.down = false;
  if (node.flags & model::kNodeDrain) return;  // the reason is the drain's
  node.reason.clear();
  node.reason_at = {};
}

}  // namespace

// A name that was not there before: the shared look-ups are made anew. Only clusters without configured nodes do
// this.
void Applier::add_dynamic_node(const Node& node) {
  auto names = std::make_shared<NodeNames>(*view.node_by_name);
  names->emplace(node.name, node.index);
  std::vector<NodeIndex> all;
  for (std::uint32_t i = 0; i <= node.index.value; ++i) all.emplace_back(i);
  auto partitions = resolve_partitions(config(), *names, all, true);
  SPUR_CHECK(partitions.has_value());  // the same lists were resolved when the configuration was set
  view.node_by_name = std::move(names);
  view.partitions = std::make_shared<const std::vector<model::Partition>>(*std::move(partitions));
  cluster.changes_.config = true;
}

Outcome Applier::apply(const RegisterNode& command) {
  const Node* known = model::find_node(view, command.name);
  if (command.name.empty() || (!known && (future(command.name) || !model::takes_anybody(config()))))
    return refused(ErrorCode::InvalidNode, fmt::format("Invalid node name specified: {}", command.name));
  if (command.found.cpus == 0 || command.found.cpus > kMaxCpus)
    return refused(ErrorCode::InvalidArgument,
                   fmt::format("node {} reports {} CPUs", command.name, command.found.cpus));
  for (const model::JobRun& run : command.holding)
    if (!model::run_on_node(view, run, command.name))
      return refused(ErrorCode::StaleEpoch, fmt::format("node {} still holds run {} of job {}, which is over",
                                                        command.name, run.epoch.value, run.job.value));
  Node node;
  if (known) {
    node = *known;
  } else {
    node.name = command.name;
    node.index = NodeIndex{static_cast<std::uint32_t>(view.nodes.size())};
  }
  node.address = command.address;
  if (!command.hostname.empty()) node.hostname = command.hostname;
  node.version = command.version;
  node.os = command.os;
  node.arch = command.arch;
  node.public_key = command.public_key;
  node.found = command.found;
  if (!command.extra.empty()) node.extra = command.extra;
  if (!command.instance_id.empty()) node.instance_id = command.instance_id;
  if (!command.instance_type.empty()) node.instance_type = command.instance_type;
  const Time booted_before = std::exchange(node.boot_time, command.boot_time);
  node.agent_started = command.agent_started;
  node.registered = true;
  node.registered_at = now;
  if (!is_set(node.last_busy)) node.last_busy = now;
  const bool booted = has_booted(node, booted_before);
  const bool rebooted = booted && (node.flags & model::kNodeRebootIssued);
  // Somebody else may have switched it on. Until it has booted, this is an agent that is about to be switched off.
  const bool comes_up = booted && (node.flags & (model::kNodePoweringUp | model::kNodePoweredDown));
  if (comes_up) end_power_up(node, now);
  if (!node.is_away()) node.flags &= ~model::kNodeNoResponse;
  set_hardware(node, configured(node.name));
  if (rebooted) end_reboot(node, now);
  judge_registration(node, config().config_overrides, now);
  if (!rebooted) return_to_service(node, config().return_to_service);
  const bool joins = !known;
  const NodeIndex at = node.index;
  if (joins) add_dynamic_node(node);
  put_node(std::move(node));
  if (comes_up) end_configuring_on(at);
  Outcome outcome;
  if (joins && !view.reservations->empty()) refit_reservations(nullptr, outcome.notes);
  return outcome;
}

}  // namespace spur::state
