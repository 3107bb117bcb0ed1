// SPDX-License-Identifier: Apache-2.0
#include "model/launch_failure.h"
#include "state/test_world.h"

namespace spur::state {
namespace {

using model::Hold;
using model::JobState;
using model::Reason;

TEST(Done, HowItEnded) {
  struct Row {
    std::uint16_t code, signal;
    bool oom;
    JobState state;
    Reason reason;
  };
  const Row rows[] = {
      {0, 0, false, JobState::Completed, Reason::None},
      {3, 0, false, JobState::Failed, Reason::NonZeroExitCode},
      {0, 9, false, JobState::Failed, Reason::RaisedSignal},
      {0, 9, true, JobState::OutOfMemory, Reason::OutOfMemory},
      {1, 0, true, JobState::OutOfMemory, Reason::OutOfMemory},
  };
  for (const Row& row : rows) {
    World w(1);
    const auto id = w.submit(spec());
    w.start(id, World::on(0));
    auto report = w.done_report(id, "n1");
    report.exit = {row.code, row.signal};
    report.out_of_memory = row.oom;
    w.must(report);
    EXPECT_EQ(w.job(id).state, row.state);
    EXPECT_EQ(w.job(id).reason, row.reason);
    EXPECT_EQ(w.job(id).exit, report.exit);
    EXPECT_EQ(w.job(id).flags, 0u);
    EXPECT_EQ(w.job(id).ended, w.now);
    EXPECT_EQ(w.job(id).last_nodes, "n1");
    EXPECT_EQ(w.node("n1").cpus_allocated, 0u);
    EXPECT_EQ(w.node("n1").memory_allocated_mib, 0u);
    EXPECT_TRUE(w.view().active.empty());
  }
}

TEST(Done, UsageOfAllNodesIsAddedUp) {
  World w(2);
  const auto id = w.submit(spec());
  w.start(id, World::on({0, 1}));
  EXPECT_EQ(w.job(id).usage, nullptr);
  auto first = w.done_report(id, "n1");
  first.usage = {.user_cpu_us = 5, .max_rss_kib = 100, .read_bytes = 7};
  auto second = w.done_report(id, "n2");
  second.usage = {.user_cpu_us = 6, .max_rss_kib = 90, .read_bytes = 1};
  w.must(first);
  w.must(second);
  w.must(second);  // heard before
  EXPECT_EQ(*w.job(id).usage, (model::Usage{.user_cpu_us = 11, .max_rss_kib = 100, .read_bytes = 8}));
}

TEST(Done, APrologThatFailsDrainsTheNodeAndHoldsTheJob) {
  for (const bool hold : {true, false}) {
    World w(2);
    auto config = *w.view().config;
    config.hold_on_prolog_fail = hold;
    w.must(SetConfig{config});
    const auto id = w.submit(spec());
    w.start(id, World::on(0));
    auto report = w.done_report(id, "n1");
    report.exit = model::kNeverRan;
    report.launch_failed = report.prolog_failed = true;
    w.must(report);
    EXPECT_EQ(w.job(id).state, JobState::Pending);
    EXPECT_EQ(w.job(id).hold, hold ? Hold::User : Hold::None);
    EXPECT_EQ(w.job(id).reason == Reason::LaunchFailedRequeuedHeld, hold);
    EXPECT_TRUE(w.node("n1").flags & model::kNodeDrain);
    EXPECT_EQ(w.node("n1").reason, "Prolog error");
    EXPECT_FALSE(w.node("n2").flags & model::kNodeDrain);
  }
}

TEST(Done, AnEpilogThatFailsDrainsTheNodeAndLeavesTheJobAlone) {
  World w(1);
  const auto id = w.submit(spec());
  w.start(id, World::on(0));
  auto report = w.done_report(id, "n1");
  report.drain = "Epilog error";
  w.must(report);
  EXPECT_EQ(w.job(id).state, JobState::Completed);
  EXPECT_TRUE(w.node("n1").flags & model::kNodeDrain);
  EXPECT_EQ(w.node("n1").reason, "Epilog error");
}

TEST(Done, ANodeThatFailsLaunchesInARowIsDrained) {
  World w(1);
  const auto fail_one = [&w](bool blameless) {
    const auto id = w.submit(spec());
    w.start(id, World::on(0));
    auto report = w.done_report(id, "n1");
    report.exit = model::kNeverRan;
    report.launch_failed = true;
    report.node_blameless = blameless;
    report.error = "no space left";
    w.must(report);
  };
  const auto drained = [&w] { return (w.node("n1").flags & model::kNodeDrain) != 0; };
  for (int i = 0; i < 10; ++i) fail_one(true);  // the jobs' own fault
  EXPECT_FALSE(drained());
  fail_one(false);
  fail_one(false);
  const auto good = w.submit(spec());
  w.start(good, World::on(0));
  w.done(good, "n1");  // it can after all
  EXPECT_EQ(w.node("n1").launch_failures, 0u);
  fail_one(false);
  fail_one(false);
  EXPECT_FALSE(drained());
  fail_one(false);
  EXPECT_TRUE(drained());
  EXPECT_EQ(w.node("n1").reason, "batch job complete failure");
}

TEST(Done, BatchHostDecidesAndTheOthersFollow) {
  World w(3);
  const auto id = w.submit(spec());
  w.start(id, World::on({0, 1, 2}));
  w.done(id, "n2");  // one that only held resources
  EXPECT_EQ(w.job(id).state, JobState::Running);
  EXPECT_EQ(w.node("n2").cpus_allocated, 0u);
  w.done(id, "n1", 5);
  const Time batch_end = w.now;
  EXPECT_EQ(w.job(id).state, JobState::Failed);
  EXPECT_EQ(w.job(id).flags, model::kCompleting);
  EXPECT_EQ(w.count<EndJob>(), 1);
  EXPECT_EQ(w.node("n3").jobs_completing, 1u);
  EXPECT_TRUE(w.view().active.contains(id));
  w.done(id, "n3", 0);
  EXPECT_EQ(w.job(id).state, JobState::Failed);
  EXPECT_EQ(w.job(id).flags, 0u);
  EXPECT_EQ(w.job(id).exit.code, 5);
  EXPECT_EQ(w.job(id).ended, batch_end);
  EXPECT_EQ(w.node("n3").jobs_completing, 0u);
}

TEST(Done, RepeatedReportsChangeNothing) {
  World w(2);
  const auto id = w.submit(spec());
  w.start(id, World::on({0, 1}));
  const auto first = w.done_report(id, "n1"), second = w.done_report(id, "n2");
  w.must(first);
  const auto before = w.job(id);
  w.must(first);
  EXPECT_EQ(w.job(id), before);
  w.must(second);
  w.must(second);
  w.must(first);
  EXPECT_EQ(w.job(id).state, JobState::Completed);
  auto other = first;
  other.node = "nowhere";
  EXPECT_TRUE(w.run(other).status);
  auto stale = first;
  stale.epoch = Epoch{2};
  EXPECT_EQ(w.refusal(stale), ErrorCode::StaleEpoch);
  auto unknown = first;
  unknown.job = JobId{77};
  EXPECT_EQ(w.refusal(unknown), ErrorCode::InvalidJobId);
}

TEST(Done, OldEpochCannotEndTheNextRun) {
  World w(1);
  const auto id = w.submit(spec());
  w.start(id, World::on(0));
  const auto old_report = w.done_report(id, "n1");
  w.must(RequeueJob{target(id)});
  w.must(old_report);
  w.start(id, World::on(0));
  EXPECT_EQ(w.job(id).epoch, Epoch{2});
  EXPECT_EQ(w.refusal(old_report), ErrorCode::StaleEpoch);
  EXPECT_EQ(w.job(id).state, JobState::Running);
}

TEST(Done, KillDecidedBefore) {
  struct Row {
    JobState decided;
    Reason reason;
  };
  const Row rows[] = {{JobState::Cancelled, Reason::None},
                      {JobState::Timeout, Reason::TimeLimit},
                      {JobState::Preempted, Reason::Preempted},
                      {JobState::Deadline, Reason::DeadLine},
                      {JobState::NodeFail, Reason::NodeDown}};
  for (const Row& row : rows) {
    World w(1);
    const auto id = w.submit(spec());
    w.start(id, World::on(0));
    auto kill = cancel(target(id));
    kill.final_state = row.decided;
    w.must(kill);
    const Time killed = w.now;
    EXPECT_EQ(w.job(id).state, row.decided);
    EXPECT_EQ(w.job(id).flags, model::kCompleting);
    EXPECT_EQ(w.job(id).kill_began, killed);
    EXPECT_EQ(w.count<EndJob>(), 1);
    auto report = w.done_report(id, "n1");
    report.exit.signal = 15;
    w.must(report);
    EXPECT_EQ(w.job(id).state, row.decided);
    EXPECT_EQ(w.job(id).reason, row.reason);
    EXPECT_EQ(w.job(id).exit.signal, 15);
    EXPECT_EQ(w.job(id).ended, killed);
  }
}

TEST(Done, FailedLaunchIsTriedAgainThenHeld) {
  model::ClusterConfig config;
  config.max_batch_requeue = 2;
  World w(2, 4, 0, config);
  const auto id = w.submit(spec());
  for (std::uint32_t tries = 1; tries <= 3; ++tries) {
    w.start(id, World::on({0, 1}));
    auto report = w.done_report(id, "n2");  // any node's failure ends the run
    report.launch_failed = true;
    report.error = "no such directory";
    w.must(report);
    EXPECT_EQ(w.job(id).state, JobState::Pending);
    EXPECT_EQ(w.job(id).flags & model::kCompleting, model::kCompleting);
    EXPECT_EQ(w.count<EndJob>(), 1);
    w.done(id, "n1");
    EXPECT_EQ(w.job(id).flags, 0u);
    EXPECT_EQ(w.job(id).restarts, tries);
    EXPECT_EQ(w.job(id).epoch, Epoch{tries + 1});
    if (tries < 3) {
      EXPECT_EQ(w.job(id).reason, Reason::BeginTime);
      EXPECT_EQ(w.job(id).eligible, w.now + seconds(10));
      w.now += seconds(10);
    }
  }
  EXPECT_EQ(w.job(id).reason, Reason::JobHoldMaxRequeue);
  EXPECT_EQ(w.job(id).hold, Hold::User);
  EXPECT_EQ(w.job(id).reason_detail, "no such directory");
  w.must(ReleaseJob{target(id)});
  EXPECT_EQ(w.job(id).reason, Reason::None);
  w.start(id, World::on(0));
}

TEST(Done, FailedLaunchWithoutRequeueFails) {
  for (const bool interactive : {false, true}) {
    World w(1);
    auto s = spec();
    if (interactive) {
      s.kind = model::JobKind::Interactive;
    } else {
      s.requeue = false;
    }
    const auto id = w.submit(s);
    w.start(id, World::on(0));
    auto report = w.done_report(id, "n1");
    report.launch_failed = true;
    w.must(report);
    EXPECT_EQ(w.job(id).state, JobState::Failed);
    EXPECT_EQ(w.job(id).reason, Reason::JobLaunchFailure);
    EXPECT_EQ(w.job(id).exit.code, 1);
  }
}

// A file that the user named and that cannot be opened: no other node would do better.
TEST(Done, UsersMistakeEndsTheJob) {
  World w(1);
  const auto id = w.submit(spec());
  w.start(id, World::on(0));
  auto report = w.done_report(id, "n1");
  report.exit = model::kNeverRan;
  report.error = "Could not open stdout file /nonexistent/x: No such file or directory";
  w.must(report);
  EXPECT_EQ(w.job(id).state, JobState::Failed);
  EXPECT_EQ(w.job(id).reason, Reason::JobLaunchFailure);
  EXPECT_EQ(w.job(id).reason_detail, report.error);
  EXPECT_EQ(w.job(id).exit, model::kNeverRan);
  EXPECT_EQ(w.job(id).restarts, 0u);
  // The same signal, raised by the script itself, is a signal like any other.
  const auto other = w.submit(spec());
  w.start(other, World::on(0));
  auto signalled = w.done_report(other, "n1");
  signalled.exit = model::kNeverRan;
  w.must(signalled);
  EXPECT_EQ(w.job(other).reason, Reason::RaisedSignal);
}

}  // namespace
}  // namespace spur::state
