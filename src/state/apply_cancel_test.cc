// SPDX-License-Identifier: Apache-2.0
#include "state/test_world.h"

namespace spur::state {
namespace {

using model::JobState;
using model::Reason;

TEST(Cancel, PendingIsFinalAtOnce) {
  World w(1);
  const auto id = w.submit(spec());
  const Outcome outcome = w.must(cancel(target(id)));
  EXPECT_EQ(outcome.jobs, (std::vector<JobId>{JobId{id}}));
  EXPECT_EQ(w.job(id).state, JobState::Cancelled);
  EXPECT_EQ(w.job(id).ended, w.now);
  EXPECT_TRUE(w.job(id).cancelled);
  EXPECT_EQ(w.job(id).ended_by, Uid{1000});
  EXPECT_TRUE(w.view().pending.empty());
  EXPECT_EQ(w.count<EndJob>(), 0);
  EXPECT_EQ(w.refusal(cancel(target(id))), ErrorCode::JobAlreadyDone);
  EXPECT_EQ(w.refusal(cancel(target(99))), ErrorCode::InvalidJobId);
}

TEST(Cancel, WhatNeverStartedIsCancelledOrLate) {
  struct Row {
    JobState asked, expected;
  };
  for (const Row row : {Row{JobState::Cancelled, JobState::Cancelled}, Row{JobState::Deadline, JobState::Deadline},
                        Row{JobState::Completed, JobState::Cancelled}, Row{JobState::Timeout, JobState::Cancelled}}) {
    World w(1);
    const auto id = w.submit(spec());
    auto command = cancel(target(id));
    command.final_state = row.asked;
    w.must(command);
    EXPECT_EQ(w.job(id).state, row.expected);
  }
  World w(1);
  auto wrong = cancel(target(w.submit(spec())));
  wrong.final_state = JobState::Running;
  EXPECT_EQ(w.refusal(wrong), ErrorCode::InvalidArgument);
}

TEST(Cancel, ActiveIsKilled) {
  World w(2);
  const auto id = w.submit(spec());
  w.start(id, World::on({0, 1}));
  w.must(cancel(target(id)));
  EXPECT_EQ(w.job(id).state, JobState::Cancelled);
  EXPECT_EQ(w.job(id).flags, model::kCompleting);
  ASSERT_EQ(w.count<EndJob>(), 1);
  EXPECT_EQ(w.refusal(cancel(target(id))), ErrorCode::JobAlreadyDone);
  EXPECT_EQ(w.cluster.pending_effects().size(), 1u);
  w.must(MarkKillSent{JobId{id}, Epoch{1}});
  EXPECT_TRUE(std::get<EndJob>(w.effects[0]).kill);
  EXPECT_TRUE(std::get<EndJob>(w.cluster.pending_effects()[0]).kill);
  w.must(MarkKillSent{JobId{id}, Epoch{1}});  // again: nothing
  EXPECT_TRUE(w.effects.empty());
  EXPECT_EQ(w.refusal(MarkKillSent{JobId{id}, Epoch{2}}), ErrorCode::StaleEpoch);
  EXPECT_EQ(w.refusal(MarkKillSent{JobId{99}, Epoch{1}}), ErrorCode::InvalidJobId);
  w.done(id, "n2");
  w.done(id, "n1");
  EXPECT_EQ(w.job(id).flags, 0u);
}

TEST(Cancel, InteractiveAllocationIsGivenBack) {
  World w(1);
  auto s = spec();
  s.kind = model::JobKind::Interactive;
  const auto id = w.submit(s);
  w.start(id, World::on(0));
  CancelJob give_back;
  give_back.target = target(id);
  give_back.final_state = JobState::Failed;
  give_back.reason = Reason::NonZeroExitCode;
  give_back.exit = model::ExitStatus{.code = 7, .signal = 0};
  w.must(give_back);
  w.done(id, "n1");
  EXPECT_EQ(w.job(id).state, JobState::Failed);
  EXPECT_EQ(w.job(id).exit.code, 7);
  EXPECT_FALSE(w.job(id).cancelled);
}

TEST(Cancel, OnTheWayBackToTheQueue) {
  World w(1);
  const auto id = w.submit(spec());
  w.start(id, World::on(0));
  w.must(RequeueJob{target(id)});
  w.must(cancel(target(id)));
  EXPECT_EQ(w.job(id).state, JobState::Cancelled);
  EXPECT_EQ(w.job(id).flags, model::kCompleting);
  w.done(id, "n1");
  EXPECT_EQ(w.job(id).state, JobState::Cancelled);
  EXPECT_EQ(w.job(id).epoch, Epoch{1});
}

TEST(Cancel, WholeArray) {
  World w(1);
  const auto array = w.submit(array_spec(1, 5));
  const auto task = w.start(array, World::on(0), 2);
  EXPECT_EQ(w.must(cancel(target(array))).jobs.size(), 2u);
  EXPECT_EQ(w.job(array).state, JobState::Cancelled);
  EXPECT_EQ(model::display_id(w.job(array)), "1_[1,3-5]");  // one record goes on standing for them
  EXPECT_EQ(w.job(task).state, JobState::Cancelled);
  EXPECT_EQ(w.view().jobs.size(), 2u);
  EXPECT_EQ(model::find_array_task(w.view(), JobId{array}, 4), &w.job(array));
}

TEST(Cancel, OneRunningTaskByItsOwnId) {
  World w(1);
  const auto array = w.submit(array_spec(1, 5));
  const auto task = w.start(array, World::on(0), 2);
  w.must(cancel(target(task)));
  EXPECT_EQ(w.job(task).state, JobState::Cancelled);
  EXPECT_EQ(w.job(array).state, JobState::Pending);
}

TEST(Cancel, SomePendingTasksGetRecords) {
  World w(1);
  const auto array = w.submit(array_spec(1, 20, 2));
  EXPECT_EQ(w.must(cancel(tasks_of(array, 3, 4))).jobs.size(), 2u);
  EXPECT_EQ(model::display_id(w.job(array)), "1_[1-2,5-20%2]");
  const model::Job* three = model::find_array_task(w.view(), JobId{array}, 3);
  ASSERT_NE(three, nullptr);
  EXPECT_EQ(three->state, JobState::Cancelled);
  EXPECT_EQ(model::display_id(*three), "1_3");
  EXPECT_EQ(w.refusal(cancel(tasks_of(array, 3, 4))), ErrorCode::JobAlreadyDone);
  EXPECT_EQ(w.refusal(cancel(tasks_of(array, 30, 40))), ErrorCode::InvalidJobId);
  w.must(cancel(tasks_of(array, 4, 5)));  // one done already, one not
  EXPECT_EQ(model::display_id(w.job(array)), "1_[1-2,6-20%2]");
  w.must(cancel(tasks_of(array, 1, 4'000'000'000u)));
  EXPECT_EQ(w.job(array).state, JobState::Cancelled);
}

TEST(Cancel, ManyPendingTasksShareOneRecord) {
  World w(1);
  const auto array = w.submit(array_spec(0, 999'999));
  const Outcome outcome = w.must(cancel(tasks_of(array, 10, 500'000)));
  ASSERT_EQ(outcome.jobs.size(), 1u);
  EXPECT_EQ(w.view().jobs.size(), 2u);
  const model::Job& gone = w.job(outcome.jobs[0].value);
  EXPECT_EQ(gone.state, JobState::Cancelled);
  EXPECT_EQ(gone.array_pending->size(), 499'991u);
  EXPECT_EQ(w.job(array).array_pending->size(), 500'009u);
  EXPECT_EQ(w.must(cancel(target(array))).jobs, (std::vector<JobId>{JobId{array}}));
  w.must(PurgeJobs{{gone.id, JobId{array}}});
  EXPECT_TRUE(w.view().jobs.empty());
  EXPECT_TRUE(w.view().arrays.empty());
}

}  // namespace
}  // namespace spur::state
