// SPDX-License-Identifier: Apache-2.0
// --dependency. A job's terms are judged when it is submitted or edited and again whenever a job that they name
// starts or ends; what is met is dropped from dependencies_left, so nothing is ever polled.
//
// - An id that is not known (any more) counts as met, as in Slurm. What can never be met stays so, also when the job
//   that failed is purged.
// - afterok on a whole array can never be met as soon as one task has failed. afternotok is met once all have ended
//   and one has failed; as failed tasks may be purged before that, the term becomes afterany at the first failure.
// - after:JOB+MINUTES, once JOB has started, becomes a lower bound of `eligible`.
// - aftercorr joins tasks of two arrays pairwise. The waiting array is one record, so a task whose counterpart is
// over
//   gets a record of its own then; tasks without a counterpart wait for the whole other array like afterok.
// - singleton, met once, is taken back if another job of that name starts first. Joined by '?' (any of them is
// enough),
//   what was met stays met.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "state/apply.h"

namespace spur::state {

using model::Dependency;
using model::Job;
using model::JobState;
using Kind = model::Dependency::Kind;

namespace {

bool has_term(const std::vector<Dependency>& terms, Kind kind) {
  return std::any_of(terms.begin(), terms.end(), [kind](const Dependency& term) { return term.kind == kind; });
}

bool is_array(const model::View& view, JobId id) {
  if (view.arrays.contains(id.value)) return true;
  const Job* job = model::find_job(view, id);
  return job && job->array_job == id;
}

}  // namespace

Applier::Met Applier::judge_record(const Dependency& term, const Job& other, Time* not_before) const {
  const bool over = is_over(other);
  const bool ok = other.state == JobState::Completed;
  switch (term.kind) {
    case Kind::After: {
      if (other.state == JobState::Pending) return Met::No;
      const Time base = is_set(other.started) ? other.started : other.ended;
      if (term.delay_minutes > 0) *not_before = std::max(*not_before, base + minutes(term.delay_minutes));
      return Met::Yes;
    }
    case Kind::AfterOk:
    case Kind::AfterCorr:
      return !over ? Met::No : ok ? Met::Yes : Met::Never;
    case Kind::AfterNotOk:
      return !over ? Met::No : ok ? Met::Never : Met::Yes;
    default:
      return over ? Met::Yes : Met::No;
  }
}

Applier::Met Applier::judge_array(const Dependency& term, const Job& job, Time* not_before) const {
  const JobIndex::Tally tally = cluster.index_.tally(term.job);
  const bool over = tally.live == 0;
  switch (term.kind) {
    case Kind::After: {
      if (tally.waiting > 0) return Met::No;
      if (term.delay_minutes == 0) return Met::Yes;
      Time last;
      const auto look = [&](const Job* other) {
        if (other) last = std::max(last, is_set(other->started) ? other->started : other->ended);
      };
      look(model::find_job(view, term.job));  // it may be a rest that was cancelled whole
      if (const CowMap<JobId>* tasks = view.arrays.find(term.job.value))
        tasks->for_each([&](std::uint32_t, JobId id) { look(model::find_job(view, id)); });
      *not_before = std::max(*not_before, last + minutes(term.delay_minutes));
      return Met::Yes;
    }
    case Kind::AfterOk:
      return tally.bad > 0 ? Met::Never : over ? Met::Yes : Met::No;
    case Kind::AfterCorr:
      if (!job.is_array_rest() && tally.bad > 0) return Met::Never;
      return !over ? Met::No : tally.bad > 0 ? Met::Never : Met::Yes;
    case Kind::AfterNotOk:
      return !over ? Met::No : tally.bad > 0 ? Met::Yes : Met::Never;
    default:
      return over ? Met::Yes : Met::No;
  }
}

Applier::Met Applier::judge(const Dependency& term, const Job& job, Time* not_before) const {
  if (term.kind == Kind::Singleton) return cluster.index_.is_single(job) ? Met::Yes : Met::No;
  if (term.array_task) {
    const Job* other = model::find_array_task(view, term.job, *term.array_task);
    return other ? judge_record(term, *other, not_before) : Met::Yes;
  }
  if (is_array(view, term.job)) {
    if (term.kind == Kind::AfterCorr && job.array_task)
      if (const Job* other = model::find_array_task(view, term.job, *job.array_task))
        return judge_record(term, *other, not_before);
    return judge_array(term, job, not_before);
  }
  const Job* other = model::find_job(view, term.job);
  return other ? judge_record(term, *other, not_before) : Met::Yes;
}

// Most ends of an array's tasks mean nothing yet to those who wait for the whole: say so without copying a record.
bool Applier::has_news(const Job& job) const {
  return std::any_of(job.dependencies_left.begin(), job.dependencies_left.end(), [&](const Dependency& term) {
    Time ignored;
    return judge(term, job, &ignored) != Met::No || turns_into_any(term);
  });
}

bool Applier::turns_into_any(const Dependency& term) const {
  return term.kind == Kind::AfterNotOk && !term.array_task && is_array(view, term.job) &&
         cluster.index_.tally(term.job).bad > 0;
}

bool Applier::review_dependencies(Job& job) {
  const bool any = job.spec->dependencies_any;
  std::vector<Dependency> left;
  Time not_before = job.eligible;
  bool met_one = false, never_one = false;
  for (const Dependency& term : job.dependencies_left) {
    switch (judge(term, job, &not_before)) {
      case Met::Yes:
        met_one = true;
        break;
      case Met::Never:
        never_one = true;
        if (!any) left.push_back(term);
        break;
      case Met::No:
        left.push_back(term);
        if (turns_into_any(term)) left.back().kind = Kind::AfterAny;
        break;
    }
  }
  if (any && met_one) left.clear();
  const bool never = any ? left.empty() && !met_one && never_one : never_one;
  const bool changed = left != job.dependencies_left || never != job.dependency_never || not_before != job.eligible;
  job.dependencies_left = std::move(left);
  job.dependency_never = never;
  job.eligible = not_before;
  return changed;
}

void Applier::resolve_dependencies(Job& job) {
  if (has_term(job.spec->dependencies, Kind::Singleton)) index().watch_names(view.jobs);
  job.dependencies_left = job.spec->dependencies;
  // The components of a heterogeneous job must not wait for each other: the first one waits for all of them.
  if (job.is_het_follower())
    std::erase_if(job.dependencies_left, [](const Dependency& term) { return term.kind == Kind::Singleton; });
  job.dependency_never = false;
  review_dependencies(job);
}

// Whether the job would wait for itself: at once, or through the jobs that it would wait for. Only an edit can close
// a circle, as nobody waits for a job that is not there yet.
Status Applier::check_dependencies(const Job& job, const model::JobSpec& spec) const {
  for (const Dependency& term : spec.dependencies) {
    if (term.kind == Kind::Expand) return fail(ErrorCode::NotSupported, "--dependency=expand is not supported");
    if (term.kind == Kind::Singleton) continue;
    const bool own = term.job == job.id || (job.array_job && term.job == job.array_job);
    if (!own) continue;
    // Of one's own array only a task that has a record of its own, another one, may be waited for.
    const Job* other = term.array_task ? model::find_array_task(view, term.job, *term.array_task) : nullptr;
    if (other && other->id != job.id) continue;
    if (term.job == job.id || other)
      return fail(ErrorCode::InvalidDependency, "Job dependency problem: a job cannot wait for itself");
    if (!term.array_task)
      return fail(ErrorCode::CircularDependency, "Job dependency problem: a task cannot wait for its own array");
  }
  const JobIndex& jobs = cluster.index_;
  if (!jobs.waiting_for(job.id) && !(job.array_job && jobs.waiting_for(job.array_job))) return {};
  std::vector<Dependency> open = spec.dependencies;
  std::set<JobId> seen;
  while (!open.empty()) {
    const Dependency term = open.back();
    open.pop_back();
    const auto visit = [&](const Job* other) {
      if (!other || !is_waiting(*other) || !seen.insert(other->id).second) return;
      open.insert(open.end(), other->dependencies_left.begin(), other->dependencies_left.end());
    };
    if (!term.job) continue;
    if (term.array_task) {
      visit(model::find_array_task(view, term.job, *term.array_task));
    } else {
      visit(model::find_job(view, term.job));
      if (const CowMap<JobId>* tasks = view.arrays.find(term.job.value))
        tasks->for_each([&](std::uint32_t, JobId id) { visit(model::find_job(view, id)); });
    }
    if (seen.contains(job.id)) return fail(ErrorCode::CircularDependency, "Job dependency problem: circular");
  }
  return {};
}

void Applier::started(const Job& job) {
  events_.push_back({job.id, job.array_job, job.array_task, false});
}
void Applier::ended(const Job& job) {
  events_.push_back({job.id, job.array_job, job.array_task, true});
}

void Applier::review(JobId id) {
  const Job* found = model::find_job(view, id);
  if (!found || !is_waiting(*found) || found->dependency_never || !has_news(*found)) return;
  Job job = *found;
  if (!review_dependencies(job)) return;
  settle_pending(job);
  const bool kill =
      job.dependency_never && job.spec->kill_on_invalid_dependency.value_or(config().kill_invalid_dependency);
  if (!kill) return put(std::move(job));
  disable_cron(job);
  job.state = JobState::Cancelled;
  job.ended = now;
  put(std::move(job));
  ended(*model::find_job(view, id));
  cancel_with(*model::find_job(view, id));
}

void Applier::review_singleton(JobId id) {
  const Job* job = model::find_job(view, id);
  if (!job || !is_waiting(*job) || job->is_het_follower() || !has_term(job->spec->dependencies, Kind::Singleton))
    return;
  const bool waits = has_term(job->dependencies_left, Kind::Singleton);
  if (waits == !index().is_single(*job)) return;
  if (waits) return review(id);
  if (job->spec->dependencies_any || job->dependency_never) return;
  Job again = *job;
  for (const Dependency& term : job->spec->dependencies)
    if (term.kind == Kind::Singleton && !has_term(again.dependencies_left, Kind::Singleton))
      again.dependencies_left.push_back(term);
  settle_pending(again);
  put(std::move(again));
}

void Applier::split_corresponding(JobId rest_id) {
  const Job* rest = model::find_job(view, rest_id);
  if (!rest || !rest->is_array_rest() || !is_waiting(*rest)) return;
  std::vector<std::uint32_t> tasks;
  for (const Dependency& term : rest->dependencies_left) {
    if (term.kind != Kind::AfterCorr) continue;
    const CowMap<JobId>* others = view.arrays.find(term.job.value);
    if (!others) continue;
    others->for_each([&](std::uint32_t task, JobId id) {
      if (rest->array_pending->contains(task) && is_over(*model::find_job(view, id))) tasks.push_back(task);
    });
  }
  std::sort(tasks.begin(), tasks.end());
  tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
  for (const std::uint32_t task : tasks) {
    auto own = split_task(rest_id, task);
    if (!own) return;
    const JobId id = own->id;
    put(std::move(*own));
    review(id);
  }
}

void Applier::tell(const Event& event) {
  const auto tell_those = [&](JobId key) {
    const std::set<JobId>* waiting = index().waiting_for(key);
    if (!waiting) return;
    // A copy: it shrinks on the way. Ascending, so the order is the same everywhere.
    const std::vector<JobId> ids(waiting->begin(), waiting->end());
    for (const JobId id : ids) {
      const Job* job = model::find_job(view, id);
      const bool corresponds = event.over && event.task && key == event.array && job && job->is_array_rest() &&
                               has_term(job->dependencies_left, Kind::AfterCorr) &&
                               job->array_pending->contains(*event.task);
      if (corresponds) {
        if (auto own = split_task(id, *event.task)) {
          const JobId own_id = own->id;
          put(std::move(*own));
          review(own_id);
        }
      }
      review(id);
    }
  };
  tell_those(event.job);
  if (event.array && event.array != event.job) tell_those(event.array);
}

void Applier::settle() {
  while (true) {
    const std::vector<JobId> names = index().take_name_changes();
    for (const JobId id : names) review_singleton(id);
    if (!events_.empty()) {
      const Event event = events_.front();
      events_.pop_front();
      tell(event);
    } else if (names.empty()) {
      return;
    }
  }
}

}  // namespace spur::state
