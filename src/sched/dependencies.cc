// SPDX-License-Identifier: Apache-2.0
#include "sched/dependencies.h"

#include <algorithm>

namespace spur::sched {
namespace {

using model::Dependency;
using model::Job;
using model::JobState;
using Kind = Dependency::Kind;

bool is_over(const Job& job) {
  return model::is_final(job.state) && !(job.flags & model::kCompleting);
}
bool is_waiting(const Job& job) {
  return job.state == JobState::Pending && !(job.flags & model::kCompleting);
}
bool has_singleton(const std::vector<Dependency>& terms) {
  return std::ranges::find(terms, Kind::Singleton, &Dependency::kind) != terms.end();
}
Time moved_at(const Job& job) {
  return is_set(job.started) ? job.started : job.ended;
}

}  // namespace

Dependencies::Dependencies(const model::View& view) {
  view.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
    any_ |= !job->spec->dependencies.empty() || !job->dependencies_left.empty();
    names_matter_ |= has_singleton(job->spec->dependencies) || has_singleton(job->dependencies_left);
    for (const Dependency& term : job->dependencies_left)
      corresponding_ |= term.kind == Kind::AfterCorr || term.kind == Kind::Expand;
  });
  if (!any_) return;
  view.jobs.for_each([&](std::uint32_t, const model::JobPtr& job) { count(*job, true); });
  due_.clear();
  // Nobody knows whether all has been looked at that happened before.
  view.pending.for_each([&](std::uint32_t id, const model::JobPtr& job) {
    if (!job->dependencies_left.empty()) due_.insert(id);
  });
}

void Dependencies::count(const Job& job, bool add) {
  const auto change = [add](std::uint32_t& n, bool yes) { n += yes ? (add ? 1u : ~0u) : 0u; };
  if (job.array_job) {
    Tally& tally = arrays_[job.array_job.value];
    change(tally.live, !is_over(job));
    change(tally.waiting, is_waiting(job));
    change(tally.bad, is_over(job) && job.state != JobState::Completed);
  }
  if (is_waiting(job))
    for (const Dependency& term : job.dependencies_left) {
      if (!term.job) continue;
      auto& who = waiting_for_[term.job.value];
      add ? void(who.insert(job.id.value)) : void(who.erase(job.id.value));
    }
  if (!names_matter_ || is_over(job)) return;
  Name& name = names_[{job.spec->uid.value, job.spec->name}];
  if (!name.live.empty()) due_.insert(*name.live.begin());
  add ? void(name.live.insert(job.id.value)) : void(name.live.erase(job.id.value));
  change(name.running, !is_waiting(job));
  if (!name.live.empty()) due_.insert(*name.live.begin());
}

void Dependencies::wake(const Job& job) {
  for (const JobId key : {job.id, job.array_job})
    if (const auto who = waiting_for_.find(key.value); key && who != waiting_for_.end())
      due_.insert(who->second.begin(), who->second.end());
}

void Dependencies::note(const Job* before, const Job* after) {
  if (!any_) return;
  if (before) count(*before, false);
  if (after) count(*after, true);
  wake(after ? *after : *before);
}

bool Dependencies::is_single(const Job& job) const {
  const auto at = names_.find({job.spec->uid.value, job.spec->name});
  if (at == names_.end()) return true;
  return at->second.running == 0 && (at->second.live.empty() || *at->second.live.begin() >= job.id.value);
}

Dependencies::Met Dependencies::judge_record(const Dependency& term, const Job& other, Time* not_before) const {
  const bool ok = other.state == JobState::Completed;
  if (term.kind == Kind::After) {
    if (other.state == JobState::Pending) return Met::No;
    if (term.delay_minutes > 0) *not_before = std::max(*not_before, moved_at(other) + minutes(term.delay_minutes));
    return Met::Yes;
  }
  if (!is_over(other)) return Met::No;
  if (term.kind == Kind::AfterOk || term.kind == Kind::AfterCorr) return ok ? Met::Yes : Met::Never;
  return term.kind == Kind::AfterNotOk && ok ? Met::Never : Met::Yes;
}

