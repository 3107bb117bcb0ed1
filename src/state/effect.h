// SPDX-License-Identifier: Apache-2.0
// What has to be done in the world because a command was applied. The leader carries effects out after commit; they are
// idempotent, and pending_effects() derives them again from the state alone, so a new leader loses none.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/cluster_config.h"
#include "model/job.h"

namespace spur::state {

// Tell every allocated node to start its part (the batch host runs the script, the others hold the resources).
struct LaunchJob {
  JobId job;
  Epoch epoch;
};
// Tell the nodes in nodes_left to end it: TERM (+CONT) first; with `kill`, KILL now.
struct EndJob {
  JobId job;
  Epoch epoch;
  bool kill = false;
};
struct SuspendOnNodes {
  JobId job;
  Epoch epoch;
  bool resume = false;
};
// Send a signal to all of it, once: a job that has to make room is told so. Repeated, it does no harm.
struct SignalJob {
  JobId job;
  Epoch epoch;
  int signal = 0;
  bool own = false;  // the one that it asked for with --signal: for its script alone, or for its steps alone
};
// The one with which a job's grace time begins when it has to make room.
SignalJob preemption_signal(const model::ClusterConfig& config, const model::Job& job);
// Tell the node's agent to reboot it.
struct RebootNode {
  NodeIndex node;
};
// Run the site's program that switches nodes off or on, or that is told of those that have not come. It may run twice.
struct RunPowerProgram {
  enum class Which : std::uint8_t { Suspend, Resume, ResumeFail };
  Which which = Which::Suspend;
  std::vector<NodeIndex> nodes;
};
// Tell the job's first node which of the others it goes on without.
struct TellNodesLost {
  JobId job;
  Epoch epoch;
};
// Somebody may wait for this job (srun, salloc, sbatch --wait, the timers of the leader).
struct JobChanged {
  JobId job;
};
using Effect = std::variant<LaunchJob, EndJob, SuspendOnNodes, SignalJob, RebootNode, RunPowerProgram, TellNodesLost,
                            JobChanged>;

}  // namespace spur::state
