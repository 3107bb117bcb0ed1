// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>

#include "state/test_world.h"

namespace spur::state {
namespace {

using model::JobState;
using model::PreemptHow;

model::JobSpec batch(std::string name) {
  model::JobSpec out = spec(std::move(name));
  out.kind = model::JobKind::Batch;
  out.requeue = true;
  return out;
}

PreemptJobs preempt(std::uint32_t beneficiary, std::shared_ptr<const model::Allocation> allocation,
                    const model::Job& victim, PreemptHow how, seconds grace = seconds(0)) {
  return {JobId{beneficiary}, std::move(allocation), {{victim.id, victim.epoch, how, grace}}};
}

struct Preempting : ::testing::Test {
  World world{2, 4};
  std::uint32_t low = world.submit(batch("low"));
  std::uint32_t high = world.submit(batch("high"));
  void SetUp() override { world.start(low, World::on(0, {0, 1, 2, 3})); }
  const std::shared_ptr<model::Allocation> all = World::on(0, {0, 1, 2, 3});
};

TEST_F(Preempting, CancelWithoutGraceEndsTheVictimAtOnce) {
  world.must(preempt(high, all, world.job(low), PreemptHow::Cancel));
  EXPECT_EQ(world.job(low).state, JobState::Preempted);
  EXPECT_EQ(world.job(low).reason, model::Reason::Preempted);
  EXPECT_TRUE(world.job(low).flags & model::kCompleting);
  EXPECT_EQ(world.count<EndJob>(), 1);
  EXPECT_EQ(world.job(high).claim, all);
  EXPECT_EQ(world.job(high).claimed_from, world.now);
  world.done(low, "n1");
  EXPECT_EQ(world.job(low).state, JobState::Preempted);
  world.start(high, all);
  EXPECT_FALSE(world.job(high).claim);
}

// PreemptParameters=send_user_signal.
TEST_F(Preempting, ItsOwnSignalComesInPlaceOfTerm) {
  model::ClusterConfig config = *world.view().config;
  config.preempt.send_user_signal = true;
  world.must(SetConfig{config});
  model::JobSpec asks = batch("asks");
  asks.signal = {.signal = SIGUSR1, .seconds_before = 60, .batch_only = true};
  const std::uint32_t third = world.submit(asks);
  world.start(third, World::on(1, {0, 1, 2, 3}));
  world.must(preempt(high, World::on(1, {0, 1, 2, 3}), world.job(third), PreemptHow::Cancel, seconds(60)));
  ASSERT_EQ(world.count<SignalJob>(), 2);
  EXPECT_EQ(std::get<SignalJob>(world.effects[1]).signal, SIGUSR1);
  EXPECT_TRUE(std::get<SignalJob>(world.effects[1]).own);
  bool told_again = false;
  for (const Effect& effect : world.cluster.pending_effects())
    if (const auto* signal = std::get_if<SignalJob>(&effect))
      told_again |= signal->job == JobId{third} && signal->signal == SIGUSR1 && signal->own;
  EXPECT_TRUE(told_again);
}

TEST_F(Preempting, WithGraceItIsToldFirst) {
  world.must(preempt(high, all, world.job(low), PreemptHow::Cancel, seconds(60)));
  EXPECT_EQ(world.job(low).state, JobState::Running);
  EXPECT_EQ(world.job(low).preempt_at, world.now + seconds(60));
  EXPECT_EQ(world.job(low).preempted_for, JobId{high});
  EXPECT_EQ(world.job(high).claimed_from, world.job(low).preempt_at);
  ASSERT_EQ(world.count<SignalJob>(), 2);
  EXPECT_EQ(std::get<SignalJob>(world.effects[0]).signal, SIGCONT);
  EXPECT_EQ(std::get<SignalJob>(world.effects[1]).signal, SIGTERM);
  EXPECT_EQ(world.count<EndJob>(), 0);
  // A new leader tells it again.
  const auto pending = world.cluster.pending_effects();
  EXPECT_EQ(std::ranges::count_if(pending, [](const Effect& e) { return std::holds_alternative<SignalJob>(e); }), 1);

  world.must(PreemptionDue{JobId{low}, world.job(low).epoch});
  EXPECT_EQ(world.job(low).state, JobState::Preempted);
  EXPECT_EQ(world.count<EndJob>(), 1);
  world.must(PreemptionDue{JobId{low}, world.job(low).epoch});  // again: nothing
  EXPECT_TRUE(world.effects.empty());
}

TEST_F(Preempting, OneThatEndsByItselfInItsGraceTimeStaysSo) {
  world.must(preempt(high, all, world.job(low), PreemptHow::Requeue, seconds(60)));
  const Epoch epoch = world.job(low).epoch;
  world.done(low, "n1");
  EXPECT_EQ(world.job(low).state, JobState::Completed);
  world.must(PreemptionDue{JobId{low}, epoch});
  EXPECT_EQ(world.job(low).state, JobState::Completed);
}

TEST_F(Preempting, RequeuePutsItBackInTheQueue) {
  world.must(preempt(high, all, world.job(low), PreemptHow::Requeue));
  EXPECT_TRUE(world.job(low).flags & model::kRequeued);
  world.done(low, "n1");
  EXPECT_EQ(world.job(low).state, JobState::Pending);
  EXPECT_EQ(world.job(low).restarts, 1u);
  EXPECT_FALSE(is_set(world.job(low).preempt_at));
  EXPECT_FALSE(world.job(low).preempted_for);
}

TEST_F(Preempting, WhatMayNotBeRequeuedIsCancelled) {
  auto once = batch("once");
  once.requeue = false;
  const auto id = world.submit(once);
  world.start(id, World::on(1, {0, 1, 2, 3}));
  world.must(preempt(high, World::on(1, {0}), world.job(id), PreemptHow::Requeue));
  EXPECT_EQ(world.job(id).state, JobState::Preempted);
}

TEST_F(Preempting, SuspendFreesTheCpusAtOnceAndResumeForgetsIt) {
  world.must(preempt(high, all, world.job(low), PreemptHow::Suspend, seconds(60)));
  EXPECT_EQ(world.job(low).state, JobState::Suspended);
  EXPECT_EQ(world.job(low).preempt_at, world.now);
  EXPECT_EQ(world.count<SuspendOnNodes>(), 1);
  world.start(high, all);
  EXPECT_EQ(world.refusal(ResumeJob{target(low)}), ErrorCode::NodesBusy);
  world.done(high, "n1");
  world.must(ResumeJob{target(low)});
  EXPECT_EQ(world.job(low).state, JobState::Running);
  EXPECT_FALSE(is_set(world.job(low).preempt_at));
}

TEST_F(Preempting, NobodyGoesInVain) {
  const auto other = world.submit(batch("other"));
  world.start(other, World::on(1, {0, 1, 2, 3}));
  // The victim does not free what is claimed; not even in part.
  EXPECT_EQ(world.refusal(preempt(high, World::on(1, {0}), world.job(low), PreemptHow::Cancel)),
            ErrorCode::NodesBusy);
  EXPECT_EQ(world.refusal(preempt(high, World::on({0, 1}, {0}), world.job(low), PreemptHow::Cancel)),
            ErrorCode::NodesBusy);
  EXPECT_EQ(world.refusal(PreemptJobs{JobId{high}, nullptr, {{JobId{low}, world.job(low).epoch}}}),
            ErrorCode::InvalidArgument);
  // One that may not start needs no room.
  world.must(HoldJob{target(high), model::Hold::User});
  EXPECT_EQ(world.refusal(preempt(high, all, world.job(low), PreemptHow::Cancel)), ErrorCode::JobNotPending);
  EXPECT_EQ(world.refusal(preempt(low, all, world.job(other), PreemptHow::Cancel)), ErrorCode::JobNotPending);
}

TEST_F(Preempting, AVictimThatIsOverAlreadyIsPassedOver) {
  const auto command = preempt(high, all, world.job(low), PreemptHow::Cancel);
  world.done(low, "n1");
  world.must(command);
  EXPECT_EQ(world.job(low).state, JobState::Completed);
  EXPECT_TRUE(world.job(high).claim);
}

TEST_F(Preempting, NobodyMakesRoomTwice) {
  const auto third = world.submit(batch("third"));
  world.must(preempt(high, all, world.job(low), PreemptHow::Cancel, seconds(60)));
  EXPECT_EQ(world.refusal(preempt(third, all, world.job(low), PreemptHow::Cancel)), ErrorCode::NodesBusy);
}

TEST_F(Preempting, TheClaimGoesWhenTheJobMayNotStartOrWantsSomethingElse) {
  const auto claim = [&] {
    world.must(preempt(high, World::on(1, {0}), world.job(low), PreemptHow::Cancel, seconds(60)));
    EXPECT_TRUE(world.job(high).claim);
    auto fresh = world.submit(batch("low"));
    world.must(cancel(target(low)));
    world.done(low, "n1");
    world.start(fresh, World::on(0, {0, 1, 2, 3}));
    low = fresh;
  };
  claim();
  world.must(HoldJob{target(high), model::Hold::User});
  EXPECT_FALSE(world.job(high).claim);
  world.must(ReleaseJob{target(high)});
  claim();
  UpdateJob update;
  update.target = target(high);
  update.time_limit = TimeLimit::of_minutes(600);
  world.must(update);
  EXPECT_FALSE(world.job(high).claim);
  claim();
  world.must(PreemptJobs{JobId{high}, nullptr, {}});
  EXPECT_FALSE(world.job(high).claim);
  claim();
  world.must(SetConfig{*world.view().config});
  EXPECT_FALSE(world.job(high).claim);
  claim();
  world.must(cancel(target(high)));
  EXPECT_FALSE(world.job(high).claim);
}

TEST_F(Preempting, TheClaimOfAnArrayIsForOneTask) {
  auto tasks = array_spec(0, 3);
  tasks.kind = model::JobKind::Batch;
  const auto array = world.submit(tasks);
  world.must(preempt(array, all, world.job(low), PreemptHow::Cancel));
  EXPECT_TRUE(world.job(array).claim);
  world.done(low, "n1");
  const auto task = world.start(array, all, 0);
  EXPECT_FALSE(world.job(task).claim);
  EXPECT_FALSE(world.job(array).claim);
}

}  // namespace
}  // namespace spur::state
