// SPDX-License-Identifier: Apache-2.0
#include "ctld/job_clocks.h"

#include <gtest/gtest.h>

#include <functional>

#include "state/test_world.h"

namespace spur::ctld {
namespace {

using model::JobState;
using state::World;
using std::chrono::hours;
using std::chrono::minutes;

model::ClusterConfig clocks_config() {
  model::ClusterConfig out;
  out.min_job_age = seconds(300);
  out.over_time_limit = minutes(1);
  return out;
}

struct Clocks {
  World world{2, 4, 0, clocks_config()};
  JobClocks clocks;
  std::uint32_t submit(const std::function<void(model::JobSpec&)>& change) {
    model::JobSpec spec = state::spec();
    change(spec);
    const auto id = world.submit(spec);
    follow();
    return id;
  }
  void follow() {
    for (const JobId id : world.cluster.take_changes().jobs) clocks.update(world.view(), id);
  }
  // How the one job that is due at `at` is to end; Pending if nothing is due.
  JobState ends_as(Time at) {
    const auto due = clocks.take_due(world.view(), at);
    EXPECT_LE(due.commands.size(), 1u);
    const auto* cancel = due.commands.empty() ? nullptr : std::get_if<state::CancelJob>(&due.commands[0]);
    return cancel ? cancel->final_state : JobState::Pending;
  }
};

TEST(JobClocks, AVictimGoesWhenItsGraceTimeIsOver) {
  Clocks c;
  const auto low = c.submit([](auto& s) { s.time_limit = TimeLimit::unlimited(); });
  const auto high = c.submit([](auto&) {});
  c.world.start(low, World::on(0));
  c.world.must(state::PreemptJobs{
      JobId{high}, World::on(0), {{JobId{low}, c.world.job(low).epoch, model::PreemptHow::Cancel, seconds(30)}}});
  c.follow();
  const Time at = c.world.job(low).preempt_at;
  EXPECT_EQ(c.clocks.next(), at);
  EXPECT_TRUE(c.clocks.take_due(c.world.view(), at - Duration{1}).commands.empty());
  const auto due = c.clocks.take_due(c.world.view(), at);
  ASSERT_EQ(due.commands.size(), 1u);
  EXPECT_EQ(std::get<state::PreemptionDue>(due.commands[0]).job, JobId{low});
}

TEST(JobClocks, TimeLimitOfARunningJob) {
  Clocks c;
  const auto id = c.submit([](auto& s) { s.time_limit = TimeLimit::of_minutes(10); });
  EXPECT_FALSE(is_set(c.clocks.next())) << "a waiting job's limit does not run";
  c.world.start(id, World::on(0));
  c.follow();
  const Time end = c.world.job(id).started + minutes(10) + minutes(1);  // OverTimeLimit
  EXPECT_EQ(c.clocks.next(), end);
  EXPECT_EQ(c.ends_as(end - Duration{1}), JobState::Pending);
  EXPECT_EQ(c.ends_as(end), JobState::Timeout);
  EXPECT_EQ(c.ends_as(end + hours(1)), JobState::Pending) << "once";
  EXPECT_FALSE(is_set(c.clocks.next()));
}

TEST(JobClocks, APartitionMayHaveItsOwnGrace) {
  Clocks c;
  model::ClusterConfig config = *c.world.view().config;
  config.partitions.at(0).over_time_limit_minutes = 30;
  c.world.must(state::SetConfig{config});
  const auto id = c.submit([](auto& s) { s.time_limit = TimeLimit::of_minutes(10); });
  c.world.start(id, World::on(0));
  c.follow();
  EXPECT_EQ(c.clocks.next(), c.world.job(id).started + minutes(10) + minutes(30));
}

TEST(JobClocks, NewLimitMovesTheMoment) {
  Clocks c;
  const auto id = c.submit([](auto& s) { s.time_limit = TimeLimit::of_minutes(10); });
  c.world.start(id, World::on(0));
  c.follow();
  state::UpdateJob update;
  update.target = state::target(id);
  update.time_limit = TimeLimit::of_minutes(20);
  c.world.must(update);
  c.follow();
  EXPECT_EQ(c.clocks.next(), c.world.job(id).started + minutes(21));
}

TEST(JobClocks, Waiting) {
  struct Row {
    const char* what;
    std::function<void(model::JobSpec&, Time)> change;
    Duration after;  // the submission
    JobState state;
  };
  for (const Row& row :
       {Row{"deadline", [](auto& s, Time now) { s.deadline = now + hours(2); }, hours(2), JobState::Deadline},
        Row{"immediate", [](auto& s, Time) { s.immediate_seconds = 7; }, seconds(7), JobState::Cancelled}}) {
    Clocks c;
    const Time submitted = c.world.now + seconds(1);  // World: a second a command
    const auto id = c.submit([&](auto& s) { row.change(s, submitted); });
    EXPECT_EQ(c.clocks.next(), submitted + row.after) << row.what;
    EXPECT_EQ(c.ends_as(submitted + row.after), row.state) << row.what;
    Clocks started;
    const auto other =
        started.submit([&](auto& s) { row.change(s, submitted), s.time_limit = TimeLimit::unlimited(); });
    started.world.start(other, World::on(0));
    started.follow();
    EXPECT_FALSE(is_set(started.clocks.next())) << row.what << " is over once it runs";
    (void)id;
  }
}

TEST(JobClocks, SignalGoesOutOnceARun) {
  Clocks c;
  const auto id = c.submit([](auto& s) {
    s.time_limit = TimeLimit::of_minutes(10);
    s.signal = {.signal = 10, .seconds_before = 60, .batch_only = true};
  });
  c.world.start(id, World::on(0));
  c.follow();
  const Time at = c.world.job(id).started + minutes(9);
  EXPECT_EQ(c.clocks.next(), at);
  auto due = c.clocks.take_due(c.world.view(), at);
  ASSERT_EQ(due.signals.size(), 1u);
  EXPECT_EQ(due.signals[0].job, JobId{id});
  EXPECT_EQ(due.signals[0].signal, 10);
  EXPECT_TRUE(due.signals[0].batch_only);
  EXPECT_TRUE(due.commands.empty());
  c.clocks.update(c.world.view(), JobId{id});  // any change of the job
  EXPECT_EQ(c.clocks.next(), c.world.job(id).started + minutes(11)) << "only the limit is left";
}

TEST(JobClocks, FinishedJobsAreForgotten) {
  Clocks c;
  const auto id = c.submit([](auto&) {}), other = c.submit([](auto&) {});
  for (const auto job : {id, other}) c.world.start(job, World::on(job == id ? 0 : 1));
  c.world.done(id, "n1");
  c.world.done(other, "n2");
  c.follow();
  EXPECT_EQ(c.clocks.next(), c.world.job(id).ended + seconds(300));
  const auto due = c.clocks.take_due(c.world.view(), c.world.job(other).ended + seconds(300));
  ASSERT_EQ(due.commands.size(), 1u) << "one command for all";
  EXPECT_EQ(std::get<state::PurgeJobs>(due.commands[0]).jobs, (std::vector<JobId>{JobId{id}, JobId{other}}));
  c.world.must(due.commands[0]);
  c.follow();
  EXPECT_FALSE(is_set(c.clocks.next()));
}

TEST(JobClocks, RebuiltFromAnyState) {
  Clocks c;
  const auto id = c.submit([](auto& s) { s.time_limit = TimeLimit::of_minutes(10); });
  c.submit([&](auto& s) { s.deadline = c.world.now + hours(9); });
  c.world.start(id, World::on(0));
  c.follow();
  JobClocks fresh;
  fresh.rebuild(c.world.view());
  EXPECT_EQ(fresh.next(), c.clocks.next());
  const Time late = c.world.now + hours(10);
  EXPECT_EQ(fresh.take_due(c.world.view(), late).commands.size(), 2u);
  EXPECT_EQ(c.clocks.take_due(c.world.view(), late).commands.size(), 2u);
}

}  // namespace
}  // namespace spur::ctld
