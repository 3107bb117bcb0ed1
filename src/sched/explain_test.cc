// SPDX-License-Identifier: Apache-2.0
// What explain() says, case by case. (explain_random_test.cc tries it out on random states.)
#include "sched/explain.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

constexpr Params kAll{
    .max_starts = 0xffffffffu, .promises = 1000, .patience = Duration{0}, .backfill = model::BackfillOrder::Priority};

const Change* find_option(const Explanation& explanation, const std::string& option) {
  const auto at = std::ranges::find(explanation.changes, option, &Change::option);
  return at == explanation.changes.end() ? nullptr : &*at;
}

// Four nodes of which three are busy for an hour, and a job of four behind them.
TestCluster behind_a_wide_job() {
  TestCluster cluster;
  cluster.add_nodes(4, 64);
  cluster.add_partition("all");
  cluster.submit(wants_nodes(3, 60));
  cluster.carry_out(plan(cluster.view(), kAll, at_minute(0)), at_minute(0));
  cluster.submit(wants_nodes(4, 60));
  return cluster;
}

TEST(Explain, NamesTheRunningJobAndTheOneAhead) {
  TestCluster cluster = behind_a_wide_job();
  const auto wide = explain(cluster.view(), kAll, JobId(2), at_minute(10));
  ASSERT_TRUE(wide);
  EXPECT_FALSE(wide->starts_now);
  EXPECT_EQ(wide->reason, model::Reason::Resources);
  EXPECT_EQ(wide->start, at_minute(60));
  ASSERT_EQ(wide->blockers.size(), 1u);
  EXPECT_EQ(wide->blockers[0].kind, Blocker::Kind::RunningJob);
  EXPECT_EQ(wide->blockers[0].jobs, std::vector{JobId(1)});

  cluster.submit(wants_nodes(1, 55));
  const auto small = explain(cluster.view(), kAll, JobId(3), at_minute(10));
  ASSERT_TRUE(small);
  ASSERT_EQ(small->blockers.size(), 1u);
  EXPECT_EQ(small->blockers[0].kind, Blocker::Kind::Queue);
  EXPECT_EQ(small->blockers[0].jobs, std::vector{JobId(2)});
}

TEST(Explain, ATimeLimitThatFillsTheHoleIsNamedToTheMinute) {
  TestCluster cluster = behind_a_wide_job();
  cluster.submit(wants_nodes(1, 240));
  const auto told = explain(cluster.view(), kAll, JobId(3), at_minute(10));
  ASSERT_TRUE(told);
  const Change* change = find_option(*told, "-t");
  ASSERT_TRUE(change);
  EXPECT_EQ(change->now, "4:00:00");
  EXPECT_EQ(change->instead, "50:00") << "until the wide job is due";
  EXPECT_EQ(change->start, at_minute(10));
}

TEST(Explain, FewerNodes) {
  TestCluster cluster = behind_a_wide_job();
  const auto told = explain(cluster.view(), kAll, JobId(2), at_minute(10));
  ASSERT_TRUE(told);
  const Change* change = find_option(*told, "-N");
  ASSERT_TRUE(change);
  EXPECT_EQ(change->instead, "1");
}

TEST(Explain, OwnReasonsAndThoseOfThePartition) {
  TestCluster cluster;
  cluster.add_nodes(1, 4);
  cluster.add_partition("down").state = model::PartitionState::Down;
  auto& job = cluster.submit(wants_tasks(1, 10));
  job.hold = model::Hold::User;
  job.priority = 0;
  const auto told = explain(cluster.view(), kAll, JobId(1), at_minute(0));
  ASSERT_TRUE(told);
  ASSERT_EQ(told->blockers.size(), 2u);
  EXPECT_EQ(told->blockers[0].kind, Blocker::Kind::Hold);
  EXPECT_EQ(told->blockers[1].kind, Blocker::Kind::PartitionState);
  EXPECT_EQ(told->blockers[1].partition, "down");
}

TEST(Explain, WhatCanNeverRunIsTheRequestsOwnFault) {
  TestCluster cluster;
  cluster.add_nodes(2, 4);
  cluster.add_partition("all");
  cluster.submit(wants_nodes(3, 10));
  const auto told = explain(cluster.view(), kAll, JobId(1), at_minute(0));
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->impossible);
  EXPECT_TRUE(told->blockers.empty());
  const Change* change = find_option(*told, "-N");
  ASSERT_TRUE(change);
  EXPECT_EQ(change->instead, "2");
  EXPECT_FALSE(explain(cluster.view(), kAll, JobId(9), at_minute(0)));
}

TEST(Explain, NodesThatAreOutOfService) {
  TestCluster cluster;
  cluster.add_nodes(3, 4);
  cluster.add_partition("all");
  cluster.node(1).down = true;
  cluster.node(2).flags |= model::kNodeDrain;
  cluster.submit(wants_nodes(2, 10));
  const auto told = explain(cluster.view(), kAll, JobId(1), at_minute(0));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->reason, model::Reason::ReqNodeNotAvail);
  ASSERT_EQ(told->blockers.size(), 1u) << "one of the two is enough";
  EXPECT_EQ(told->blockers[0].kind, Blocker::Kind::Node);
}

}  // namespace
}  // namespace spur::sched
