// SPDX-License-Identifier: Apache-2.0
// Plays case by case; explain_random_test.cc compares them with a naive one.
#include "sched/forward.h"

#include <gtest/gtest.h>

#include <map>

#include "sched/outlook.h"
#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

constexpr Params kParams{.max_starts = 0xffffffffu};

// Two nodes of four CPUs; job 1 has both until minute 10.
class Play : public testing::Test {
 protected:
  Play() {
    cluster_.add_nodes(2, 4);
    cluster_.add_partition("all");
    cluster_.submit(wants_nodes(2, 10));
    cluster_.carry_out(plan(cluster_.view(), kParams, at_minute(0)), at_minute(0));
  }

  Seen look(std::uint32_t job, const OutlookLimits& limits = {}) {
    const model::View view = cluster_.view();
    return Outlook(view, kParams, JobId(job), at_minute(1), limits).look();
  }
  // Minutes; -1: never, -2: unknown.
  static std::int64_t minute(const Seen& seen) {
    if (seen.how == Seen::How::Unknown) return -2;
    return seen.how == Seen::How::Starts ? (seen.start - at_minute(0)) / minutes(1) : -1;
  }
  void expect_sure(std::uint32_t job, std::int64_t at) {
    const Seen seen = look(job);
    EXPECT_EQ(minute(seen), at) << "job " << job;
    EXPECT_TRUE(seen.sure) << "job " << job;
  }
  model::Reservation& reserve(std::int64_t from, std::int64_t to, std::uint64_t flags) {
    auto list = std::make_shared<std::vector<model::Reservation>>(1);
    model::Reservation& r = list->front();
    r.name = "r";
    r.flags = flags | model::kResvSpecNodes;
    r.start = at_minute(from);
    r.end = at_minute(to);
    r.nodes = {{.node = NodeIndex(0)}, {.node = NodeIndex(1)}};
    cluster_.reservations = list;
    return r;
  }

  TestCluster cluster_;
};

TEST_F(Play, JobsFollowOneAnother) {
  cluster_.submit(wants_nodes(2, 20));
  cluster_.submit(wants_nodes(1, 5));
  expect_sure(2, 10);
  expect_sure(3, 30);
}

// In the order of the queue the third and the fourth would have the hole before the second; that is what the planner
// expects.
TEST_F(Play, TheSmallestFillTheHole) {
  TestCluster cluster;
  cluster.add_nodes(3, 4);
  cluster.add_partition("all");
  cluster.submit(wants_nodes(1, 40));
  cluster.submit(wants_nodes(2, 30));
  cluster.carry_out(plan(cluster.view(), kParams, at_minute(0)), at_minute(0));
  cluster_ = std::move(cluster);
  cluster_.submit(wants_nodes(3, 60));  // is promised minute 40
  for (const std::uint32_t limit : {10, 9, 8}) cluster_.submit(wants_nodes(1, limit));
  Params expecting = kParams;
  expecting.forecasts = 10;
  std::map<std::uint32_t, Time> expected;
  for (const Wait& wait : plan(cluster_.view(), expecting, at_minute(1)).waits)
    expected[wait.job.value] = wait.expected_start;
  EXPECT_EQ(expected, (std::map<std::uint32_t, Time>{
                          {3, at_minute(40)}, {4, at_minute(30)}, {5, at_minute(30)}, {6, at_minute(100)}}));
  expect_sure(3, 40);
  expect_sure(4, 100);
  expect_sure(5, 30);
  expect_sure(6, 30);
}

TEST_F(Play, WithoutALimitThereIsNoEnd) {
  cluster_.job(1).time_limit = TimeLimit::unlimited();
  cluster_.submit(wants_nodes(1, 5));
  expect_sure(2, -1);
}

TEST_F(Play, DeadlinesTakeJobsAway) {
  model::JobSpec first = wants_nodes(2, 30);
  first.deadline = at_minute(35);  // cannot be met
  cluster_.submit(first);
  cluster_.submit(wants_nodes(2, 30));
  model::JobSpec after = wants_nodes(1, 5);
  after.dependencies = {{model::Dependency::Kind::AfterNotOk, JobId(2), {}, false, 0}};
  auto& waits = cluster_.submit(after);
  waits.dependencies_left = after.dependencies;
  waits.eligible = waits.accrue = {};
  expect_sure(2, -1);
  expect_sure(3, 10);
  expect_sure(4, 40);  // from minute 35 on it may
}

