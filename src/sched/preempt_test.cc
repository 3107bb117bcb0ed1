// SPDX-License-Identifier: Apache-2.0
// Who goes for whom: stories on small clusters. Random ones, through the real state, are in bench/preempt_states.h.
#include "sched/preempt.h"

#include <gtest/gtest.h>

#include "sched/engine.h"
#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

using model::PreemptHow;

// Two partitions over the same nodes; jobs of "high" may push out those of "low".
class PreemptTest : public ::testing::Test {
 protected:
  void make(std::uint32_t nodes, std::uint32_t cpus, PreemptHow how = PreemptHow::Cancel) {
    cluster_.add_nodes(nodes, cpus);
    cluster_.add_partition("low");
    cluster_.add_partition("high").priority_tier = 10;
    cluster_.config->preempt.by = model::PreemptBy::PartitionTier;
    cluster_.config->preempt.how = how;
  }
  JobId run(model::JobSpec spec, std::int64_t minute) {
    spec.partitions = {"low"};
    const JobId id = cluster_.submit(std::move(spec), at_minute(minute)).id;
    cluster_.carry_out(plan(cluster_.view(), {}, at_minute(minute)), at_minute(minute));
    EXPECT_EQ(cluster_.job(id.value).state, model::JobState::Running);
    cluster_.job(id.value).cpus_allocated = cluster_.job(id.value).allocation->total_cpus();
    return id;
  }
  JobId wait(model::JobSpec spec, std::int64_t minute) {
    spec.partitions = {"high"};
    return cluster_.submit(std::move(spec), at_minute(minute)).id;
  }
  Plan now(std::int64_t minute) { return plan(cluster_.view(), {}, at_minute(minute)); }
  static std::vector<std::uint32_t> victims(const Plan& plan) {
    std::vector<std::uint32_t> found;
    for (const auto& preemption : plan.preemptions)
      for (const auto& victim : preemption.victims) found.push_back(victim.job.value);
    return found;
  }
  // As state::apply does.
  void promise(const Plan& plan, Time now) {
    for (const auto& preemption : plan.preemptions) {
      auto& job = cluster_.job(preemption.beneficiary.value);
      job.claim = preemption.allocation;
      job.claimed_from = now;
      for (const auto& victim : preemption.victims) {
        auto& gone = cluster_.job(victim.job.value);
        gone.preempt_at = now + victim.grace;
        gone.preempt_how = victim.how;
        gone.preempted_for = preemption.beneficiary;
        job.claimed_from = std::max(job.claimed_from, gone.preempt_at);
      }
    }
  }
  using Ids = std::vector<std::uint32_t>;
  TestCluster cluster_;
};

TEST_F(PreemptTest, TheLeastWorkIsLost) {
  make(2, 4);
  run(wants_tasks(4, 600), 0);  // job 1, on one node for two hours
  const JobId young = run(wants_tasks(4, 600), 90);
  const JobId high = wait(wants_tasks(2, 60), 120);
  const auto plan = now(120);
  ASSERT_EQ(plan.preemptions.size(), 1u);
  EXPECT_EQ(plan.preemptions[0].beneficiary, high);
  EXPECT_EQ(victims(plan), Ids{young.value});
  EXPECT_EQ(plan.preemptions[0].allocation->nodes.size(), 1u);
}

// PreemptParameters=youngest_first: what they hold does not count.
TEST_F(PreemptTest, TheYoungestGoesFirstIfTheSiteSaysSo) {
  make(2, 8);
  run(wants_tasks(6, 600), 0);
  const JobId small = run(wants_tasks(2, 600), 0);     // 2 CPUs x 120 minutes
  const JobId young = run(wants_tasks(8, 600), 60);  // 8 CPUs x 60 minutes
  wait(wants_tasks(2, 60), 120);
  EXPECT_EQ(victims(now(120)), Ids{small.value});
  cluster_.config->preempt.youngest_first = true;
  EXPECT_EQ(victims(now(120)), Ids{young.value});
}

