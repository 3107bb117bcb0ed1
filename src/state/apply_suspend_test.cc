// SPDX-License-Identifier: Apache-2.0
// SuspendJob and ResumeJob.
#include "state/test_world.h"

namespace spur::state {
namespace {

using model::JobState;

TEST(Suspend, FreesCpusAndKeepsMemoryAndDevices) {
  World w(1, 4, 2);
  const auto id = w.submit(spec());
  auto allocation = World::on(0, {0, 1, 2, 3});
  allocation->nodes[0].devices.push_back({"gpu", "", {0}});
  w.start(id, allocation);
  const Time started = w.now;
  w.must(SuspendJob{target(id)});
  EXPECT_EQ(w.job(id).state, JobState::Suspended);
  EXPECT_EQ(w.count<SuspendOnNodes>(), 1);
  EXPECT_EQ(w.node("n1").cpus_allocated, 0u);
  EXPECT_EQ(w.node("n1").memory_allocated_mib, 10u);
  EXPECT_EQ(w.node("n1").devices_in_use[0].bits[0], 1u);
  EXPECT_EQ(model::state_text(w.node("n1"), true), "idle");
  EXPECT_EQ(w.cluster.pending_effects().size(), 2u);  // launch, then suspend
  w.must(SuspendJob{target(id)});                     // again is fine
  EXPECT_EQ(w.count<SuspendOnNodes>(), 0);
  w.must(ResumeJob{target(id)});
  EXPECT_EQ(w.job(id).state, JobState::Running);
  EXPECT_TRUE(std::get<SuspendOnNodes>(w.effects[0]).resume);
  EXPECT_EQ(w.job(id).suspended_total, seconds(2));
  EXPECT_EQ(model::run_time(w.job(id), w.now), w.now - started - seconds(2));
  EXPECT_EQ(w.node("n1").cpus_allocated, 4u);
  EXPECT_EQ(w.refusal(ResumeJob{target(id)}), ErrorCode::JobNotSuspended);
  w.done(id, "n1");
}

TEST(Suspend, ResumeWaitsForTheCpus) {
  World w(1);
  const auto a = w.submit(spec()), b = w.submit(spec());
  w.start(a, World::on(0, {0, 1}));
  w.must(SuspendJob{target(a)});
  w.start(b, World::on(0, {1, 2}));
  EXPECT_EQ(w.refusal(ResumeJob{target(a)}), ErrorCode::NodesBusy);
  w.done(b, "n1");
  w.must(ResumeJob{target(a)});
}

TEST(Suspend, ExclusiveJobComesBackAlone) {
  World w(1);
  auto s = spec();
  s.exclusive = model::Exclusive::Node;
  const auto a = w.submit(s), b = w.submit(spec());
  w.start(a, World::on(0, {0}));
  w.must(SuspendJob{target(a)});
  EXPECT_FALSE(w.node("n1").exclusive);
  w.start(b, World::on(0, {3}));
  EXPECT_EQ(w.refusal(ResumeJob{target(a)}), ErrorCode::NodesBusy);
  w.done(b, "n1");
  w.must(ResumeJob{target(a)});
  EXPECT_TRUE(w.node("n1").exclusive);
}

TEST(Suspend, EndsWhileSuspended) {
  for (const bool killed : {false, true}) {
    World w(2);
    const auto id = w.submit(spec());
    w.start(id, World::on({0, 1}));
    w.must(SuspendJob{target(id)});
    if (killed) {
      w.must(cancel(target(id)));
    } else {
      w.done(id, "n1");  // it had ended before the order arrived
    }
    EXPECT_EQ(w.job(id).state, killed ? JobState::Cancelled : JobState::Completed);
    if (killed) w.done(id, "n1");
    w.done(id, "n2");
    EXPECT_EQ(w.job(id).flags, 0u);
    EXPECT_EQ(w.node("n2").memory_allocated_mib, 0u);
  }
}

TEST(Suspend, Refusals) {
  World w(1);
  const auto pending = w.submit(spec()), over = w.submit(spec());
  w.must(cancel(target(over)));
  for (const auto& command : {Command(SuspendJob{target(pending)}), Command(ResumeJob{target(pending)})})
    EXPECT_EQ(w.refusal(command), ErrorCode::JobPending);
  for (const auto& command : {Command(SuspendJob{target(over)}), Command(ResumeJob{target(over)})})
    EXPECT_EQ(w.refusal(command), ErrorCode::JobAlreadyDone);
  EXPECT_EQ(w.refusal(SuspendJob{target(9)}), ErrorCode::InvalidJobId);
}

TEST(Suspend, RequeueOfASuspendedJob) {
  World w(1);
  const auto id = w.submit(spec());
  w.start(id, World::on(0));
  w.must(SuspendJob{target(id)});
  w.must(RequeueJob{target(id)});
  w.done(id, "n1");
  EXPECT_EQ(w.job(id).state, JobState::Pending);
  EXPECT_EQ(w.job(id).suspended_total, Duration{0});
  w.start(id, World::on(0));
}

}  // namespace
}  // namespace spur::state
