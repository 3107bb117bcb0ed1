// SPDX-License-Identifier: Apache-2.0
// ResumeJob: takes the CPUs back, if nobody got them meanwhile; else it is refused and the job stays suspended.
#include <algorithm>

#include "state/apply.h"
#include "state/node_books.h"

namespace spur::state {

using model::Job;
using model::JobState;

bool Applier::holds(const Job& job, NodeIndex node) {
  return std::find(job.nodes_left.begin(), job.nodes_left.end(), node) != job.nodes_left.end();
}

Status Applier::can_resume(const Job& job) const {
  SPUR_TRY(check_running(job));
  // Of an array those that are suspended run on, and the others do not mind.
  if (job.state != JobState::Suspended)
    return job.array_job ? Status{} : fail(ErrorCode::JobNotSuspended, "Job is not suspended");
  const Sharing sharing = sharing_of(job, job.allocation->partition);
  for (const model::NodeGrant& grant : job.allocation->nodes) {
    if (!holds(job, grant.node)) continue;
    const model::Node node = node_copy(grant.node);
    SPUR_TRY(can_take_cpus(node, grant, shareable_cpus(node, job, *job.allocation)));
    SPUR_TRY(can_join(node, job, sharing));
  }
  return {};
}

Outcome Applier::apply(const ResumeJob& command) {
  if (command.target.het_offset || means_component(command.target))
    return refused(ErrorCode::NotWholeHetJob, std::string(slurm_message(ErrorCode::NotWholeHetJob)));
  const auto check = [&](const Job& job) { return can_resume(job); };
  return on_targets(command.target, check, [&](Job job) {
    // Several jobs at once may want the same CPUs: the first one gets them.
    if (job.state != JobState::Suspended || !can_resume(job)) return put(std::move(job));
    const bool alone = sharing_of(job, job.allocation->partition) == Sharing::Alone;
    for (const model::NodeGrant& grant : job.allocation->nodes) {
      if (!holds(job, grant.node)) continue;
      model::Node node = node_copy(grant.node);
      take_cpus(node, grant, alone, shareable_cpus(node, job, *job.allocation));
      put_node(std::move(node));
    }
    job.state = JobState::Running;
    job.suspended_total += now - job.suspended_at;
    job.suspended_at = {};
    job.counted_from = now;
    if (job.preempt_how == model::PreemptHow::Suspend) forget_preemption(job);
    emit(SuspendOnNodes{job.id, job.epoch, true});
    put(std::move(job));
  });
}

}  // namespace spur::state
