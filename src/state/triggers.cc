// SPDX-License-Identifier: Apache-2.0
// The commands about triggers of strigger (model/trigger.h has their life). What happens in the cluster is noticed by
// the leader (ctld/trigger_watch.h), who runs the programs; what is kept here is what another one would have to know.
#include "state/apply.h"

namespace spur::state {

namespace {

constexpr std::size_t kMostTriggers = 10'000;

bool is_meant(const model::Trigger& trigger, const ClearTriggers& command) {
  if (command.id != 0 && trigger.id != command.id) return false;
  if (command.job && trigger.job != command.job) return false;
  return !command.user || trigger.user == *command.user;
}

}  // namespace

Outcome Applier::apply(const SetTrigger& command) {
  model::Trigger trigger = command.trigger;
  if (trigger.source == model::TriggerSource::None || trigger.events == 0 || trigger.program.empty())
    return refused(ErrorCode::InvalidArgument, "a trigger without a source, an event or a program");
  if (cluster.triggers_.size() >= kMostTriggers) return refused(ErrorCode::ResourceLimit, "there are too many triggers");
  if (trigger.source == model::TriggerSource::Job && !model::find_job(view, trigger.job))
    return refused(ErrorCode::InvalidJobId, "Invalid job id specified");
  while (cluster.next_trigger_ == 0 || cluster.triggers_.contains(cluster.next_trigger_)) ++cluster.next_trigger_;
  trigger.id = cluster.next_trigger_++;
  trigger.set_at = now;
  trigger.due = {};
  trigger.argument.clear();
  cluster.triggers_[trigger.id] = std::move(trigger);
  return {};
}

Outcome Applier::apply(const ClearTriggers& command) {
  bool any = false, denied = false;
  for (const auto& [id, trigger] : cluster.triggers_) {
    if (!is_meant(trigger, command)) continue;
    const bool may = command.by_admin || trigger.user == command.by;
    (may ? any : denied) = true;
  }
  if (denied) return refused(ErrorCode::PermissionDenied, "Access/permission denied");
  if (!any) return refused(ErrorCode::NotFound, "there is no such trigger");
  std::erase_if(cluster.triggers_, [&](const auto& row) { return is_meant(row.second, command); });
  return {};
}

Outcome Applier::apply(const TriggerSeen& command) {
  const auto found = cluster.triggers_.find(command.id);
  if (found == cluster.triggers_.end()) return refused(ErrorCode::NotFound, "there is no such trigger");
  if (!is_set(found->second.due)) found->second.due = command.due;  // else there is only more to tell
  found->second.argument = command.argument;
  return {};
}

Outcome Applier::apply(const TriggersRan& command) {
  for (const std::uint32_t id : command.ids) {
    const auto found = cluster.triggers_.find(id);
    if (found == cluster.triggers_.end() || !is_set(found->second.due))
      return refused(ErrorCode::NotFound, "there is no such trigger, or nothing has happened");
  }
  for (const std::uint32_t id : command.ids) {
    const auto found = cluster.triggers_.find(id);
    if (found == cluster.triggers_.end()) continue;  // named twice
    // A job ends once.
    const bool once = !found->second.permanent || (found->second.events & (model::kTriggerFini | model::kTriggerTime));
    found->second.due = {};
    found->second.set_at = now;
    if (once) cluster.triggers_.erase(found);
  }
  return {};
}

}  // namespace spur::state
