// SPDX-License-Identifier: Apache-2.0
// What the doors promise, beside what the scenarios tell and the comparison with the naive scheduler covers.
#include "sched/plan.h"

#include <gtest/gtest.h>

#include <set>

#include "sched/engine.h"
#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

using model::Reason;

std::map<std::uint32_t, Reason> reasons(const Plan& plan) {
  std::map<std::uint32_t, Reason> found;
  for (const auto& wait : plan.waits) found[wait.job.value] = wait.reason;
  return found;
}

TEST(Plan, NothingAtAll) {
  TestCluster cluster;
  EXPECT_TRUE(plan(cluster.view(), {}, at_minute(0)).starts.empty());
  cluster.submit(wants_tasks(1, 10));  // no partition, no node
  const Plan made = plan(cluster.view(), {}, at_minute(0));
  EXPECT_EQ(reasons(made), (std::map<std::uint32_t, Reason>{{1, Reason::PartitionConfig}}));
}

TEST(Plan, TellsOnlyWhatIsNew) {
  TestCluster cluster;
  cluster.add_nodes(1, 1);
  cluster.add_partition("p");
  model::JobSpec endless;
  endless.time_limit = TimeLimit::unlimited();
  for (int i = 0; i < 3; ++i) cluster.submit(endless);
  Plan first = plan(cluster.view(), {}, at_minute(0));
  EXPECT_EQ(first.starts.size(), 1u);
  EXPECT_EQ(reasons(first), (std::map<std::uint32_t, Reason>{{2, Reason::Resources}, {3, Reason::Priority}}));
  cluster.carry_out(first, at_minute(0));
  EXPECT_TRUE(plan(cluster.view(), {}, at_minute(1)).waits.empty());
  cluster.finish(JobId(1));
  cluster.job(2).hold = model::Hold::User;
  const Plan next = plan(cluster.view(), {}, at_minute(2));
  EXPECT_EQ(next.starts.size(), 1u);
  EXPECT_EQ(reasons(next), (std::map<std::uint32_t, Reason>{{2, Reason::JobHeldUser}}));
}

TEST(Plan, MaxStarts) {
  TestCluster cluster;
  cluster.add_nodes(1, 10);
  cluster.add_partition("p");
  for (int i = 0; i < 5; ++i) cluster.submit(wants_tasks(1, 10));
  Params params;
  params.max_starts = 5;
  EXPECT_FALSE(plan(cluster.view(), params, at_minute(0)).more);
  params.max_starts = 4;
  const Plan cut = plan(cluster.view(), params, at_minute(0));
  EXPECT_TRUE(cut.more);
  EXPECT_EQ(cut.starts.size(), 4u);
  EXPECT_TRUE(cut.waits.empty());  // the last one was not looked at
}

