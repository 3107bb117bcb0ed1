// SPDX-License-Identifier: Apache-2.0
// NodeJobDone: one node is through with its part of (job, epoch). The batch host's report decides how the job ended,
// unless a kill has decided already; the other nodes only free what they held. A report of an older run is refused;
// one that was heard before is a success that changes nothing, so agents may repeat it.
//
// A report also tells of the node. One whose prolog or epilog failed, or that could not start several runs in a row,
// is drained before it eats the queue; a run that failed because of the job (its user is not known there) says
// nothing against the node.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

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

// Adds the share of one node. A new record: other pictures share the old one.
void add_usage(Job& job, const model::Usage& usage) {
  if (usage == model::Usage{}) return;
  auto sum = std::make_shared<model::Usage>(job.usage ? *job.usage : model::Usage{});
  sum->add(usage);
  job.usage = std::move(sum);
}

// What the site has exit codes of batch jobs mean (RequeueExit, RequeueExitHold); Stay: nothing. As measured with Slurm
// 22.05 neither JobRequeue nor --no-requeue counts here.
AfterCompleting after_exit(const Job& job, model::ExitStatus exit, const model::ClusterConfig& config) {
  const bool ends_here =
      job.spec->kind != model::JobKind::Batch || job.het_job || (job.flags & model::kCronJob) != 0;
  if (ends_here || exit.signal != 0) return AfterCompleting::Stay;
  const auto among = [&](const std::vector<std::uint32_t>& codes) {
    return std::ranges::binary_search(codes, exit.code);
  };
  if (among(config.requeue_exits)) return AfterCompleting::Requeue;
  return among(config.requeue_hold_exits) ? AfterCompleting::SpecialExit : AfterCompleting::Stay;
}

// Slurm's words. Empty: nothing against the node.
std::string_view why_drained(const model::Node& node, const NodeJobDone& report, std::uint32_t most_failures) {
  if (!report.drain.empty()) return report.drain;
  if (report.prolog_failed) return "Prolog error";
  return most_failures > 0 && node.launch_failures >= most_failures ? "batch job complete failure" : "";
}

}  // namespace

void Applier::judge_node(NodeIndex at, const NodeJobDone& report) {
  const bool failed = report.launch_failed && !report.node_blameless && !report.prolog_failed;
  const model::Node& known = **view.nodes.find(at.value);
  const bool proven = report.is_batch_host && !report.launch_failed && known.launch_failures > 0;
  if (!failed && !proven && !report.prolog_failed && report.drain.empty()) return;
  model::Node node = node_copy(at);
  if (failed) ++node.launch_failures;
  if (proven) node.launch_failures = 0;
  if (const auto why = why_drained(node, report, config().max_launch_failures); !why.empty()) {
    node.launch_failures = 0;  // whoever resumes the node has looked after it
    if (!(node.flags & model::kNodeDrain) || node.reason.empty()) {
      node.reason = why;
      node.reason_by = kRootUid;
      node.reason_at = now;
    }
    node.flags |= model::kNodeDrain;
  }
  put_node(std::move(node));
}

// The node could not start the run: the job waits for another try, unless it cannot be tried again.
void Applier::launch_failed(Job& job, const NodeJobDone& report) {
  job.reason_detail = report.error;
  if (!may_requeue(job)) {
    end_run(job, JobState::Failed, Reason::JobLaunchFailure);
    job.exit = {.code = 1, .signal = 0};
  } else if (report.prolog_failed && config().hold_on_prolog_fail) {
    job.reason = Reason::LaunchFailedRequeuedHeld;
    job.reason_detail = "launch failed requeued held";
    end_run_to_requeue(job, AfterCompleting::RequeueHold);
  } else if (job.restarts >= config().max_batch_requeue) {
    job.reason = Reason::JobHoldMaxRequeue;
    end_run_to_requeue(job, AfterCompleting::RequeueHold);
  } else {
    job.reason = Reason::JobLaunchFailure;
    end_run_to_requeue(job, AfterCompleting::Requeue);
  }
}

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
    launch_failed(job, command);
  } else if (decides) {
    const Verdict verdict = verdict_of(command);
    job.exit = command.exit;
    if (verdict.reason == Reason::JobLaunchFailure) job.reason_detail = command.error;
    const AfterCompleting how = after_exit(job, command.exit, config());
    if (how == AfterCompleting::Stay || verdict.reason == Reason::JobLaunchFailure) {
      end_run(job, verdict.state, verdict.reason);
    } else {
      job.reason = Reason::NonZeroExitCode;
      end_run_to_requeue(job, how);
    }
  }
  add_usage(job, command.usage);
  if (decides) note_batch_step(job, command);
  note_steps(job, command.steps);
  leave_node(job, at);
  judge_node(at, command);
  const JobId id = job.id;
  if (!(job.flags & model::kCompleting)) {
    end_configuring(job);
    put(std::move(job));  // a node that only held resources gave them back early; the job runs on
  } else if (was_completing && !job.nodes_left.empty()) {
    put(std::move(job));  // the others have been told already
  } else {
    close(std::move(job));
  }
  return {.status = {}, .job = {}, .repeated = false, .jobs = {id}};
}

}  // namespace spur::state
