// SPDX-License-Identifier: Apache-2.0
#include "replay/what_if.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sched/test_cluster.h"

namespace spur::replay {
namespace {

using model::Dependency;
using sched::at_minute;
using sched::TestCluster;
using sched::wants_nodes;
using sched::wants_tasks;

class Ahead : public testing::Test {
 protected:
  Ahead() {
    cluster_.add_nodes(2, 4);
    cluster_.add_partition("debug");
  }

  model::Job& wait_for(model::Job& job, Dependency::Kind kind, std::uint32_t other, std::uint32_t delay = 0) {
    job.dependencies_left = {{kind, JobId(other), {}, false, delay}};
    job.eligible = job.accrue = {};
    return job;
  }
  void run_now(std::uint32_t id) {
    // Alone in the queue, so it starts.
    TestCluster& c = cluster_;
    for (const auto& start : sched::plan(c.view(), {}, at_minute(0)).starts)
      if (start.job == JobId(id)) c.start(start, at_minute(0));
  }
  WhatIf look(Time until = {}) {
    WhatIfOptions options;
    options.now = at_minute(1);
    options.until = until;
    const model::View view = cluster_.view();
    std::vector<model::NodePtr> nodes;
    view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) { nodes.push_back(node); });
    std::vector<model::JobPtr> jobs;
    view.jobs.for_each([&](std::uint32_t, const model::JobPtr& job) { jobs.push_back(job); });
    auto copy = view_of(nodes, *view.partitions, *view.config, jobs);
    EXPECT_TRUE(copy);
    if (change_) change_(*copy);
    return look_ahead(*copy, options);
  }
  // Minutes, by display id.
  static std::map<std::string, std::int64_t> starts(const WhatIf& future) {
    std::map<std::string, std::int64_t> found;
    for (const FutureStart& start : future.starts)
      found[model::display_id(*start.job)] = (start.job->started - at_minute(0)) / minutes(1);
    return found;
  }
  using Starts = std::map<std::string, std::int64_t>;

  TestCluster cluster_;
  std::function<void(model::View&)> change_;
};

TEST_F(Ahead, JobsFollowOneAnother) {
  cluster_.submit(wants_nodes(2, 10));
  run_now(1);
  cluster_.submit(wants_nodes(2, 20));
  cluster_.submit(wants_nodes(1, 30));
  const WhatIf future = look();
  ASSERT_EQ(future.running.size(), 1u);
  EXPECT_EQ(future.running[0].end, at_minute(10));
  EXPECT_EQ(starts(future), (Starts{{"2", 10}, {"3", 30}}));
  EXPECT_EQ(future.starts[1].end, at_minute(60));
  EXPECT_TRUE(future.waiting.empty());
  EXPECT_EQ(starts(look(at_minute(15))), (Starts{{"2", 10}}));
}

TEST_F(Ahead, MoreNodesOrFewer) {
  cluster_.submit(wants_nodes(2, 10));
  run_now(1);
  cluster_.submit(wants_nodes(1, 20));
  cluster_.submit(wants_nodes(1, 20));
  EXPECT_EQ(starts(look()), (Starts{{"2", 10}, {"3", 10}}));
  change_ = [](model::View& view) { add_nodes(view, NodeIndex(0), 1); };
  EXPECT_EQ(starts(look()), (Starts{{"2", 1}, {"3", 10}}));
  change_ = [](model::View& view) { drain_node(view, NodeIndex(1)); };
  EXPECT_EQ(starts(look()), (Starts{{"2", 10}, {"3", 30}}));
}

TEST_F(Ahead, ArraysAndTheirLimit) {
  model::JobSpec spec = wants_tasks(1, 10);
  spec.array.emplace();
  spec.array->tasks.insert_range(1, 3);
  spec.array->max_running = 2;
  cluster_.submit(spec);
  const WhatIf future = look();
  EXPECT_EQ(starts(future), (Starts{{"1_1", 1}, {"1_2", 1}, {"1_3", 11}}));
}

