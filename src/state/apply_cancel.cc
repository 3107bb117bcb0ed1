// SPDX-License-Identifier: Apache-2.0
// CancelJob: ends jobs, or gives back an interactive allocation.
//
// Pending tasks of an array: if all of the rest is meant, its one record becomes final and goes on standing for them
// (as in Slurm: "8_[1-5]" CANCELLED). If only some are meant, each gets a final record of its own, so that it can be
// seen and asked for until MinJobAge; if more than 1,000 are meant at once they get one final record together, with
// an id of its own and their indices in array_pending (listed in View::arrays under the lowest of them). Records cost
// memory, and nobody looks at a thousand tasks one by one.
#include <fmt/format.h>

#include "state/apply.h"

namespace spur::state {

using model::Job;
using model::JobState;
using model::Reason;

namespace {

constexpr std::uint64_t kMaxCancelledRecords = 1'000;

Reason reason_for(const CancelJob& command, Reason current) {
  if (command.reason != Reason::None) return command.reason;
  switch (command.final_state) {
    case JobState::Timeout:
      return Reason::TimeLimit;
    case JobState::NodeFail:
      return Reason::NodeDown;
    case JobState::Deadline:
      return Reason::DeadLine;
    case JobState::Preempted:
      return Reason::Preempted;
    default:
      return current;
  }
}

void mark_cancelled(Job& job, const CancelJob& command, Time now) {
  // What never started was not completed, nor did it fail: it is cancelled, or it missed its deadline.
  job.state = command.final_state == JobState::Deadline ? JobState::Deadline : JobState::Cancelled;
  job.reason = reason_for(command, job.reason);
  job.ended = now;
  job.claim = nullptr;
  job.claimed_from = {};
  job.cancelled = command.by_user;
  job.ended_by = command.by_user ? command.by : Uid{};
  if (command.exit) job.exit = *command.exit;
}

}  // namespace

void Applier::cancel_record(Job job, const CancelJob& command) {
  // What ends a run of scrontab's leaves the next one; what takes the job out of the queue, or off its way there, does not.
  if (command.by_user || is_waiting(job) || (job.flags & model::kCompleting)) disable_cron(job);
  if (is_waiting(job)) {
    mark_cancelled(job, command, now);
    const JobId id = job.id;
    put(std::move(job));
    ended(*model::find_job(view, id));
    return cancel_with(*model::find_job(view, id));
  }
  job.cancelled = command.by_user;
  job.ended_by = command.by_user ? command.by : Uid{};
  if (command.exit) job.exit = *command.exit;
  if (job.flags & model::kCompleting) {  // on its way back to the queue, from which it is taken now
    end_run(job, JobState::Cancelled, reason_for(command, Reason::None));
    const JobId id = job.id;
    put(std::move(job));
    return cancel_with(*model::find_job(view, id));
  }
  end_run(job, command.final_state, reason_for(command, Reason::None));
  close(std::move(job));
}

Status Applier::cancel_tasks(const Targets& targets, const CancelJob& command, std::vector<JobId>& touched) {
  if (targets.tasks.size() <= kMaxCancelledRecords) {
    SPUR_TRY(can_split(targets));
    for (const auto& range : targets.tasks.ranges())
      for (std::uint64_t task = range.first; task <= range.last; ++task)
        if (auto job = split_task(targets.rest, static_cast<std::uint32_t>(task))) {
          touched.push_back(job->id);
          cancel_record(*std::move(job), command);
        }
    return {};
  }
  const auto id = free_id();
  if (!id) return fail(ErrorCode::TooManyJobs, "all job ids are in use");
  claim(*id);
  Job rest = *model::find_job(view, targets.rest);
  Job gone = rest;
  auto tasks = std::make_shared<IndexSet>(*rest.array_pending);
  tasks->erase_all(targets.tasks);
  rest.array_pending = std::move(tasks);
  put(std::move(rest));
  gone.id = *id;
  gone.submit_token.clear();
  gone.array_pending = std::make_shared<const IndexSet>(targets.tasks);
  list_task(gone.array_job, *targets.tasks.lowest(), *id);
  touched.push_back(*id);
  mark_cancelled(gone, command, now);
  put(gone);
  ended(gone);
  return {};
}

Outcome Applier::apply(const CancelJob& command) {
  if (!model::is_final(command.final_state))
    return refused(ErrorCode::InvalidArgument, "a job can only be ended with a final state");
  auto targets = resolve(command.target);
  if (!targets) return refused(std::move(targets).error());
  // While it waits, a heterogeneous job can only be cancelled whole; what is over by itself (a deadline) ends all.
  if (command.by_user && means_component(command.target) &&
      !model::is_active(model::find_job(view, targets->records.front())->state) &&
      !model::is_final(model::find_job(view, targets->records.front())->state))
    return refused(ErrorCode::NotWholeHetJob, std::string(slurm_message(ErrorCode::NotWholeHetJob)));
  Outcome outcome;
  Status first_error = fail(ErrorCode::JobAlreadyDone, "Job/step already completing or completed");
  for (const JobId id : targets->records) {
    const Job& job = *model::find_job(view, id);
    if (model::is_final(job.state)) continue;
    outcome.jobs.push_back(id);
    cancel_record(job, command);
  }
  if (targets->rest && !model::is_final(model::find_job(view, targets->rest)->state))
    if (auto ok = cancel_tasks(*targets, command, outcome.jobs); !ok) first_error = std::move(ok);
  if (outcome.jobs.empty()) return refused(std::move(first_error).error());
  return outcome;
}

}  // namespace spur::state
