// SPDX-License-Identifier: Apache-2.0
#include "sched/shared_cores.h"

#include <gtest/gtest.h>

#include "sched/plan.h"
#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

class SharedCoresTest : public ::testing::Test {
 protected:
  void make(std::uint32_t cpus, std::uint32_t jobs_per_core) {
    cluster_.add_nodes(1, cpus);
    auto& partition = cluster_.add_partition("p");
    partition.oversubscribe = model::OverSubscribe::Force;
    partition.oversubscribe_count = jobs_per_core;
  }
  // On cores that the planner chooses, from `minute` on.
  JobId run(std::uint32_t tasks, std::uint32_t limit, std::int64_t minute = 0) {
    const JobId id = cluster_.submit(wants_tasks(tasks, limit), at_minute(minute)).id;
    cluster_.carry_out(plan(cluster_.view(), {}, at_minute(minute)), at_minute(minute));
    EXPECT_EQ(cluster_.job(id.value).state, model::JobState::Running);
    return id;
  }
  std::vector<model::CpuNumber> cpus(JobId id) { return cluster_.job(id.value).allocation->nodes[0].cpus; }
  using Cpus = std::vector<model::CpuNumber>;
  TestCluster cluster_;
};

TEST_F(SharedCoresTest, WhoHasThemAndUntilWhen) {
  make(4, 3);
  const JobId a = run(3, 60), b = run(3, 30), c = run(2, 90);
  EXPECT_EQ(cpus(a), (Cpus{0, 1, 2}));
  EXPECT_EQ(cpus(b), (Cpus{0, 1, 3}));  // the idle one, and of the others the lowest
  EXPECT_EQ(cpus(c), (Cpus{2, 3}));
  const model::View view = cluster_.view();
  const Capacity capacity(view);
  SharedCores shared(view, capacity);
  std::vector<std::uint32_t> jobs, first;
  std::vector<Time> until;
  for (const SharedCore& core : shared.of(0, "p", "")) {
    jobs.push_back(core.jobs);
    first.push_back(core.first);
    until.push_back(core.until);
  }
  EXPECT_EQ(first, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(jobs, (std::vector<std::uint32_t>{2, 2, 2, 2}));
  EXPECT_EQ(until, (std::vector<Time>{at_minute(60), at_minute(60), at_minute(90), at_minute(90)}));
  EXPECT_TRUE(shared.of(0, "other", "").empty());
  const LastLeavers last(view, capacity, 0);
  const auto left_by = [&](JobId id) {
    return last.cpus_of(cluster_.job(id.value), cluster_.job(id.value).allocation->nodes[0]);
  };
  EXPECT_EQ(left_by(a), (Cpus{0, 1}));
  EXPECT_EQ(left_by(b), Cpus{});
  EXPECT_EQ(left_by(c), (Cpus{2, 3}));
}

TEST_F(SharedCoresTest, AStartOfThisCallCountsUntilItIsForgotten) {
  make(2, 4);
  const JobId a = run(1, 60);
  const model::View view = cluster_.view();
  const Capacity capacity(view);
  SharedCores shared(view, capacity);
  EXPECT_EQ(shared.alone(cluster_.job(a.value), cluster_.job(a.value).allocation->nodes[0]), Cpus{0});
  shared.note_start(*cluster_.job(a.value).allocation, at_minute(90));
  ASSERT_EQ(shared.of(0, "p", "").size(), 1u);
  EXPECT_EQ(shared.of(0, "p", "")[0].jobs, 2u);
  EXPECT_EQ(shared.of(0, "p", "")[0].until, at_minute(90));
  EXPECT_EQ(shared.alone(cluster_.job(a.value), cluster_.job(a.value).allocation->nodes[0]), Cpus{});
  EXPECT_TRUE(shared.take_changed(0));
  EXPECT_FALSE(shared.take_changed(0));
  shared.forget_starts(0);
  EXPECT_EQ(shared.of(0, "p", "")[0].jobs, 1u);
}

TEST_F(SharedCoresTest, IdleCoresComeFirst) {
  make(4, 2);
  const model::View view = cluster_.view();
  const Capacity capacity(view);
  const std::vector<Amount> least{1, 1000};
  const Beside beside = make_beside(capacity.layout(0), least, {{2, 1, {}}, {0, 2, {}}});
  EXPECT_EQ(beside.row[Columns::kCpu], 3);
  std::vector<Amount> take{2, 0};
  const auto cores = beside.split(capacity.layout(0), take.data());
  EXPECT_EQ(take[Columns::kCpu], 1);
  EXPECT_EQ(cpus_of(capacity.layout(0), cores), Cpus{2});
}

}  // namespace
}  // namespace spur::sched