Dependencies::Met Dependencies::judge_array(const model::View& view, const Dependency& term, Time* not_before) const {
  const auto found = arrays_.find(term.job.value);
  const Tally tally = found == arrays_.end() ? Tally{} : found->second;
  const bool over = tally.live == 0, bad = tally.bad > 0;
  switch (term.kind) {
    case Kind::After: {
      if (tally.waiting > 0) return Met::No;
      if (term.delay_minutes == 0) return Met::Yes;
      Time last;
      const auto look = [&](const Job* other) {
        if (other) last = std::max(last, moved_at(*other));
      };
      look(model::find_job(view, term.job));
      if (const CowMap<JobId>* tasks = view.arrays.find(term.job.value))
        tasks->for_each([&](std::uint32_t, JobId id) { look(model::find_job(view, id)); });
      *not_before = std::max(*not_before, last + minutes(term.delay_minutes));
      return Met::Yes;
    }
    case Kind::AfterOk:
    case Kind::AfterCorr:
      return bad ? Met::Never : over ? Met::Yes : Met::No;
    case Kind::AfterNotOk:
      return !over ? Met::No : bad ? Met::Yes : Met::Never;
    default:
      return over ? Met::Yes : Met::No;
  }
}

// An id that nobody knows counts as met.
Dependencies::Met Dependencies::judge(const model::View& view, const Dependency& term, const Job& job,
                                      Time* not_before) const {
  if (term.kind == Kind::Singleton) return is_single(job) ? Met::Yes : Met::No;
  const Job* other =
      term.array_task ? model::find_array_task(view, term.job, *term.array_task) : model::find_job(view, term.job);
  const bool array = view.arrays.contains(term.job.value) || (other && other->array_job == term.job);
  if (!term.array_task && array) return judge_array(view, term, not_before);
  return other ? judge_record(term, *other, not_before) : Met::Yes;
}

// Null if there is nothing new.
model::JobPtr Dependencies::reviewed(const model::View& view, const Job& job, Time now) const {
  const bool any = job.spec->dependencies_any;
  const bool waits = !job.dependencies_left.empty();
  std::vector<Dependency> left;
  Time not_before = job.eligible;
  bool met_one = false, never_one = false;
  for (const Dependency& term : job.dependencies_left) {
    const Met met = judge(view, term, job, &not_before);
    met_one |= met == Met::Yes;
    never_one |= met == Met::Never;
    if (met == Met::No || (met == Met::Never && !any)) left.push_back(term);
  }
  if (any && met_one) left.clear();
  // A singleton that was met is taken back if another job of that name has started first.
  if (!any && !has_singleton(job.dependencies_left) && has_singleton(job.spec->dependencies) && !is_single(job))
    for (const Dependency& term : job.spec->dependencies)
      if (term.kind == Kind::Singleton) left.push_back(term);
  const bool never = any ? left.empty() && !met_one && never_one : never_one;
  if (left == job.dependencies_left && never == job.dependency_never && not_before == job.eligible) return nullptr;

  auto next = std::make_shared<Job>(job);
  next->dependencies_left = std::move(left);
  next->dependency_never = never;
  next->eligible = not_before;
  if (next->dependencies_left.empty() && !never && waits && job.hold == model::Hold::None) {
    next->eligible = std::max({now, job.spec->begin, not_before});
    next->accrue = next->eligible;
  } else if (!next->dependencies_left.empty()) {
    next->accrue = {};
    if (next->eligible <= now) next->eligible = {};  // a later moment stays as a lower bound
  }
  if (never && job.spec->kill_on_invalid_dependency.value_or(view.config->kill_invalid_dependency)) {
    next->state = JobState::Cancelled;
    next->ended = now;
  }
  return next;
}

std::vector<model::JobPtr> Dependencies::review(const model::View& view, Time now) {
  std::vector<model::JobPtr> changed;
  for (const std::uint32_t id : std::exchange(due_, {})) {
    const model::JobPtr* job = view.pending.find(id);
    if (!job || (*job)->dependency_never) continue;
    if (auto next = reviewed(view, **job, now)) changed.push_back(std::move(next));
  }
  return changed;
}

}  // namespace spur::sched
