// SPDX-License-Identifier: Apache-2.0
// UpdateJob (scontrol update). A pending job may get a whole new specification; while it runs only what does not
// shape the allocation may differ (name, comments, mail, ...), and the time limit and priority beside it.
#include <fmt/format.h>

#include "model/counting.h"
#include "model/limits.h"
#include "state/apply.h"

namespace spur::state {

using model::Job;
using model::JobSpec;

namespace {

// `spec` with the fields of `from` that may change at any time.
JobSpec with_soft_fields(const JobSpec& spec, const JobSpec& from) {
  JobSpec out = spec;
  out.name = from.name;
  out.comment = from.comment;
  out.admin_comment = from.admin_comment;
  out.extra = from.extra;
  out.wckey = from.wckey;
  out.mail_types = from.mail_types;
  out.mail_user = from.mail_user;
  out.nice = from.nice;
  out.requeue = from.requeue;
  out.time_limit = from.time_limit;
  out.deadline = from.deadline;
  out.priority = from.priority;
  return out;
}

Status may_become(const Job& job, const JobSpec& spec) {
  if (spec.uid != job.spec->uid) return fail(ErrorCode::InvalidUser, "Invalid user id");
  // Its table says what it is; a deadline or a dependency could end it for good behind the table's back.
  if (job.flags & model::kCronJob)
    return fail(ErrorCode::InvalidArgument, "Cannot modify scrontab jobs through scontrol");
  if (spec.array != job.spec->array) return fail(ErrorCode::InvalidArray, "the tasks of an array cannot be changed");
  if (spec.max_nodes && spec.min_nodes > *spec.max_nodes &&
      (spec.min_nodes != job.spec->min_nodes || spec.max_nodes != job.spec->max_nodes) && is_waiting(job))
    return fail(ErrorCode::InvalidNodeCount, "Node count specification invalid");
  if (is_waiting(job)) return {};
  if (with_soft_fields(*job.spec, spec) != spec)
    return fail(ErrorCode::JobNotPending, "Job is no longer pending execution");
  return {};
}

}  // namespace

// Where it counts from now on there must be a place for it, as if it were submitted there.
Status Applier::check_move(const Job& job, const JobSpec& to) const {
  if (!config().accounting.limits || view.accounts->empty()) return {};
  const auto partition = [&](const JobSpec& spec) {
    const auto* found =
        spec.partitions.empty() ? model::default_partition(view) : model::find_partition(view, spec.partitions.front());
    return found ? std::string_view(found->config.name) : std::string_view();
  };
  const std::uint32_t row = association_of(to);
  if (row == job.association && to.qos == job.spec->qos && partition(to) == partition(*job.spec)) return {};
  model::Tallies without = view.tallies;
  const auto part = model::part_of(view, job);
  if (job.association != 0)
    model::recount(without, view, model::counted_in(view, *job.spec, job.association, partition(*job.spec)), part, {},
                   now);
  const auto over = model::limit_at_submit(view, without, model::counted_in(view, to, row, partition(to)), part.submitted);
  if (over == model::Reason::None) return {};
  return fail(ErrorCode::ResourceLimit, std::string(model::reason_name(over)));
}

Outcome Applier::apply(const UpdateJob& command) {
  const SpecPtr spec = cluster.interner_.intern(command.spec);
  const auto check = [&](const Job& job) -> Status {
    if (model::is_final(job.state)) return fail(ErrorCode::JobFinished, "Job has already finished");
    if (spec) SPUR_TRY(may_become(job, *spec));
    if (spec && is_waiting(job)) SPUR_TRY(check_move(job, *spec));
    if (command.dependencies_changed) {
      if (!is_waiting(job)) return fail(ErrorCode::JobNotPending, "Job is no longer pending execution");
      SPUR_TRY(check_dependencies(job, spec ? *spec : *job.spec));
    }
    if (command.priority.value_or(0) > 0 && job.hold != model::Hold::None)  // also one that runs, for its requeue
      return fail(ErrorCode::JobHeld, "Job is in held state, pending scheduler release");
    if (command.array_max_running && !job.array_job)
      return fail(ErrorCode::InvalidArray, fmt::format("job {} is not an array", job.id.value));
    return {};
  };
  return on_targets(command.target, check, [&](Job job) {
    const bool waiting = is_waiting(job);
    // Who is told to do something else has to be weighed anew.
    if (spec || command.time_limit || command.priority) forget_claim(job);
    const bool begin_changed = spec && spec->begin != job.spec->begin;
    // A limit that was given later than the specification stays with the job in another partition.
    const bool own_limit =
        job.time_limit != limit_in_force(*job.spec) && spec && spec->time_limit == job.spec->time_limit;
    const bool limit_changed = spec && waiting && !own_limit &&
                               (spec->time_limit != job.spec->time_limit || spec->partitions != job.spec->partitions);
    if (spec) job.spec = spec;
    if (spec && waiting) job.association = association_of(*spec);
    if (command.time_limit && command.time_limit->is_set()) {
      job.time_limit = *command.time_limit;
    } else if (command.time_limit || limit_changed) {
      job.time_limit = limit_in_force(*job.spec);
    }
    if (command.array_max_running) job.array_max_running = *command.array_max_running;
    if (command.priority) {
      if (*command.priority == 0) {
        job.hold = model::Hold::Admin;
        job.priority = 0;
      } else {
        job.priority = *command.priority;
        job.priority_by_hand = true;
      }
    }
    if (waiting && begin_changed) job.eligible = job.accrue = {};
    if (waiting && command.dependencies_changed) {
      job.eligible = job.accrue = {};
      resolve_dependencies(job);
    }
    if (waiting) settle_pending(job);
    const JobId id = job.id;
    put(std::move(job));
    if (command.dependencies_changed) split_corresponding(id);
  });
}

}  // namespace spur::state
