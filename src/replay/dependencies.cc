// SPDX-License-Identifier: Apache-2.0
#include "replay/dependencies.h"

#include <algorithm>

namespace spur::replay {
namespace {

using model::Dependency;
using model::Job;
using Kind = Dependency::Kind;

}  // namespace

Dependencies::Dependencies(const model::View& view) {
  view.jobs.for_each([&](std::uint32_t, const model::JobPtr& job) { add(*job); });
}

void Dependencies::add(const Job& job) {
  if (job.array_job) arrays_[job.array_job.value].insert(job.id.value);
  if (job.state == model::JobState::Pending && !job.dependencies_left.empty() && !job.dependency_never)
    waiting_.insert(job.id.value);
}

void Dependencies::remove(const Job& job) {
  if (!job.array_job) return;
  const auto records = arrays_.find(job.array_job.value);
  if (records == arrays_.end()) return;
  records->second.erase(job.id.value);
  if (records->second.empty()) arrays_.erase(records);
}

bool Dependencies::is_single(const model::View& view, const Job& job) const {
  bool single = true;
  view.jobs.for_each([&](std::uint32_t, const model::JobPtr& other) {
    const bool same = other->id != job.id && other->spec->uid == job.spec->uid && other->spec->name == job.spec->name;
    if (same && (other->state != model::JobState::Pending || other->id < job.id)) single = false;
    return single;
  });
  return single;
}

Dependencies::Met Dependencies::judge(const model::View& view, const Dependency& term, const Job& job) const {
  if (term.kind == Kind::Singleton) return is_single(view, job) ? Met::Yes : Met::No;
  bool alive = false, pending = false;
  const auto look = [&](std::uint32_t id) {
    const Job* other = model::find_job(view, JobId(id));
    if (other == nullptr) return;
    const bool meant = !term.array_task || other->array_task == term.array_task ||
                       (other->is_array_rest() && other->array_pending->contains(*term.array_task));
    if (!meant) return;
    alive = true;
    pending |= other->state == model::JobState::Pending;
  };
  if (const auto records = arrays_.find(term.job.value); records != arrays_.end())
    for (const std::uint32_t id : records->second) look(id);
  else
    look(term.job.value);
  if (term.kind == Kind::After) return pending ? Met::No : Met::Yes;
  if (alive) return Met::No;
  return term.kind == Kind::AfterNotOk ? Met::Never : Met::Yes;
}

std::vector<model::JobPtr> Dependencies::review(const model::View& view, Time now) {
  std::vector<model::JobPtr> changed;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const Job* job = model::find_job(view, JobId(*at));
    if (job == nullptr || job->state != model::JobState::Pending) {
      at = waiting_.erase(at);
      continue;
    }
    std::vector<Dependency> left;
    Time not_before = now;
    bool met_one = false, never = false;
    for (const Dependency& term : job->dependencies_left) {
      const Met met = judge(view, term, *job);
      if (met == Met::Yes) not_before = std::max(not_before, now + minutes(term.delay_minutes));
      met_one |= met == Met::Yes;
      never |= met == Met::Never;
      if (met != Met::Yes) left.push_back(term);
    }
    if (job->spec->dependencies_any && met_one) left.clear();
    if (!met_one && !never) {
      ++at;
      continue;
    }
    auto next = std::make_shared<Job>(*job);
    next->dependencies_left = std::move(left);
    next->dependency_never = never && !(job->spec->dependencies_any && met_one);
    if (next->dependencies_left.empty()) {
      next->eligible = std::max(not_before, job->spec->begin);
      next->accrue = next->eligible;
    }
    at = next->dependencies_left.empty() || next->dependency_never ? waiting_.erase(at) : std::next(at);
    changed.push_back(std::move(next));
  }
  return changed;
}

}  // namespace spur::replay