TEST(Plan, AnArrayStartsManyTasksAtOnce) {
  TestCluster cluster;
  cluster.add_nodes(4, 64);
  cluster.add_partition("p");
  auto spec = wants_tasks(1, 10);
  spec.array.emplace().tasks.insert_range(0, 999'999);
  cluster.submit(spec);
  const Plan made = plan(cluster.view(), {}, at_minute(0));
  EXPECT_EQ(made.starts.size(), 256u);
  std::set<std::uint32_t> tasks;
  for (const auto& start : made.starts) tasks.insert(*start.array_task);
  EXPECT_EQ(*tasks.begin(), 0u);
  EXPECT_EQ(*tasks.rbegin(), 255u);
  cluster.carry_out(made, at_minute(0));
}

TEST(Plan, WakesForTheNextBegin) {
  TestCluster cluster;
  cluster.add_nodes(1, 4);
  cluster.add_partition("p");
  for (const int minute : {30, 20, 40}) {
    auto spec = wants_tasks(1, 10);
    spec.begin = at_minute(minute);
    cluster.submit(spec);
  }
  cluster.job(2).hold = model::Hold::User;  // it does not wait for its time
  EXPECT_EQ(plan(cluster.view(), {}, at_minute(0)).wake_at, at_minute(30));
  EXPECT_EQ(plan(cluster.view(), {}, at_minute(30)).wake_at, at_minute(40));
}

// The job at the front starts no later than it was told, whoever comes behind it, as long as nothing breaks.
TEST(Plan, KeepsItsPromiseToTheFirst) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::uint32_t state = seed;
    const auto dice = [&](std::uint32_t n) { return (state = state * 1664525 + 1013904223) / 65536 % n; };
    TestCluster cluster;
    cluster.add_nodes(4, 8);
    cluster.add_partition("p");
    Time now = at_minute(0);
    JobId front;
    Time promise;
    for (int step = 0; step < 60; ++step) {
      for (std::uint32_t i = dice(4); i > 0; --i) {
        auto spec = dice(4) == 0 ? wants_nodes(1 + dice(4), 5 + dice(60)) : wants_tasks(1 + dice(12), 5 + dice(60));
        cluster.submit(spec, now);
      }
      const Plan made = plan(cluster.view(), {}, now);
      ASSERT_NO_FATAL_FAILURE(cluster.carry_out(made, now));
      if (front && cluster.job(front.value).state != model::JobState::Pending) {
        ASSERT_LE(now, promise) << "seed " << seed << " job " << front.value;
        front = {};
      }
      if (!front && !made.waits.empty() && made.waits[0].reason == Reason::Resources) {
        front = made.waits[0].job;
        promise = made.waits[0].expected_start;
      }
      if (front) {
        ASSERT_LE(now, promise) << "seed " << seed << " job " << front.value << " still waits";
        for (const auto& wait : made.waits)
          if (wait.job == front) {
            ASSERT_LE(wait.expected_start, promise) << "seed " << seed << " job " << front.value;
            promise = wait.expected_start;
          }
      }
      // Time goes on to the next end of a job, or a job ends early.
      Time next = Time::max();
      std::vector<JobId> running;
      for (const auto& [id, job] : cluster.jobs())
        if (job->state == model::JobState::Running) {
          running.push_back(id);
          next = std::min(next, model::limit_end(*job));
        }
      if (running.empty()) continue;
      if (dice(3) == 0 && next - now > minutes(2)) {
        now += minutes(1);
        cluster.finish(running[dice(static_cast<std::uint32_t>(running.size()))]);
      } else {
        now = next;
      }
      for (const auto& [id, job] : cluster.jobs())
        if (job->state == model::JobState::Running && model::limit_end(*job) <= now) cluster.finish(id);
    }
  }
}

TEST(WillRun, SaysWhenAndWhere) {
  TestCluster cluster;
  cluster.add_nodes(2, 4);
  cluster.add_partition("p");
  // An engine that has planned already says the same as one that is made for the question.
  const auto forecast = [&](const model::JobSpec& spec) {
    Engine engine({.as_configured = true});
    engine.see(cluster.view());
    engine.plan(at_minute(4));
    const auto kept = engine.forecast(spec, at_minute(5));
    auto fresh = will_run(cluster.view(), spec, at_minute(5));
    EXPECT_EQ(kept.has_value(), fresh.has_value());
    if (kept && fresh) {
      EXPECT_EQ(kept->start, fresh->start);
      EXPECT_EQ(kept->nodes, fresh->nodes);
      EXPECT_EQ(kept->cpus, fresh->cpus);
    }
    return fresh;
  };
  auto spec = wants_tasks(3, 10);
  auto free = forecast(spec);
  ASSERT_TRUE(free);
  EXPECT_EQ(free->start, at_minute(5));
  EXPECT_EQ(free->cpus, 3u);
  EXPECT_EQ(free->nodes, std::vector<NodeIndex>{NodeIndex(0)});
  EXPECT_EQ(free->partition, "p");

  cluster.submit(wants_nodes(2, 30), at_minute(0));
  cluster.carry_out(plan(cluster.view(), {}, at_minute(0)), at_minute(0));
  EXPECT_EQ(forecast(spec)->start, at_minute(30));
  cluster.submit(wants_nodes(2, 30), at_minute(1));  // who waits goes first
  EXPECT_EQ(forecast(spec)->start, at_minute(60));
  spec.begin = at_minute(100);
  EXPECT_EQ(forecast(spec)->start, at_minute(100));

  const auto never = forecast(wants_tasks(9, 10));
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, ErrorCode::NodeConfigUnavailable);
}

TEST(WillRun, BehindUnlimitedJobsAYear) {
  TestCluster cluster;
  cluster.add_nodes(1, 1);
  cluster.add_partition("p");
  model::JobSpec endless;
  endless.time_limit = TimeLimit::unlimited();
  cluster.submit(endless);
  cluster.carry_out(plan(cluster.view(), {}, at_minute(0)), at_minute(0));
  EXPECT_EQ(will_run(cluster.view(), wants_tasks(1, 10), at_minute(5))->start, at_minute(5) + hours(365 * 24));
}

}  // namespace
}  // namespace spur::sched