TEST_F(Ahead, Dependencies) {
  cluster_.submit(wants_tasks(1, 10));                                             // 1
  wait_for(cluster_.submit(wants_tasks(1, 10)), Dependency::Kind::AfterOk, 1);     // 2
  wait_for(cluster_.submit(wants_tasks(1, 10)), Dependency::Kind::After, 2, 5);    // 3
  wait_for(cluster_.submit(wants_tasks(1, 10)), Dependency::Kind::AfterNotOk, 1);  // 4: never
  cluster_.submit(wants_tasks(1, 10)).hold = model::Hold::User;                    // 5
  wait_for(cluster_.submit(wants_tasks(1, 10)), Dependency::Kind::AfterAny, 77);   // 6: nobody knows it
  const WhatIf future = look();
  EXPECT_EQ(starts(future), (Starts{{"1", 1}, {"2", 11}, {"3", 16}, {"6", 1}}));
  ASSERT_EQ(future.waiting.size(), 2u);
  EXPECT_EQ(future.waiting[0]->id, JobId(4));
  EXPECT_EQ(future.waiting[0]->reason, model::Reason::DependencyNeverSatisfied);
  EXPECT_EQ(future.waiting[1]->id, JobId(5));
}

TEST_F(Ahead, SingletonsTakeTurns) {
  model::JobSpec spec = wants_tasks(1, 10);
  spec.name = "one";
  for (int i = 0; i < 3; ++i)
    cluster_.submit(spec).dependencies_left = {{Dependency::Kind::Singleton, {}, {}, false, 0}};
  EXPECT_EQ(starts(look()), (Starts{{"1", 1}, {"2", 11}, {"3", 21}}));
}

TEST_F(Ahead, BeginTimesWakeIt) {
  model::JobSpec spec = wants_tasks(1, 10);
  spec.begin = at_minute(42);
  cluster_.submit(spec);
  EXPECT_EQ(starts(look()), (Starts{{"1", 42}}));
}

TEST_F(Ahead, DeadlinesAndShorterRuns) {
  cluster_.submit(wants_nodes(2, 20));
  run_now(1);
  model::JobSpec late = wants_nodes(1, 20);
  late.deadline = at_minute(30);
  cluster_.submit(late);  // 2: cannot be over by then
  model::JobSpec shorter = wants_nodes(1, 20);
  shorter.deadline = at_minute(30);
  shorter.time_min = TimeLimit::of_minutes(5);
  cluster_.submit(shorter);  // 3: with half of its limit
  const WhatIf future = look();
  EXPECT_EQ(starts(future), (Starts{{"3", 20}}));
  EXPECT_EQ(future.starts[0].end, at_minute(30));
  ASSERT_EQ(future.waiting.size(), 1u);
  EXPECT_EQ(future.waiting[0]->id, JobId(2));
  EXPECT_EQ(future.waiting[0]->reason, model::Reason::DeadLine);
}

TEST_F(Ahead, WithoutALimitThereIsNoEnd) {
  model::JobSpec spec = wants_nodes(2, 1);
  spec.time_limit = TimeLimit::unlimited();
  cluster_.submit(spec);
  cluster_.submit(wants_tasks(1, 10));
  const WhatIf future = look();
  EXPECT_EQ(starts(future), (Starts{{"1", 1}}));
  EXPECT_FALSE(is_set(future.starts[0].end));
  EXPECT_EQ(future.waiting.size(), 1u);
}

TEST_F(Ahead, SuspendedAndCompletingJobs) {
  cluster_.submit(wants_nodes(2, 10));
  run_now(1);
  cluster_.begin_completing(JobId(1));
  cluster_.submit(wants_nodes(2, 10));
  EXPECT_EQ(starts(look()), (Starts{{"2", 1}}));  // a second later
}

TEST_F(Ahead, TablesThatCannotBeTrue) {
  cluster_.submit(wants_nodes(2, 10));
  run_now(1);
  const model::View view = cluster_.view();
  std::vector<model::NodePtr> nodes;
  view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) { nodes.push_back(node); });
  const model::JobPtr job = *view.jobs.find(1);
  auto twin = std::make_shared<model::Job>(*job);
  twin->id = JobId(9);
  EXPECT_TRUE(view_of(nodes, *view.partitions, *view.config, {job}));
  EXPECT_FALSE(view_of(nodes, *view.partitions, *view.config, {job, twin}));
}

}  // namespace
}  // namespace spur::replay
