// SPDX-License-Identifier: Apache-2.0
// The moves of the drawing in reboot.h.
#include "state/reboot.h"

#include <fmt/format.h>

#include <string_view>

#include "state/apply.h"

namespace spur::state {

using model::AfterReboot;
using model::Node;

namespace {

// A kernel's boot time is reckoned from the clock, so it moves with it by as much as a second.
constexpr Duration kClockMoves = seconds(1);

void add_to_reason(Node& node, std::string_view what, Time now) {
  if (node.reason.find(what) != std::string::npos) return;
  node.reason += fmt::format(" : {}", what);
  if (!is_set(node.reason_at)) node.reason_at = now;
}

void clear_reason(Node& node) {
  node.reason.clear();
  node.reason_by = {};
  node.reason_at = {};
}

}  // namespace

void request_reboot(Node& node, const UpdateNode& command, Time now) {
  if (node.flags & (model::kNodeRebootRequested | model::kNodeRebootIssued)) return;  // asked for already
  node.flags |= model::kNodeRebootRequested;
  node.after_reboot = command.after_reboot;
  if (command.asap) {
    node.flags |= model::kNodeDrain;
    if (node.after_reboot == AfterReboot::AsBefore) node.after_reboot = AfterReboot::Resume;
  }
  const bool said = command.reason && !command.reason->empty();
  if (!said && !node.reason.empty()) return;
  node.reason = said ? *command.reason : command.asap ? "Reboot ASAP" : "reboot requested";
  node.reason_by = command.by;
  node.reason_at = now;
}

void forget_reboot(Node& node) {
  if (node.flags & model::kNodeRebootIssued) node.ordered_at = {};
  node.flags &= ~(model::kNodeRebootRequested | model::kNodeRebootIssued);
  node.after_reboot = AfterReboot::AsBefore;
}

// As in Slurm: whoever calls the reboot off takes a drain away as well, whatever it was for.
void cancel_reboot(Node& node) {
  forget_reboot(node);
  node.flags &= ~model::kNodeDrain;
  if (!node.down && !(node.flags & (model::kNodeDrain | model::kNodeFail))) clear_reason(node);
}

bool Applier::issue_reboot(Node& node) const {
  const bool free =
      node.jobs.empty() && node.registered && !(node.flags & model::kNodeNoResponse) && !node.is_away();
  if (!(node.flags & model::kNodeRebootRequested) || !free) return false;
  node.flags &= ~model::kNodeRebootRequested;
  node.flags |= model::kNodeRebootIssued;
  node.down = true;
  node.ordered_at = now;
  add_to_reason(node, "reboot issued", now);
  return true;
}

bool has_booted(const Node& node, Time before) {
  return node.boot_time > before + kClockMoves;
}

void end_reboot(Node& node, Time now) {
  const AfterReboot then = node.after_reboot;
  forget_reboot(node);
  if (then != AfterReboot::AsBefore) node.flags &= ~model::kNodeDrain;
  node.down = then == AfterReboot::Down;
  if (node.down)
    add_to_reason(node, "reboot complete", now);
  else if (!(node.flags & (model::kNodeDrain | model::kNodeFail)))
    clear_reason(node);
}

void give_up_reboot(Node& node, Time now) {
  if (node.after_reboot != AfterReboot::AsBefore) node.flags &= ~model::kNodeDrain;
  forget_reboot(node);
  add_to_reason(node, "reboot timed out", now);
}

}  // namespace spur::state
