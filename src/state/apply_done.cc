// SPDX-License-Identifier: Apache-2.0
// NodeJobDone: one node is through with its part of (job, epoch). The batch host's report decides how the job ended,
// unless a kill has decided already; the other nodes only free what they held. A report of an older run is refused;
// one that was heard before is a success that changes nothing, so agents may repeat it.
#include <fmt/format.h>

#include <algorithm>

#include "model/launch_failure.h"
#include "state/apply.h"

namespace spur::state {

using model::AfterCompleting;
using model::Job;
using model::JobState;
using model::Reason;

namespace {

struct Verdict {
  JobState state;
  Reason reason;
};

Verdict verdict_of(const NodeJobDone& report) {
  if (report.out_of_memory) return {JobState::OutOfMemory, Reason::OutOfMemory};
  // A script that raised that signal itself brings no error.
  if (report.exit == model::kNeverRan && !report.error.empty()) return {JobState::Failed, Reason::JobLaunchFailure};
  if (report.exit.signal) return {JobState::Failed, Reason::RaisedSignal};
  if (report.exit.code) return {JobState::Failed, Reason::NonZeroExitCode};
  return {JobState::Completed, Reason::None};
}

}  // namespace

Outcome Applier::apply(const NodeJobDone& command) {
  const Job* found = model::find_job(view, command.job);
  if (!found) return refused(ErrorCode::InvalidJobId, fmt::format("Invalid job id specified: {}", command.job.value));
  if (found->epoch != command.epoch)
    return refused(ErrorCode::StaleEpoch, fmt::format("job {} is in run {}, not {}", command.job.value,
                                                      found->epoch.value, command.epoch.value));
  const model::Node* node = model::find_node(view, command.node);
  const auto& left = found->nodes_left;
  if (!node || std::find(left.begin(), left.end(), node->index) == left.end()) return {};
  const NodeIndex at = node->index;

  Job job = *found;
  const bool decides = command.node == job.batch_host;
  const bool was_completing = job.flags & model::kCompleting;
  if (was_completing) {
    // Slurm: the script's own exit status is kept beside CANCELLED or TIMEOUT if there is none yet.
    if (decides && model::is_final(job.state) && job.exit == model::ExitStatus{}) job.exit = command.exit;
  } else if (command.launch_failed) {
    job.reason_detail = command.error;
    if (!may_requeue(job)) {
      end_run(job, JobState::Failed, Reason::JobLaunchFailure);
      job.exit = {.code = 1, .signal = 0};
    } else if (job.restarts >= config().max_batch_requeue) {
      job.reason = Reason::JobHoldMaxRequeue;
      end_run_to_requeue(job, AfterCompleting::RequeueHold);
    } else {
      job.reason = Reason::JobLaunchFailure;
      end_run_to_requeue(job, AfterCompleting::Requeue);
    }
  } else if (decides) {
    const Verdict verdict = verdict_of(command);
    job.exit = command.exit;
    if (verdict.reason == Reason::JobLaunchFailure) job.reason_detail = command.error;
    end_run(job, verdict.state, verdict.reason);
  }
  leave_node(job, at);
  const JobId id = job.id;
  if (!(job.flags & model::kCompleting)) {
    put(std::move(job));  // a node that only held resources gave them back early; the job runs on
  } else if (was_completing && !job.nodes_left.empty()) {
    put(std::move(job));  // the others have been told already
  } else {
    close(std::move(job));
  }
  return {.status = {}, .job = {}, .repeated = false, .jobs = {id}};
}

}  // namespace spur::state
