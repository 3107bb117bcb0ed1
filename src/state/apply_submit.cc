// SPDX-License-Identifier: Apache-2.0
// SubmitJob. The controller has checked the specification against the cluster (sched::check_submit); what is checked
// here is what a race between two submits could break: tokens, ids, the number of records, dependencies.
//
// MaxJobCount counts records. Slurm counts every task of an array at submit, as each will need a record of its own;
// here the tasks that have not started are one record of a few hundred bytes, and the limit is there to bound memory.
#include <fmt/format.h>

#include "model/limits.h"
#include "state/apply.h"

namespace spur::state {

using model::Job;

namespace {

Status check_components(const SubmitJob& command) {
  const auto check = [&](const model::JobSpec* spec) -> Status {
    if (!spec) return fail(ErrorCode::InvalidArgument, "a component without a specification");
    if (spec->array) return fail(ErrorCode::InvalidArray, "Invalid job array specification");
    if (spec->uid != command.spec->uid) return fail(ErrorCode::InvalidUser, "Invalid user id");
    return {};
  };
  SPUR_TRY(check(command.spec.get()));
  for (const auto& spec : command.more) SPUR_TRY(check(spec.get()));
  return {};
}

}  // namespace

Outcome Applier::apply(const SubmitJob& command) {
  if (!command.token.empty() && command.spec) {
    if (const JobId known = cluster.tokens_.find(view, command.spec->uid, command.token))
      return {.status = {}, .job = known, .repeated = true, .jobs = {}};
  }
  if (!command.spec) return refused(ErrorCode::InvalidArgument, "a job without a specification");
  if (command.spec->array && command.spec->array->tasks.empty())
    return refused(ErrorCode::InvalidArray, "Invalid job array specification");
  if (view.jobs.size() + command.more.size() >= config().max_job_count)
    return refused(ErrorCode::TooManyJobs,
                   fmt::format("the limit of {} jobs (MaxJobCount) is reached", config().max_job_count));
  const auto count = static_cast<std::uint32_t>(command.more.size() + 1);
  const auto id = count == 1 ? free_id() : free_ids(count);
  if (!id) return refused(ErrorCode::TooManyJobs, "all job ids are in use");
  if (count > 1)
    if (auto ok = check_components(command); !ok) return refused(ok.error());
  for (std::uint32_t i = 0; i < count; ++i) {
    Job job;
    job.id = JobId{id->value + i};
    const auto& spec = i == 0 ? command.spec : command.more[i - 1];
    if (auto ok = check_dependencies(job, *spec); !ok) return refused(ok.error());
  }
  if (auto ok = check_submit_limits(command); !ok) return refused(ok.error());
  Outcome outcome = submit(command, *id, 0);
  for (std::uint32_t i = 1; i < count; ++i) submit(command, JobId{id->value + i}, i);
  for (std::uint32_t i = 0; count > 1 && i < count; ++i)
    if (const Job one = *model::find_job(view, JobId{id->value + i}); is_over(one)) cancel_with(one);
  return outcome;
}

// How many jobs the account and the QOS may have at all: what two submits at once could break.
Status Applier::check_submit_limits(const SubmitJob& command) const {
  if (!config().accounting.limits || view.accounts->empty()) return {};
  const auto jobs = command.spec->array ? command.spec->array->tasks.size() : 1 + command.more.size();
  const auto partition = command.spec->partitions.empty()
                             ? model::default_partition(view)
                             : model::find_partition(view, command.spec->partitions.front());
  const auto where = model::counted_in(view, *command.spec, association_of(*command.spec),
                                       partition ? std::string_view(partition->config.name) : "");
  const auto over = model::limit_at_submit(view, view.tallies, where, static_cast<std::uint32_t>(jobs));
  if (over == model::Reason::None) return {};
  return fail(ErrorCode::ResourceLimit, std::string(model::reason_name(over)));
}

// One job, or one component; all has been checked.
Outcome Applier::submit(const SubmitJob& command, JobId id, std::uint32_t offset) {
  Job job;
  job.id = id;
  claim(id);
  job.spec = cluster.interner_.intern(offset == 0 ? command.spec : command.more[offset - 1]);
  job.submitted = now;
  job.association = association_of(*job.spec);
  if (offset == 0) job.submit_token = command.token;
  if (!command.more.empty()) {
    job.het_job = JobId{id.value - offset};
    job.het_offset = offset;
    job.het_size = static_cast<std::uint32_t>(command.more.size() + 1);
  }
  job.time_limit = limit_in_force(*job.spec);
  job.priority_by_hand = job.spec->priority.has_value();
  job.priority = job.spec->priority.value_or(1);
  if (job.spec->hold || job.priority == 0) {
    job.hold = model::Hold::User;
    job.priority = 0;
  }
  if (job.spec->array) {
    job.array_job = id;
    job.array_pending = std::shared_ptr<const IndexSet>(job.spec, &job.spec->array->tasks);
    job.array_max_running = job.spec->array->max_running;
  }
  resolve_dependencies(job);
  settle_pending(job);
  if (!job.submit_token.empty()) cluster.tokens_.add(job);
  const bool corresponds = !job.dependencies_left.empty() && job.is_array_rest();
  const bool kill =
      job.dependency_never && job.spec->kill_on_invalid_dependency.value_or(config().kill_invalid_dependency);
  put(job);
  if (kill) {
    job.state = model::JobState::Cancelled;
    job.ended = now;
    put(job);
    ended(job);
  } else if (corresponds) {
    split_corresponding(id);
  }
  return {.status = {}, .job = id, .repeated = false, .jobs = {}};
}

}  // namespace spur::state
