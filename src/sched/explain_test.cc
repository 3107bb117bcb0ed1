// SPDX-License-Identifier: Apache-2.0
// What explain() says is tried out: blockers are taken away, changes are made, and time passes until what was
// promised should have happened.
#include "sched/explain.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "sched/test_cluster.h"
#include "sched/what_if.h"

namespace spur::sched {
namespace {

constexpr Params kAll{
    .max_starts = 0xffffffffu, .promises = 1000, .patience = Duration{0}, .backfill = model::BackfillOrder::Priority};

bool starts_now(const model::View& view, JobId job, Time now, const Params& params) {
  const Plan made = plan(view, params, now);
  return std::ranges::any_of(made.starts, [&](const Start& start) { return start.job == job; });
}

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

// ---- at random

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

model::JobSpec random_wish(Dice& dice) {
  model::JobSpec spec;
  spec.time_limit = TimeLimit::of_minutes(1 + dice.below(120));
  if (dice.one_in(3)) {
    spec.min_nodes = 1 + dice.below(3);
    spec.max_nodes = spec.min_nodes;
    spec.nodes_given = true;
    if (dice.one_in(2)) spec.exclusive = model::Exclusive::Node;
  } else {
    spec.tasks = 1 + dice.below(8);
  }
  if (dice.one_in(4)) spec.cpus_per_task = 1 + dice.below(3);
  if (dice.one_in(4)) spec.features = "big";
  if (dice.one_in(5)) spec.gres = {{"gpu", "", 1 + dice.below(2), model::GresRequest::Per::Node}};
  if (dice.one_in(4)) spec.partitions = {dice.one_in(2) ? "some" : "all"};
  if (dice.one_in(8)) spec.licenses = {{"tool", 1}};
  return spec;
}

TestCluster random_state(Dice& dice) {
  TestCluster cluster;
  const std::uint32_t nodes = 2 + dice.below(4);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    auto& node = cluster.add_node(fmt::format("n{}", n), 2 + 2 * dice.below(3));
    if (dice.one_in(2)) node.features = node.active_features = {"big"};
    if (dice.one_in(2)) node.hardware.gres = {{.name = "gpu", .type = "", .count = 2, .file = ""}};
  }
  cluster.config->licenses = {{"tool", 1}};
  cluster.add_partition("all");
  auto& some = cluster.add_partition("some", {0, 1});
  if (dice.one_in(4)) some.max_time = TimeLimit::of_minutes(60);
  for (std::uint32_t i = 0; i < 6; ++i) cluster.submit(random_wish(dice));
  cluster.carry_out(plan(cluster.view(), kAll, at_minute(0)), at_minute(0));
  for (std::uint32_t i = 0; i < 6; ++i) {
    auto& job = cluster.submit(random_wish(dice), at_minute(1));
    if (dice.one_in(8)) job.hold = model::Hold::User, job.priority = 0;
    if (dice.one_in(8)) job.eligible = at_minute(30);
  }
  if (dice.one_in(4)) {
    const std::uint32_t n = dice.below(nodes);
    if (cluster.node(n).jobs.empty()) cluster.node(n).down = true;
  }
  return cluster;
}

void end_what_is_over(TestCluster& cluster, Time at) {
  std::vector<JobId> over;
  for (const auto& [id, job] : cluster.jobs())
    if (job->state == model::JobState::Running &&
        job->started + std::max<Duration>(minutes(1), job->time_limit.duration()) <= at)
      over.push_back(id);
  for (const JobId id : over) cluster.finish(id);
}

// Whether the job starts at the promised time or before, if everything runs as long as it may and nobody comes.
bool starts_by(TestCluster cluster, JobId job, Time now, Time promised, const Params& params) {
  for (Time at = now; at <= promised; at += minutes(1)) {
    end_what_is_over(cluster, at);
    const Plan made = plan(cluster.view(), params, at);
    cluster.carry_out(made, at);
    if (std::ranges::any_of(made.starts, [&](const Start& start) { return start.job == job; })) return true;
  }
  return false;
}

void holds_on_random_states(const Params& params, bool later_too) {
  const char* asked = std::getenv("SPUR_SEEDS");
  const std::uint64_t seeds = asked ? std::strtoull(asked, nullptr, 10) : 100;
  std::size_t blocked = 0, changes = 0, later = 0, broken = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Dice dice(seed);
    TestCluster cluster = random_state(dice);
    const Time now = at_minute(2 + dice.below(20));
    end_what_is_over(cluster, now);
    const model::View view = cluster.view();
    std::vector<JobId> pending;
    view.pending.for_each([&](std::uint32_t id, const model::JobPtr&) { pending.push_back(JobId(id)); });
    for (const JobId job : pending) {
      SCOPED_TRACE(fmt::format("seed {} job {}", seed, job.value));
      const auto told = explain(view, params, job, now);
      ASSERT_TRUE(told);
      EXPECT_EQ(told->starts_now, starts_now(view, job, now, params));
      if (told->starts_now) continue;
      if (!told->impossible) {
        ++blocked;
        EXPECT_FALSE(told->blockers.empty());
        EXPECT_TRUE(starts_now(without_blockers(view, job, told->blockers, now), job, now, params));
        for (std::size_t i = 0; i < told->blockers.size(); ++i) {
          auto fewer = told->blockers;
          fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
          EXPECT_FALSE(starts_now(without_blockers(view, job, fewer, now), job, now, params)) << "blocker " << i;
        }
      }
      for (const auto& change : told->changes) {
        ++changes;
        ASSERT_TRUE(is_set(change.start));
        TestCluster changed = cluster.clone();
        // Whose time has not come counts as not there yet: nobody else comes, was the promise.
        for (const auto& [id, other] : changed.jobs())
          if (id != job && other->eligible > now) other->eligible = now + hours(1000);
        changed.job(job.value).spec = change.spec;
        changed.job(job.value).time_limit = change.limit;
        const bool kept = starts_by(std::move(changed), job, now, change.start, params);
        if (change.start == now) {
          EXPECT_TRUE(kept) << change.option << ' ' << change.instead;
        } else if (later_too) {
          ++later;
          broken += !kept;
        }
      }
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(blocked, seeds / 2);
  EXPECT_GT(changes, seeds / 2);
  // Plans are made anew at every turn, and who is let in between may change which node fits the next one best: so a
  // start that is planned for later can slip, rarely.
  EXPECT_TRUE(later > 0 || !later_too);
  EXPECT_LE(broken * 100, later);
  fmt::print("{} blocked, {} changes, {} of {} promised starts slipped\n", blocked, changes, broken, later);
}

TEST(Explain, HoldsOnRandomStates) {
  holds_on_random_states(kAll, true);
}
// Where smaller jobs pass, later starts are expectations: somebody ahead in the queue who is promised nothing yet may
// get in between. What is said to start now does.
TEST(Explain, HoldsWhereTheSmallestPassFirst) {
  holds_on_random_states({.max_starts = 0xffffffffu}, false);
}

}  // namespace
}  // namespace spur::sched