// PreemptParameters=min_exempt_priority.
TEST_F(PreemptTest, WhoHasThatPriorityIsLeftAlone) {
  make(2, 4);
  const JobId old = run(wants_tasks(4, 600), 0);
  const JobId young = run(wants_tasks(4, 600), 90);
  for (const JobId id : {old, young}) cluster_.job(id.value).priority_by_hand = true;
  cluster_.job(old.value).priority = 100;
  cluster_.job(young.value).priority = 200;
  wait(wants_tasks(2, 60), 120);
  cluster_.config->preempt.min_exempt_priority = 200;
  EXPECT_EQ(victims(now(120)), Ids{old.value});
  cluster_.config->preempt.min_exempt_priority = 201;
  EXPECT_EQ(victims(now(120)), Ids{young.value});
  cluster_.config->preempt.min_exempt_priority = 100;
  EXPECT_TRUE(now(120).preemptions.empty());
}

TEST_F(PreemptTest, AnOldSmallJobMayBeCheaperThanAYoungWideOne) {
  make(2, 8);
  run(wants_tasks(6, 600), 0);
  const JobId small = run(wants_tasks(2, 600), 0);  // 2 CPUs x 120 minutes
  run(wants_tasks(8, 600), 60);                     // 8 CPUs x 60 minutes
  wait(wants_tasks(2, 60), 120);
  EXPECT_EQ(victims(now(120)), Ids{small.value});
}

TEST_F(PreemptTest, NobodyGoesIfTheJobDoesNotStart) {
  make(2, 4);
  run(wants_tasks(4, 600), 0);
  wait(wants_tasks(4, 600), 0);
  cluster_.carry_out(now(0), at_minute(0));  // the other node has a job that nobody may push out
  wait(wants_tasks(8, 60), 120);
  EXPECT_TRUE(now(120).preemptions.empty());
  wait(wants_tasks(4, 60), 121);
  EXPECT_EQ(victims(now(121)), Ids{1});
  cluster_.partition(0).priority_tier = 20;  // the other way round
  EXPECT_TRUE(now(121).preemptions.empty());
}

TEST_F(PreemptTest, OfASharedCoreAllHaveToGo) {
  for (const auto how : {PreemptHow::Requeue, PreemptHow::Suspend}) {
    cluster_ = {};
    make(1, 4, how);
    cluster_.partition(0).oversubscribe = model::OverSubscribe::Force;
    cluster_.partition(0).oversubscribe_count = 3;
    run(wants_tasks(4, 600), 0);
    run(wants_tasks(3, 600), 0);
    wait(wants_tasks(1, 60), 10);
    auto plan = now(10);
    ASSERT_EQ(victims(plan), Ids{1});  // the one core that it has alone
    EXPECT_EQ(plan.preemptions[0].allocation->nodes[0].cpus, std::vector<model::CpuNumber>{3});
    wait(wants_tasks(2, 60), 11);
    cluster_.cancel(JobId(3));
    plan = now(11);
    ASSERT_EQ(victims(plan), (Ids{1, 2}));
    EXPECT_EQ(plan.preemptions[0].allocation->nodes[0].cpus, (std::vector<model::CpuNumber>{0, 1}));
  }
}

TEST_F(PreemptTest, ModesAndExemptTime) {
  make(1, 4, PreemptHow::Requeue);
  run(wants_tasks(4, 600), 0);
  cluster_.partition(0).grace_time_seconds = 30;
  wait(wants_tasks(1, 60), 10);
  auto plan = now(10);
  ASSERT_EQ(victims(plan), Ids{1});
  EXPECT_EQ(plan.preemptions[0].victims[0].how, PreemptHow::Requeue);
  EXPECT_EQ(plan.preemptions[0].victims[0].grace, seconds(30));
  cluster_.config->preempt.exempt = minutes(11);
  EXPECT_TRUE(now(10).preemptions.empty());
  EXPECT_EQ(victims(now(12)), Ids{1});
  cluster_.partition(0).preempt_mode = "OFF";
  EXPECT_TRUE(now(12).preemptions.empty());
  cluster_.config->preempt.by = model::PreemptBy::Nothing;
  cluster_.partition(0).preempt_mode = "";
  EXPECT_TRUE(now(12).preemptions.empty());
}

TEST_F(PreemptTest, WhatIsPlannedForJobsBeforeItStays) {
  make(2, 4);
  run(wants_nodes(1, 100), 0);  // its node is free at 100
  run(wants_nodes(1, 90), 0);
  cluster_.config->preempt.exempt = minutes(50);
  wait(wants_nodes(2, 60), 10);  // planned for 100, when both are free
  const JobId high = wait(wants_tasks(1, 200), 11);
  cluster_.config->preempt.exempt = minutes(0);
  // The first one goes before: for it both have to go, and the nodes are spoken for.
  const auto plan = now(12);
  ASSERT_EQ(plan.preemptions.size(), 1u);
  EXPECT_EQ(victims(plan), (Ids{1, 2}));
  EXPECT_NE(plan.preemptions[0].beneficiary, high);
}

