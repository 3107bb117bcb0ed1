// SPDX-License-Identifier: Apache-2.0
// Dispatch of commands, and what a fresh leader has to carry out.
#include "state/apply.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/check.h"

namespace spur::state {
namespace {

template <class Id>
void sort_unique(std::vector<Id>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

Cluster::Cluster() {
  view_.config = std::make_shared<const model::ClusterConfig>();
  view_.partitions = std::make_shared<const std::vector<model::Partition>>();
  view_.node_by_name = std::make_shared<const std::map<std::string, NodeIndex, std::less<>>>();
}

std::vector<Outcome> Cluster::apply(std::uint64_t index, const Batch& batch, std::vector<Effect>* effects,
                                    std::vector<OutboxRecord>* records) {
  SPUR_CHECK_MSG(index > view_.version, "a batch is applied twice");
  view_.version = index;
  view_.as_of = std::max(view_.as_of, batch.at);
  Applier applier(*this, view_, effects, records);
  std::vector<Outcome> outcomes;
  outcomes.reserve(batch.commands.size());
  for (const Command& command : batch.commands) {
    outcomes.push_back(std::visit([&](const auto& c) { return applier.apply(c); }, command));
    applier.settle();
    applier.let_others_age();
  }
  // Where nobody asks for changes (a replay), the lists stay as long as what they name.
  if (changes_.jobs.size() > 2 * view_.jobs.size() + 4096) sort_unique(changes_.jobs);
  if (changes_.nodes.size() > 2 * view_.nodes.size() + 4096) sort_unique(changes_.nodes);
  return outcomes;
}

Cluster::Changes Cluster::take_changes() {
  sort_unique(changes_.jobs);
  sort_unique(changes_.nodes);
  return std::exchange(changes_, {});
}

std::vector<Effect> Cluster::pending_effects() const {
  std::vector<Effect> effects;
  view_.active.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (job->flags & model::kCompleting) {
      effects.push_back(EndJob{job->id, job->epoch, (job->flags & model::kSignaling) != 0});
      return;
    }
    effects.push_back(LaunchJob{job->id, job->epoch});
    if (is_set(job->preempt_at) && job->state == model::JobState::Running)
      effects.push_back(preemption_signal(*view_.config, *job));
    if (!job->lost_nodes.empty()) effects.push_back(TellNodesLost{job->id, job->epoch});
    if (job->state == model::JobState::Suspended) effects.push_back(SuspendOnNodes{job->id, job->epoch, false});
  });
  RunPowerProgram off{RunPowerProgram::Which::Suspend, {}}, on{RunPowerProgram::Which::Resume, {}};
  view_.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    if (node->flags & model::kNodeRebootIssued) effects.push_back(RebootNode{node->index});
    if (node->flags & model::kNodePoweringDown) off.nodes.push_back(node->index);
    if (node->flags & model::kNodePoweringUp) on.nodes.push_back(node->index);
  });
  for (RunPowerProgram* program : {&off, &on})
    if (!program->nodes.empty()) effects.push_back(std::move(*program));
  return effects;
}

}  // namespace spur::state
