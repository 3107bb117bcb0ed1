// SPDX-License-Identifier: Apache-2.0
// Which changes accounting is told of, and the two commands that are about it alone.
#include "state/outbox.h"

#include <algorithm>
#include <map>
#include <utility>

#include "state/apply.h"

namespace spur::state {

using model::Job;
using model::JobState;
using model::StepEnd;

namespace {

// A node that is not at its users' disposal; what is merely silent may still come back.
bool out_of_order(const model::Node& node) {
  return node.down || (node.flags & (model::kNodeDrain | model::kNodeFail | model::kNodeInvalidRegistration));
}

JobState batch_state(const Job& job, const NodeJobDone& report) {
  if (report.out_of_memory) return JobState::OutOfMemory;
  if (report.exit == model::ExitStatus{}) return JobState::Completed;
  // Who ended the job ended its script.
  const bool killed = job.state == JobState::Cancelled || job.state == JobState::Timeout ||
                      job.state == JobState::Deadline || job.state == JobState::Preempted ||
                      job.state == JobState::NodeFail || job.state == JobState::Pending;
  return killed && report.exit.signal ? JobState::Cancelled : JobState::Failed;
}

}  // namespace

void Applier::note(decltype(OutboxRecord::what) what) {
  if (!config().is_accounted) return;
  if (config().accounting.no_jobs && std::holds_alternative<JobNote>(what)) return;
  if ((config().accounting.no_jobs || config().accounting.no_steps) && std::holds_alternative<StepNote>(what)) return;
  if (auto* job = std::get_if<JobNote>(&what)) {
    job->with_script = config().keep_scripts;
    job->with_environment = config().keep_environments;
  }
  Outbox& outbox = cluster.outbox_;
  if (!is_set(outbox.born)) outbox.born = now;
  const std::uint64_t number = outbox.next++;
  if (records) records->push_back({number, now, std::move(what)});
}

// The pending rest of an array changes with every task that starts: that is told by the tasks' own records.
bool Applier::is_noted(const Job* before, const Job& after) const {
  if (!config().is_accounted) return false;
  if (!before) return true;
  return before->epoch != after.epoch || before->state != after.state || before->submitted != after.submitted ||
         before->eligible != after.eligible || before->started != after.started || before->ended != after.ended ||
         before->suspended_at != after.suspended_at || before->spec != after.spec ||
         before->time_limit != after.time_limit || before->exit != after.exit ||
         before->derived_exit != after.derived_exit || before->usage != after.usage ||
         before->array_task != after.array_task || before->cancelled != after.cancelled ||
         (model::is_final(after.state) && before->reason != after.reason);
}

// The run that ends here is kept as it was; the record that goes back to the queue is another one.
void Applier::note_requeue(const Job& job) {
  if (!config().is_accounted) return;
  Job run = job;
  if (run.reason == model::Reason::NodeDown)
    run.state = JobState::NodeFail;
  else if (is_set(run.preempt_at) || run.preempt_how == model::PreemptHow::Requeue)
    run.state = JobState::Preempted;
  else
    run.state = JobState::Cancelled;
  note(JobNote{std::make_shared<const Job>(std::move(run)), true});
}

void Applier::note_steps(Job& job, const std::vector<StepEnd>& steps) {
  for (const StepEnd& step : steps) {
    if (step.exit.code > job.derived_exit.code) job.derived_exit = step.exit;
    if (config().is_accounted) note(StepNote{std::make_shared<const Job>(job), step});
  }
}

void Applier::note_batch_step(const Job& job, const NodeJobDone& report) {
  if (!config().is_accounted || job.spec->kind != model::JobKind::Batch || report.launch_failed) return;
  StepEnd step;
  step.step = model::kBatchStep;
  step.name = "batch";
  step.state = batch_state(job, report);
  step.exit = report.exit;
  step.started = job.started;
  step.ended = now;
  step.nodes = report.node;
  step.node_count = step.tasks = 1;
  if (job.allocation && !job.allocation->nodes.empty()) {
    step.cpus = static_cast<std::uint32_t>(job.allocation->nodes.front().cpus.size());
    step.memory_mib = job.allocation->nodes.front().memory_mib;
  }
  step.usage = report.batch_usage;
  note(StepNote{std::make_shared<const Job>(job), std::move(step)});
}

bool Applier::is_noted(const model::Node* before, const model::Node& after) const {
  if (!config().is_accounted) return false;
  const bool bad = out_of_order(after);
  if (!before) return bad;
  return bad != out_of_order(*before) ||
         (bad && (before->reason != after.reason || before->down != after.down ||
                  (before->flags & model::kNodeDrain) != (after.flags & model::kNodeDrain)));
}

void Applier::note_cluster() {
  if (!config().is_accounted) return;
  ClusterNote sum;
  std::map<std::string, std::uint64_t> gres;
  view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    ++sum.nodes;
    sum.cpus += node->hardware.cpus;
    sum.memory_mib += node->hardware.memory_mib;
    for (const auto& device : node->hardware.gres) {
      gres[device.name] += device.count;
      if (!device.type.empty()) gres[device.name + ":" + device.type] += device.count;
    }
  });
  // Of the rest of what is counted the names matter: so that it can be limited.
  for (const std::string& name : config().accounting.tres) {
    if (!name.starts_with("license/")) continue;
    const auto found = std::ranges::find(config().licenses, name.substr(8), &model::LicenseConfig::name);
    if (found != config().licenses.end()) gres[name] = found->count;
  }
  sum.gres.assign(gres.begin(), gres.end());
  note(std::move(sum));
}

void Applier::note_reservation(const model::Reservation& reservation, bool over) {
  if (!config().is_accounted) return;
  ReservationNote out{reservation, {}, 0, over};
  for (const auto& reserved : reservation.nodes)
    if (const model::NodePtr* node = view.nodes.find(reserved.node.value)) {
      out.nodes.push_back((*node)->name);
      out.cpus += (*node)->hardware.cpus;
    }
  note(std::move(out));
}

// Accounting begins, with what there is.
void Applier::note_everything() {
  if (!config().is_accounted) return;
  note_cluster();
  view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    if (out_of_order(*node)) note(NodeNote{node});
  });
  view.jobs.for_each([&](std::uint32_t, const model::JobPtr& job) { note(JobNote{job, false}); });
  for (const auto& reservation : *view.reservations) note_reservation(reservation, false);
}

Outcome Applier::apply(const StepsEnded& command) {
  const Job* found = model::find_job(view, command.job);
  if (!found || found->epoch != command.epoch)
    return refused(ErrorCode::StaleEpoch, "these steps are of a run that is no longer known");
  Job job = *found;
  note_steps(job, command.steps);
  if (job.derived_exit != found->derived_exit) put(std::move(job), true);
  return {};
}

Outcome Applier::apply(const OutboxAcked& command) {
  Outbox& outbox = cluster.outbox_;
  if (command.number >= outbox.next)
    return refused(ErrorCode::InvalidArgument, "the database acknowledges what it was never sent");
  outbox.acked = std::max(outbox.acked, command.number);
  return {};
}

}  // namespace spur::state
