// SPDX-License-Identifier: Apache-2.0
#include "replay/replay.h"

#include <map>
#include <queue>
#include <tuple>

#include "base/check.h"
#include "replay/planner.h"
#include "replay/uniform_nodes.h"
#include "sched/world.h"

namespace spur::replay {
namespace {

UniformNodes nodes_of(const Machine& machine) {
  const std::uint32_t before = (machine.nodes - 1) * machine.cpus_per_node;
  return {machine.nodes, machine.cpus_per_node, machine.processors - before};
}

class Replay {
 public:
  Replay(const Workload& workload, const ReplayOptions& options)
      : workload_(workload),
        options_(options),
        world_(make_view(nodes_of(workload.machine))),
        planner_(options.params) {
    outcome_.jobs.resize(workload.jobs.size());
  }

  Outcome run() {
    const double began = watch();
    const auto& jobs = workload_.jobs;
    while (next_ < jobs.size() || !ends_.empty()) {
      const Time now = next_moment();
      if (is_set(options_.until) && now > options_.until) break;
      outcome_.ended = now;
      const bool ended = !ends_.empty() && ends_.top().first == now;
      for (; !ends_.empty() && ends_.top().first == now; ends_.pop()) world_.finish(id_of(ends_.top().second));
      for (; next_ < jobs.size() && jobs[next_].submit == now; ++next_) {
        world_.submit(id_of(next_), spec_of(jobs[next_]), now);
        if (options_.progress && next_ % 1024 == 0)
          options_.progress(static_cast<double>(next_) / static_cast<double>(jobs.size()));
      }
      schedule(now, ended);
    }
    if (is_set(options_.until) && outcome_.ended < options_.until && (next_ < jobs.size() || !ends_.empty()))
      outcome_.ended = options_.until;
    outcome_.total_seconds = watch() - began;
    return std::move(outcome_);
  }

 private:
  using End = std::pair<Time, std::size_t>;

  static JobId id_of(std::size_t job) { return JobId(static_cast<std::uint32_t>(job + 1)); }
  double watch() const { return options_.stopwatch ? options_.stopwatch() : 0; }

  Time next_moment() const {
    const bool arrives = next_ < workload_.jobs.size();
    if (ends_.empty()) return workload_.jobs[next_].submit;
    return arrives && workload_.jobs[next_].submit < ends_.top().first ? workload_.jobs[next_].submit
                                                                       : ends_.top().first;
  }

  // Jobs with equal wishes share one specification, as the tasks of an array do: the planner sees at once that they
  // are of one class.
  const std::shared_ptr<const model::JobSpec>& spec_of(const ReplayJob& job) {
    const auto limit = std::chrono::ceil<minutes>(job.limit);
    auto& spec = specs_[{job.processors, limit.count()}];
    if (!spec) {
      auto made = std::make_shared<model::JobSpec>();
      made->tasks = job.processors;
      made->time_limit =
          TimeLimit::of_minutes(static_cast<std::uint32_t>(std::min<std::int64_t>(limit.count(), kLongestMinutes)));
      spec = std::move(made);
    }
    return spec;
  }

  void schedule(Time now, bool ended) {
    bool more = true;
    while (more && !world_.view().pending.empty()) {
      const double began = watch();
      const sched::Plan plan = ended ? planner_.plan(world_.view(), now) : planner_.respond(world_.view(), now);
      outcome_.planning_seconds += watch() - began;
      ++outcome_.plans;
      more = plan.more && !plan.starts.empty();
      for (const sched::Start& start : plan.starts) {
        world_.start(start, now);
        const std::size_t number = start.job.value - 1;
        const Time end = now + workload_.jobs[number].run;
        outcome_.jobs[number] = {now, end, start.allocation->nodes.front().node.value};
        ends_.push({end, number});
      }
      world_.note(plan.waits);
    }
  }

  static constexpr std::int64_t kLongestMinutes = 35'000'000;

  const Workload& workload_;
  const ReplayOptions& options_;
  sched::World world_;
  Planner planner_;
  std::size_t next_ = 0;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::shared_ptr<const model::JobSpec>> specs_;
  Outcome outcome_;
};

}  // namespace

Outcome replay(const Workload& workload, const ReplayOptions& options) {
  return Replay(workload, options).run();
}

}  // namespace spur::replay
