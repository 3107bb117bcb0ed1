// SPDX-License-Identifier: Apache-2.0
#include "replay/reference.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>

#include "replay/pool_profile.h"

namespace spur::replay {
namespace {

using Number = std::uint32_t;  // of a job
using Order = ReferencePolicy::Order;

// The place of each job in that order, from the front.
std::vector<Number> ranks(const std::vector<ReplayJob>& jobs, Order order) {
  std::vector<Number> sorted(jobs.size()), rank(jobs.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  const auto size = [&](Number n) {
    return order == Order::Arrival    ? 0
           : order == Order::Shortest ? jobs[n].limit.count()
                                      : jobs[n].limit.count() * jobs[n].processors;
  };
  std::ranges::stable_sort(sorted, {}, size);
  for (Number i = 0; i < sorted.size(); ++i) rank[sorted[i]] = i;
  return rank;
}

class ReferenceRun {
 public:
  ReferenceRun(const Workload& workload, const ReferencePolicy& policy, const Progress& progress)
      : jobs_(workload.jobs),
        policy_(policy),
        progress_(progress),
        front_{ranks(jobs_, policy.queue), {}},
        behind_{ranks(jobs_, policy.backfill_order), {}},
        free_(workload.machine.processors) {
    outcome_.jobs.resize(jobs_.size());
    planned_end_.resize(jobs_.size());
  }

  Outcome run() {
    Number next = 0;
    while (next < jobs_.size() || !ends_.empty()) {
      now_ = ends_.empty() || (next < jobs_.size() && jobs_[next].submit < ends_.top().first) ? jobs_[next].submit
                                                                                              : ends_.top().first;
      for (; !ends_.empty() && ends_.top().first == now_; ends_.pop()) finish(ends_.top().second);
      for (; next < jobs_.size() && jobs_[next].submit == now_; ++next) {
        front_.insert(next);
        if (two_orders()) behind_.insert(next);
        if (progress_ && next % 4096 == 0) progress_(static_cast<double>(next) / static_cast<double>(jobs_.size()));
      }
      schedule();
    }
    outcome_.ended = now_;
    return std::move(outcome_);
  }

 private:
  // Waiting jobs in one order.
  struct Queue {
    std::vector<Number> rank, waiting;
    void insert(Number job) {
      const auto at = std::ranges::lower_bound(waiting, rank[job], {}, [&](Number n) { return rank[n]; });
      waiting.insert(at, job);
    }
  };

  bool two_orders() const { return policy_.backfill && policy_.backfill_order != policy_.queue; }
  bool started(Number job) const { return is_set(outcome_.jobs[job].start); }

  void start(Number number) {
    const ReplayJob& job = jobs_[number];
    free_ -= job.processors;
    outcome_.jobs[number] = {now_, now_ + job.run, 0};
    ends_.push({now_ + job.run, number});
    planned_end_[number] = planned_ends_.insert({now_ + job.limit, job.processors});
  }
  void finish(Number number) {
    free_ += jobs_[number].processors;
    planned_ends_.erase(planned_end_[number]);
  }

  void schedule() {
    std::size_t first = 0;
    while (first < front_.waiting.size() && jobs_[front_.waiting[first]].processors <= free_)
      start(front_.waiting[first++]);
    const bool left = policy_.backfill && first < front_.waiting.size() && free_ > 0;
    bool any = first > 0;
    if (left) any |= policy_.promises > 1 ? backfill_around_promises(first) : backfill(front_.waiting[first]);
    if (!any) return;
    std::erase_if(front_.waiting, [&](Number n) { return started(n); });
    std::erase_if(behind_.waiting, [&](Number n) { return started(n); });
  }

  PoolProfile profile() const {
    PoolProfile profile(now_, free_);
    for (const auto& [end, processors] : planned_ends_)
      profile.comes_back(std::max(end, now_ + seconds(1)), processors);
    return profile;
  }

  bool backfill_around_promises(std::size_t first) {
    PoolProfile future = profile();
    bool any = false;
    std::uint32_t promised = 0;
    std::vector<Number> passed;  // had their turn
    for (std::size_t i = first; i < front_.waiting.size(); ++i) {
      const Number number = front_.waiting[i];
      const ReplayJob& job = jobs_[number];
      if (promised > 0 && (promised >= policy_.promises || now_ - job.submit <= policy_.patience)) break;
      const Time when = future.earliest(job.limit, job.processors);
      future.take(when, job.limit, job.processors);
      passed.push_back(number);
      if (when > now_) {
        ++promised;
        continue;
      }
      start(number);
      any = true;
    }
    std::ranges::sort(passed);
    for (const Number number : two_orders() ? behind_.waiting : front_.waiting) {
      if (free_ == 0) break;
      const ReplayJob& job = jobs_[number];
      if (job.processors > free_ || started(number) || std::ranges::binary_search(passed, number)) continue;
      if (!future.fits(now_, job.limit, job.processors)) continue;
      future.take(now_, job.limit, job.processors);
      start(number);
      any = true;
    }
    return any;
  }

  // Jobs that end before `first` can start, or leave it enough processors.
  bool backfill(Number first) {
    std::uint32_t then = free_;
    Time shadow = now_;
    for (const auto& [end, processors] : planned_ends_) {
      then += processors;
      shadow = end;
      if (then >= jobs_[first].processors) break;
    }
    std::uint32_t extra = then - jobs_[first].processors;
    bool any = false;
    for (const Number number : two_orders() ? behind_.waiting : front_.waiting) {
      const ReplayJob& job = jobs_[number];
      if (job.processors > free_ || number == first || started(number)) continue;
      if (now_ + job.limit > shadow) {
        if (job.processors > extra) continue;
        extra -= job.processors;
      }
      start(number);
      any = true;
      if (free_ == 0) break;
    }
    return any;
  }

  using End = std::pair<Time, Number>;
  const std::vector<ReplayJob>& jobs_;
  const ReferencePolicy& policy_;
  const Progress& progress_;
  Queue front_, behind_;
  std::uint32_t free_;
  Time now_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::multimap<Time, std::uint32_t> planned_ends_;  // of running jobs, by what they asked for
  std::vector<std::multimap<Time, std::uint32_t>::iterator> planned_end_;
  Outcome outcome_;
};

}  // namespace

Outcome replay_reference(const Workload& workload, const ReferencePolicy& policy, const Progress& progress) {
  return ReferenceRun(workload, policy, progress).run();
}

}  // namespace spur::replay
