// SPDX-License-Identifier: Apache-2.0
// Sharing delays nobody: random clusters whose jobs run to their limits are played from event to event, and whoever is the
// first of all and was promised a start has it by then. Nothing fails and nobody ends early or late, so there is no
// excuse. (Of those behind, one that is before another may start sooner than planned, where that was to be.)
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "sched/engine.h"
#include "sched/test_cluster.h"
#include "sched/test_dice.h"

namespace spur::sched {
namespace {

class SharingLife {
 public:
  explicit SharingLife(std::uint64_t seed) : dice_(seed) {
    auto& config = *cluster_.config;
    config.memory_as = dice_.one_in(3) ? model::MemoryAs::Consumable : model::MemoryAs::NotConsumable;
    config.cores_whole = dice_.one_in(2);
    for (std::uint32_t n = 0, nodes = dice_.between(1, 4); n < nodes; ++n) {
      auto& hardware = cluster_.add_node(fmt::format("n{}", n), dice_.between(2, 8), 1000).hardware;
      if (!dice_.one_in(3)) continue;
      hardware.sockets = 2;
      hardware.cores_per_socket = dice_.between(1, 3);
      hardware.threads_per_core = dice_.between(1, 2);
      hardware.cpus = hardware.sockets * hardware.cores_per_socket * hardware.threads_per_core;
    }
    using enum model::OverSubscribe;
    const model::OverSubscribe how[] = {Force, Yes, No, Force};
    for (std::uint32_t p = 0, partitions = dice_.between(1, 3); p < partitions; ++p) {
      auto& partition = cluster_.add_partition(fmt::format("p{}", p));
      partition.oversubscribe = how[dice_.below(4)];
      partition.oversubscribe_count = dice_.between(2, 4);
    }
    Params params;
    params.promises = dice_.between(1, 5);
    params.patience = Duration{0};
    engine_ = Engine(params);
  }

  void play() {
    for (int step = 0; step < 40; ++step) {
      for (std::uint32_t i = step < 30 ? dice_.below(3) : 0; i > 0; --i) submit();
      ASSERT_NO_FATAL_FAILURE(plan());
      now_ = next_event();
      for (const JobId id : over()) cluster_.finish(id);
    }
  }

  std::size_t kept_ = 0;
  std::size_t shared() const { return cluster_.shared_cpus; }

 private:
  void submit() {
    model::JobSpec spec;
    spec.time_limit = TimeLimit::of_minutes(dice_.between(1, 12) * 5);
    spec.partitions = {fmt::format("p{}", dice_.below(static_cast<std::uint32_t>(cluster_.partition_count())))};
    spec.tasks = dice_.between(1, 6);
    if (dice_.one_in(4)) spec.min_nodes = dice_.between(1, 2);
    if (dice_.one_in(4)) spec.tasks_per_node = dice_.between(1, 3);
    if (dice_.one_in(5)) spec.cpus_per_task = 2;
    spec.oversubscribe = dice_.one_in(2);
    if (dice_.one_in(8)) spec.exclusive = model::Exclusive::Node;
    if (dice_.one_in(4)) spec.memory_per_node_mib = dice_.between(1, 5) * 100;
    cluster_.submit(spec, now_);
  }
  void plan() {
    engine_.see(cluster_.view());
    const Plan plan = dice_.one_in(3) ? engine_.respond(now_) : engine_.plan(now_);
    for (const auto& start : plan.starts) {
      const auto promise = promised_.find(start.job);
      if (promise == promised_.end()) continue;
      ++kept_;
      promised_.erase(promise);
    }
    cluster_.carry_out(plan, now_);
    const JobId first = first_of_all();
    for (const auto& wait : plan.waits) {
      if (wait.job != first || !wait.promised || !is_set(wait.expected_start)) continue;
      const auto [at, added] = promised_.try_emplace(wait.job, wait.expected_start);
      at->second = std::min(at->second, wait.expected_start);
    }
    for (const auto& [job, by] : promised_) ASSERT_GT(by, now_) << "job " << job.value << " was promised a start";
  }
  JobId first_of_all() const {
    for (const auto& [id, job] : cluster_.jobs())
      if (job->state == model::JobState::Pending) return id;
    return {};
  }
  std::vector<JobId> over() {
    std::vector<JobId> ids;
    for (const auto& [id, job] : cluster_.jobs())
      if (job->state == model::JobState::Running && job->started + job->time_limit.duration() <= now_)
        ids.push_back(id);
    return ids;
  }
  // The next end, or something in between at which others come.
  Time next_event() {
    Time next = now_ + minutes(30);
    for (const auto& [id, job] : cluster_.jobs())
      if (job->state == model::JobState::Running) next = std::min(next, job->started + job->time_limit.duration());
    if (dice_.one_in(3)) next = std::min<Time>(next, now_ + minutes(dice_.between(1, 4)));
    return next;
  }

  Dice dice_;
  TestCluster cluster_;
  Engine engine_;
  Time now_ = at_minute(0);
  std::map<JobId, Time> promised_;
};

TEST(PlanSharing, DelaysNobodyWhoWasPromisedAStart) {
  std::size_t kept = 0, shared = 0;
  const auto [from, to] = seeds(1000);
  for (std::uint64_t seed = from; seed <= to; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SharingLife life(seed);
    ASSERT_NO_FATAL_FAILURE(life.play());
    kept += life.kept_;
    shared += life.shared();
  }
  if (to - from < 999) return;
  EXPECT_GT(kept, 2000u);
  EXPECT_GT(shared, 5'000u);
}

}  // namespace
}  // namespace spur::sched
