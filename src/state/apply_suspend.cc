// SPDX-License-Identifier: Apache-2.0
// SuspendJob: the processes are stopped and the CPUs are free for others; memory and devices stay taken. Suspending a
// suspended job again is fine.
#include "state/apply.h"
#include "state/node_books.h"

namespace spur::state {

using model::Job;
using model::JobState;

Status Applier::check_running(const Job& job) {
  if (is_waiting(job)) return fail(ErrorCode::JobPending, "Job is pending execution");
  if (job.flags & model::kCompleting || model::is_final(job.state))
    return fail(ErrorCode::JobAlreadyDone, "Job/step already completing or completed");
  return {};
}

void Applier::suspend(Job job) {
  if (job.state == JobState::Running) {
    for (const model::NodeGrant& grant : job.allocation->nodes) {
      if (!holds(job, grant.node)) continue;
      model::Node node = node_copy(grant.node);
      give_back_cpus(node, grant, cpus_of_others(view, node, job));
      put_node(std::move(node));
    }
    job.state = JobState::Suspended;
    job.suspended_at = now;
    emit(SuspendOnNodes{job.id, job.epoch, false});
  }
  put(std::move(job));
}

Outcome Applier::apply(const SuspendJob& command) {
  if (command.target.het_offset || means_component(command.target))
    return refused(ErrorCode::NotWholeHetJob, std::string(slurm_message(ErrorCode::NotWholeHetJob)));
  return on_targets(command.target, check_running, [&](Job job) { suspend(std::move(job)); });
}

}  // namespace spur::state