TEST_F(PreemptTest, TheClaimIsKeptUntilAllHaveGone) {
  make(1, 4);
  const JobId low = run(wants_tasks(2, 600), 0);
  const JobId other = run(wants_tasks(2, 600), 0);
  const JobId high = wait(wants_tasks(4, 60), 10);
  Engine engine;
  engine.see(cluster_.view());
  auto plan = engine.plan(at_minute(10));
  ASSERT_EQ(victims(plan), (Ids{low.value, other.value}));
  promise(plan, at_minute(10));
  cluster_.finish(low);
  // Two CPUs are free; a job of a still higher partition comes, and does not get them.
  cluster_.add_partition("highest").priority_tier = 20;
  cluster_.config->preempt.by = model::PreemptBy::Nothing;  // and may not push out anybody
  auto third = wants_tasks(2, 10);
  third.partitions = {"highest"};
  cluster_.submit(third, at_minute(11));
  engine.see(cluster_.view());
  plan = engine.respond(at_minute(11));
  EXPECT_TRUE(plan.starts.empty());
  cluster_.finish(other);
  engine.see(cluster_.view());
  plan = engine.respond(at_minute(12));
  ASSERT_EQ(plan.starts.size(), 1u);
  EXPECT_EQ(plan.starts[0].job, high);
}

TEST_F(PreemptTest, AClaimThatCannotBeHonouredIsGivenUp) {
  make(1, 4);
  const JobId low = run(wants_tasks(4, 600), 0);
  const JobId high = wait(wants_tasks(4, 60), 10);
  promise(now(10), at_minute(10));
  cluster_.finish(low);
  cluster_.node(0).down = true;
  const auto plan = now(11);
  EXPECT_TRUE(plan.starts.empty());
  EXPECT_EQ(plan.given_up, std::vector<JobId>{high});
}

TEST_F(PreemptTest, ASuspendedVictimRunsOnBeforeOthersStart) {
  make(1, 4, PreemptHow::Suspend);
  const JobId low = run(wants_tasks(4, 600), 0);
  const JobId high = wait(wants_tasks(2, 60), 10);
  auto plan = now(10);
  ASSERT_EQ(victims(plan), Ids{low.value});
  EXPECT_EQ(plan.preemptions[0].victims[0].how, PreemptHow::Suspend);
  promise(plan, at_minute(10));
  cluster_.suspend(low, at_minute(10));
  plan = now(10);
  ASSERT_EQ(plan.starts.size(), 1u);
  EXPECT_TRUE(plan.resumes.empty());
  cluster_.carry_out(plan, at_minute(10));
  cluster_.job(high.value).claim = nullptr;
  // Its other two CPUs are not for its like, though they are free.
  auto like = wants_tasks(2, 10);
  like.partitions = {"low"};
  cluster_.submit(like, at_minute(11));
  plan = now(11);
  EXPECT_TRUE(plan.starts.empty());
  EXPECT_TRUE(plan.resumes.empty());
  cluster_.finish(high);
  plan = now(12);
  EXPECT_EQ(plan.resumes, std::vector<JobId>{low});
  EXPECT_TRUE(plan.starts.empty());
}

TEST_F(PreemptTest, ByQos) {
  cluster_.add_nodes(1, 4);
  cluster_.add_partition("low");
  cluster_.config->preempt.by = model::PreemptBy::Qos;
  cluster_.config->preempt.how = PreemptHow::Cancel;
  auto spec = wants_tasks(4, 600);
  spec.qos = "cheap";
  run(spec, 0);
  spec.qos = "dear";
  cluster_.submit(spec, at_minute(10));
  auto view = cluster_.view();
  model::Qos cheap, dear;
  cheap.name = "cheap";
  dear.name = "dear";
  view.qos = std::make_shared<const std::vector<model::Qos>>(std::vector{cheap, dear});
  EXPECT_TRUE(plan(view, {}, at_minute(10)).preemptions.empty());
  dear.preempts = {"cheap"};
  view.qos = std::make_shared<const std::vector<model::Qos>>(std::vector{cheap, dear});
  EXPECT_EQ(victims(plan(view, {}, at_minute(10))), Ids{1});
}

}  // namespace
}  // namespace spur::sched
