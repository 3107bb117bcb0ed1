// SPDX-License-Identifier: Apache-2.0
// NodesDue: moves of reboot.h and power.h that take time. The leader found them due when it looked; nodes for which
// that is no longer so are passed over.
#include <fmt/format.h>

#include "model/power.h"
#include "state/apply.h"
#include "state/power.h"
#include "state/reboot.h"

namespace spur::state {

using model::Node;
using model::NodeDue;

namespace {

void act(Node& node, NodeDue what, Time now) {
  switch (what) {
    case NodeDue::RebootOverdue:
      return give_up_reboot(node, now);
    case NodeDue::PowerDown:
      return power_down(node, now);
    case NodeDue::PoweredDown:
      return be_powered_down(node);
    case NodeDue::PowerUp:
      return power_up(node, now);
    case NodeDue::PowerUpOverdue:
      return give_up_power_up(node, now);
  }
}

}  // namespace

Outcome Applier::apply(const NodesDue& command) {
  std::vector<NodeIndex> due;
  for (const std::string& name : command.nodes) {
    const Node* node = model::find_node(view, name);
    if (!node) return refused(ErrorCode::InvalidNode, fmt::format("Invalid node name specified: {}", name));
    if (model::is_due(view, *node, command.what, now)) due.push_back(node->index);
  }
  Outcome outcome;
  for (const NodeIndex at : due) {
    Node node = node_copy(at);
    act(node, command.what, now);
    outcome.notes.push_back(node.name);
    if (command.what == NodeDue::PowerUpOverdue)
      outcome.jobs.insert(outcome.jobs.end(), node.jobs.begin(), node.jobs.end());
    put_node(std::move(node));
    if (command.what == NodeDue::PowerUpOverdue) fail_jobs_of(at, true);
  }
  using Which = RunPowerProgram::Which;
  if (due.empty()) return outcome;
  if (command.what == NodeDue::PowerDown) emit(RunPowerProgram{Which::Suspend, std::move(due)});
  if (command.what == NodeDue::PowerUp) emit(RunPowerProgram{Which::Resume, std::move(due)});
  if (command.what == NodeDue::PowerUpOverdue) emit(RunPowerProgram{Which::ResumeFail, std::move(due)});
  return outcome;
}

}  // namespace spur::state
