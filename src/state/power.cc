// SPDX-License-Identifier: Apache-2.0
// The moves of the drawing in power.h, and what becomes of jobs that wait for their nodes.
#include "state/power.h"

#include <algorithm>

#include "model/power.h"
#include "state/apply.h"
#include "state/reboot.h"

namespace spur::state {

using model::Node;
using Action = UpdateNode::Action;

namespace {

void say(Node& node, const UpdateNode& command, std::string_view otherwise, Time now) {
  node.reason = command.reason && !command.reason->empty() ? *command.reason : std::string(otherwise);
  node.reason_by = node.reason.empty() ? Uid{} : command.by;
  node.reason_at = node.reason.empty() ? Time{} : now;
}

}  // namespace

// What is on its way already, or there, is left alone, as in Slurm. A node on its way up goes down again when it is
// there; by force it need not come.
void request_power(Node& node, const UpdateNode& command, Time now) {
  const bool off = node.flags & (model::kNodePoweringDown | model::kNodePoweredDown);
  switch (command.action) {
    case Action::PowerUp:
      if (node.flags & model::kNodePoweredDown) node.flags |= model::kNodePowerUp;
      return;
    case Action::PowerDown:
      if (!off) node.flags |= model::kNodePowerDown;
      return;
    case Action::PowerDownAsap:
      if (off) return;
      node.flags |= model::kNodePowerDown | model::kNodeDrain;
      return say(node, command, "POWER_DOWN_ASAP", now);
    case Action::PowerDownForce:
      if (off) return;
      forget_reboot(node);
      node.flags &= ~(model::kNodeFail | model::kNodePoweringUp);
      node.flags |= model::kNodePowerDown | model::kNodeDrain;  // or what is requeued would start there again
      node.ordered_at = {};
      node.down = false;
      return say(node, command, "", now);
    default:
      return;
  }
}

// A drain was for those who were on it, and whoever asked for this knew of it. One that is switched off because it is
// idle stays drained.
void power_down(Node& node, Time now) {
  if (node.flags & model::kNodePowerDown) node.flags &= ~model::kNodeDrain;
  node.flags &= ~(model::kNodePowerDown | model::kNodePowerUp | model::kNodeNoResponse);
  node.flags |= model::kNodePoweringDown;
  node.ordered_at = now;
}

void be_powered_down(Node& node) {
  node.flags &= ~model::kNodePoweringDown;
  node.flags |= model::kNodePoweredDown;
  node.ordered_at = {};
}

void power_up(Node& node, Time now) {
  node.flags &= ~(model::kNodePoweredDown | model::kNodePowerUp);
  node.flags |= model::kNodePoweringUp | model::kNodeNoResponse;
  node.ordered_at = now;
}

void end_power_up(Node& node, Time now) {
  node.flags &= ~(model::kNodePoweringUp | model::kNodePoweredDown | model::kNodePowerUp | model::kNodeNoResponse);
  node.ordered_at = {};
  node.last_busy = now;  // it has not been idle while it was not there
  if (node.down || (node.flags & (model::kNodeDrain | model::kNodeFail))) return;
  node.reason.clear();
  node.reason_by = {};
  node.reason_at = {};
}

void give_up_power_up(Node& node, Time now) {
  node.flags &= ~(model::kNodePoweringUp | model::kNodePowerDown);
  node.flags |= model::kNodePoweredDown | model::kNodeNoResponse;
  node.ordered_at = {};
  node.down = true;
  if (!node.reason.empty()) return;
  node.reason = "ResumeTimeout reached";
  node.reason_by = kRootUid;
  node.reason_at = now;
}

bool Applier::waits_for_nodes(const model::Job& job) const {
  return std::ranges::any_of(job.nodes_left,
                             [&](NodeIndex at) { return (*view.nodes.find(at.value))->is_away(); });
}

// Its time begins when it can run.
void Applier::end_configuring(model::Job& job) {
  if (!(job.flags & model::kConfiguring) || waits_for_nodes(job)) return;
  job.flags &= ~model::kConfiguring;
  job.started = now;
  emit(LaunchJob{job.id, job.epoch});
  if (job.state == model::JobState::Suspended) emit(SuspendOnNodes{job.id, job.epoch, false});
}

void Applier::end_configuring_on(NodeIndex at) {
  const std::vector<JobId> jobs = node_copy(at).jobs;
  for (const JobId id : jobs) {
    model::Job job = *model::find_job(view, id);
    if (!(job.flags & model::kConfiguring)) continue;
    end_configuring(job);
    put(std::move(job));
  }
}

}  // namespace spur::state
