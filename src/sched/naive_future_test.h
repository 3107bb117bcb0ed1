// SPDX-License-Identifier: Apache-2.0
// A cluster that lives on, minute by minute, while nobody does anything and all jobs use their limits; forward.h
// without a single shortcut. A fresh plan is made every minute whether or not something happened, and all jobs are
// looked at for everything. For states in which things happen on whole minutes only.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "sched/plan.h"
#include "sched/test_cluster.h"

namespace spur::sched {

class NaiveFuture {
 public:
  NaiveFuture(TestCluster cluster, Params params) : cluster_(std::move(cluster)), params_(params) {}

  // What is due by then.
  void let_happen(Time at) {
    pass(at);
    review(at);
  }
  TestCluster take_cluster() { return std::move(cluster_); }

  // The moment at which the job, or the first task of it, starts; not set: not until `until`.
  Time start_of(JobId job, Time now, Time until) {
    for (Time at = now; at <= until; at += minutes(1)) {
      pass(at);
      for (bool again = true; again;) {
        review(at);
        const Plan made = plan(cluster_.view(), params_, at);
        cluster_.carry_out(made, at);
        again = !made.starts.empty();
        for (const Start& start : made.starts)
          if (start.job == job) return at;
      }
    }
    return {};
  }

 private:
  using Kind = model::Dependency::Kind;
  enum class Met { No, Yes, Never };

  static bool pending(const model::Job& job) { return job.state == model::JobState::Pending; }
  static bool over(const model::Job& job) { return model::is_final(job.state); }
  static bool good(const model::Job& job) { return job.state == model::JobState::Completed; }

  std::vector<model::Job*> all() {
    std::vector<model::Job*> found;
    for (const auto& [id, job] : cluster_.jobs()) found.push_back(job.get());
    return found;
  }

  void pass(Time at) {
    for (model::Job* job : all()) {
      const bool runs = job->state == model::JobState::Running;
      if (runs && job->time_limit.is_finite() && job->started + job->time_limit.duration() <= at)
        cluster_.finish(job->id);
      if (pending(*job) && is_set(job->spec->deadline) && job->spec->deadline <= at) {
        job->state = model::JobState::Deadline;
        job->ended = at;
      }
    }
    auto list = *cluster_.reservations;
    for (auto r = list.begin(); r != list.end();) {
      if (r->end > at) {
        ++r;
        continue;
      }
      for (model::Job* job : all()) leave(*job, *r, at);
      if (r->has(model::kResvDaily)) {
        r->start += hours(24);
        r->end += hours(24);
        ++r;
      } else {
        r = list.erase(r);
      }
    }
    cluster_.reservations = std::make_shared<const std::vector<model::Reservation>>(std::move(list));
  }

  void leave(model::Job& job, const model::Reservation& r, Time at) {
    const bool inside = job.state == model::JobState::Running && job.allocation->reservation == r.name;
    if (inside && !r.has(model::kResvFlex)) {
      cluster_.finish(job.id);
      job.state = model::JobState::Timeout;
      job.ended = at;
    }
    if (!pending(job) || job.spec->reservation != r.name || r.has(model::kResvDaily)) return;
    auto spec = std::make_shared<model::JobSpec>(*job.spec);
    spec->reservation.clear();
    job.spec = std::move(spec);
    if (r.has(model::kResvNoHoldJobs)) return;
    job.hold = model::Hold::User;
    job.priority = 0;
  }

  // Over and over, as one job that can never start may be what another one waits for.
  void review(Time at) {
    for (bool changed = true; changed;) {
      changed = false;
      for (model::Job* job : all()) changed |= pending(*job) && !job->dependency_never && review(*job, at);
    }
  }

  bool review(model::Job& job, Time at) {
    const auto before = job.dependencies_left;
    const auto is_singleton = [](const model::Dependency& term) { return term.kind == Kind::Singleton; };
    bool yes = false, never = false;
    std::vector<model::Dependency> left;
    Time bound = job.eligible;
    for (const model::Dependency& term : before) {
      const Met met = judge(term, job, &bound);
      yes |= met == Met::Yes;
      never |= met == Met::Never;
      if (met != Met::Yes) left.push_back(term);
    }
    if (job.spec->dependencies_any) {
      if (yes) left.clear();
      never = never && !yes &&
              std::ranges::all_of(left, [&](const auto& term) { return judge(term, job, &bound) == Met::Never; });
    } else if (std::ranges::none_of(left, is_singleton) &&
               std::ranges::any_of(job.spec->dependencies, is_singleton) && !single(job)) {
      left.push_back({Kind::Singleton, {}, {}, false, 0});
    }
    if (left == before && !never) return false;
    job.dependencies_left = left;
    job.eligible = bound;
    job.dependency_never = never;
    if (left.empty() && !before.empty()) job.eligible = job.accrue = std::max({at, bound, job.spec->begin});
    if (!left.empty()) job.accrue = {};
    if (never && cluster_.config->kill_invalid_dependency) {
      job.state = model::JobState::Cancelled;
      job.ended = at;
    }
    return true;
  }

  bool single(const model::Job& job) {
    return std::ranges::none_of(all(), [&](const model::Job* other) {
      if (other == &job || over(*other) || other->spec->name != job.spec->name) return false;
      return !pending(*other) || other->id < job.id;
    });
  }

  Met judge(const model::Dependency& term, const model::Job& job, Time* bound) {
    if (term.kind == Kind::Singleton) return single(job) ? Met::Yes : Met::No;
    bool all_moved = true, all_over = true, one_bad = false;
    Time last;
    for (const model::Job* other : all()) {
      if (other->id != term.job && other->array_job != term.job) continue;
      all_moved &= !pending(*other);
      all_over &= over(*other);
      one_bad |= over(*other) && !good(*other);
      last = std::max(last, is_set(other->started) ? other->started : other->ended);
    }
    switch (term.kind) {
      case Kind::After:
        if (all_moved && term.delay_minutes > 0) *bound = std::max(*bound, last + minutes(term.delay_minutes));
        return all_moved ? Met::Yes : Met::No;
      case Kind::AfterOk:
        return one_bad ? Met::Never : all_over ? Met::Yes : Met::No;
      case Kind::AfterNotOk:
        return !all_over ? Met::No : one_bad ? Met::Yes : Met::Never;
      default:
        return all_over ? Met::Yes : Met::No;
    }
  }

  TestCluster cluster_;
  Params params_;
};

}  // namespace spur::sched