TEST_F(Play, ReservationsComeAndGo) {
  reserve(15, 60, 0);
  cluster_.submit(wants_nodes(1, 5));
  cluster_.submit(wants_nodes(1, 6));
  expect_sure(2, 10);
  expect_sure(3, 60);
  auto& job = cluster_.job(3);
  model::JobSpec inside = *job.spec;
  inside.reservation = "r";
  inside.begin = at_minute(70);  // too late
  job.spec = std::make_shared<model::JobSpec>(inside);
  job.eligible = job.accrue = inside.begin;
  expect_sure(3, -1);  // it is held when the reservation goes
  reserve(15, 60, model::kResvNoHoldJobs);
  expect_sure(3, 70);
  reserve(15, 60, model::kResvDaily);
  expect_sure(3, 24 * 60 + 15);
}

TEST_F(Play, JobsOverrunTheirReservation) {
  reserve(10, 20, 0);
  model::JobSpec inside = wants_nodes(2, 60);
  inside.reservation = "r";
  cluster_.submit(inside);
  cluster_.submit(wants_nodes(1, 5));
  expect_sure(2, 10);
  expect_sure(3, 20);
  cluster_.config->reservation_overrun = minutes(7);
  expect_sure(3, 27);
  cluster_.config->reservation_overrun = hours(24 * 3650);
  expect_sure(3, 70);
}

TEST_F(Play, WhatRecursWithoutUseEndsThePlay) {
  reserve(15, 60, model::kResvDaily);
  cluster_.submit(wants_nodes(1, 25 * 60));  // never fits between two days
  expect_sure(2, -1);
}

TEST_F(Play, WhatNobodyCanKnow) {
  cluster_.submit(wants_nodes(1, 5));
  expect_sure(2, 10);
  const auto is_unsure = [&](const char* what) {
    const Seen seen = look(2);
    EXPECT_FALSE(seen.sure) << what;
  };
  cluster_.job(1).preempt_at = at_minute(5);
  is_unsure("preempted");
  cluster_.job(1).preempt_at = {};
  cluster_.node(0).flags |= model::kNodeNoResponse;
  is_unsure("a node that does not answer");
  cluster_.node(0).flags = 0;
  reserve(20, 30, model::kResvPurgeComp);
  is_unsure("a reservation that may go early");
  cluster_.reservations = std::make_shared<std::vector<model::Reservation>>();
  expect_sure(2, 10);
  cluster_.begin_completing(JobId(1));
  is_unsure("a job that is being ended");
}

TEST_F(Play, WhoMayChangePlaces) {
  cluster_.submit(wants_nodes(1, 5));
  model::JobSpec nicer = wants_nodes(1, 5);
  nicer.nice = 10;
  cluster_.submit(nicer);
  expect_sure(2, 10);  // both age alike
  cluster_.config->age_full = minutes(5);
  EXPECT_FALSE(look(2).sure) << "one of them is of full age by then, and the other one gains 200 points a minute";
  cluster_.config->age_full = hours(1);
  expect_sure(2, 10);
  nicer.nice = 0;
  nicer.priority = 100'050;  // does not age; in three minutes the others have as much
  cluster_.submit(nicer);
  EXPECT_FALSE(look(2).sure);
  cluster_.config->age_full = hours(100);
  expect_sure(2, 10);
  cluster_.config->priority.fairshare_weight = 10;
  expect_sure(2, 10);
  cluster_.cancel(JobId(4));
  auto spec = std::make_shared<model::JobSpec>(*cluster_.job(3).spec);
  spec->nice = 1;
  cluster_.job(3).spec = spec;
  EXPECT_FALSE(look(2).sure) << "a point is not far enough";
}

TEST_F(Play, PreemptionIsWhereCertaintyEnds) {
  cluster_.add_partition("high").priority_tier = 2;
  cluster_.config->preempt.by = model::PreemptBy::PartitionTier;
  cluster_.config->preempt.how = model::PreemptHow::Cancel;
  model::JobSpec high = wants_nodes(1, 5);
  high.partitions = {"high"};
  high.begin = at_minute(5);
  cluster_.submit(high);
  cluster_.submit(wants_nodes(1, 3));
  EXPECT_FALSE(look(2).sure);
  EXPECT_FALSE(look(3).sure);
  high.begin = at_minute(12);
  cluster_.job(2).spec = std::make_shared<model::JobSpec>(high);
  cluster_.job(2).eligible = cluster_.job(2).accrue = high.begin;
  expect_sure(3, 10);
}

TEST_F(Play, TheBudgetEndsIt) {
  cluster_.submit(wants_nodes(2, 20));
  cluster_.submit(wants_nodes(2, 30));
  EXPECT_EQ(minute(look(3, {.most_plans = 2})), -2);
  EXPECT_EQ(minute(look(3, {.most_work = 3})), -2);
  EXPECT_EQ(minute(look(3, {.most_plans = 3})), 30);
}

}  // namespace
}  // namespace spur::sched
