// SPDX-License-Identifier: Apache-2.0
// What the engine does between calls. That its answers are right is plan_random_test's.
#include "sched/engine.h"

#include <gtest/gtest.h>

#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

using model::Reason;

class EngineTest : public testing::Test {
 protected:
  EngineTest() {
    cluster_.add_nodes(2, 4);
    cluster_.add_partition("p");
  }
  Plan full(int minute) { return carry_out(see().plan(at_minute(minute)), minute); }
  Plan quick(int minute) { return carry_out(see().respond(at_minute(minute)), minute); }
  Engine& see() {
    engine_.see(cluster_.view());
    return engine_;
  }
  Plan carry_out(Plan plan, int minute) {
    cluster_.carry_out(plan, at_minute(minute));
    return plan;
  }
  static std::vector<std::uint32_t> started(const Plan& plan) {
    std::vector<std::uint32_t> jobs;
    for (const auto& start : plan.starts) jobs.push_back(start.job.value);
    return jobs;
  }
  using Jobs = std::vector<std::uint32_t>;

  TestCluster cluster_;
  // Every job that waits is planned.
  Engine engine_{Params{.promises = 100, .patience = Duration{0}, .backfill = model::BackfillOrder::Priority}};
};

TEST_F(EngineTest, TheFirstAnswerIsAFullOne) {
  cluster_.submit(wants_tasks(1, 10));
  EXPECT_TRUE(quick(0).full);
  EXPECT_FALSE(quick(1).full);
  EXPECT_EQ(engine_.rebuilds(), 1u);
  cluster_.partition(0).max_time = TimeLimit::of_minutes(5);  // a new configuration: all anew
  EXPECT_TRUE(quick(2).full);
  EXPECT_EQ(engine_.rebuilds(), 2u);
}

TEST_F(EngineTest, AQuickAnswerKeepsTheHolds) {
  cluster_.submit(wants_nodes(1, 60));
  cluster_.submit(wants_nodes(2, 60));  // waits for the first
  EXPECT_EQ(started(full(0)), Jobs{1});
  ASSERT_EQ(engine_.planned().size(), 1u);
  EXPECT_EQ(engine_.planned()[0].hold.start, at_minute(60));
  // An hour fits before the hold, a minute more does not. Who is new gets a hold, too.
  cluster_.submit(wants_nodes(1, 61));
  cluster_.submit(wants_nodes(1, 59));
  const Plan plan = quick(1);
  EXPECT_EQ(started(plan), Jobs{4});
  EXPECT_EQ(engine_.planned().size(), 2u);
  // The wide one could start sooner now than planned, but only the full cycle looks for that.
  cluster_.finish(JobId(1));
  cluster_.finish(JobId(4));
  cluster_.submit(wants_nodes(1, 10));
  EXPECT_EQ(started(quick(2)), (Jobs{2}));  // now it can
  EXPECT_EQ(engine_.planned().size(), 2u);
}

TEST_F(EngineTest, AHoldGoesWithItsJob) {
  cluster_.submit(wants_nodes(2, 60));
  cluster_.submit(wants_nodes(2, 60));
  cluster_.submit(wants_nodes(2, 60));
  full(0);
  EXPECT_EQ(engine_.planned().size(), 2u);
  cluster_.cancel(JobId(2));
  quick(1);
  EXPECT_EQ(engine_.planned().size(), 1u);
  auto spec = std::make_shared<model::JobSpec>(*cluster_.job(3).spec);
  spec->min_nodes = 1;  // another wish, another plan
  cluster_.job(3).spec = spec;
  quick(2);
  EXPECT_TRUE(engine_.planned().empty());
  full(3);
  EXPECT_EQ(engine_.planned().size(), 1u);
}

TEST_F(EngineTest, WhatIsRefusedIsProposedAgain) {
  cluster_.submit(wants_nodes(2, 60));
  const auto first = see().plan(at_minute(0));
  EXPECT_EQ(started(first), Jobs{1});
  EXPECT_EQ(started(see().respond(at_minute(0))), Jobs{1});  // nothing came of it
  EXPECT_EQ(started(see().plan(at_minute(0))), Jobs{1});
}

TEST_F(EngineTest, ToldOnceAndNoMore) {
  cluster_.submit(wants_nodes(2, 60));
  for (int i = 0; i < 200; ++i) cluster_.submit(wants_nodes(2, 60));
  EXPECT_EQ(full(0).waits.size(), 200u);
  EXPECT_EQ(quick(1).waits.size(), 100u);  // those that are planned
  cluster_.submit(wants_nodes(2, 60));
  EXPECT_EQ(quick(2).waits.size(), 101u);
}

TEST_F(EngineTest, CutShort) {
  engine_ = Engine({.max_starts = 1});
  for (int i = 0; i < 3; ++i) cluster_.submit(wants_nodes(1, 60));
  const Plan plan = full(0);
  EXPECT_TRUE(plan.more);
  EXPECT_EQ(started(plan), Jobs{1});
  EXPECT_TRUE(plan.waits.empty());  // nobody knows yet
  const Plan rest = quick(0);
  EXPECT_EQ(started(rest), Jobs{2});
  EXPECT_FALSE(rest.more);
  ASSERT_EQ(rest.waits.size(), 1u);
  EXPECT_EQ(rest.waits[0].reason, Reason::Resources);
}

}  // namespace
}  // namespace spur::sched
