// SPDX-License-Identifier: Apache-2.0
#include "state/test_world.h"

namespace spur::state {
namespace {

using model::AfterCompleting;
using model::Hold;
using model::JobState;
using model::Reason;

TEST(Requeue, RunningJobStartsAnew) {
  World w(2);
  const auto id = w.submit(spec());
  w.start(id, World::on({0, 1}));
  w.must(RequeueJob{target(id)});
  EXPECT_EQ(w.job(id).state, JobState::Pending);
  EXPECT_EQ(w.job(id).flags, model::kCompleting | model::kRequeued);
  EXPECT_EQ(w.count<EndJob>(), 1);
  EXPECT_FALSE(w.view().pending.contains(id));
  EXPECT_TRUE(w.view().active.contains(id));
  EXPECT_EQ(w.refusal(StartJob{JobId{id}, {}, World::on(0)}), ErrorCode::JobNotPending);
  w.done(id, "n2");
  w.done(id, "n1", 3);
  const model::Job& job = w.job(id);
  EXPECT_EQ(job.flags, 0u);
  EXPECT_EQ(job.epoch, Epoch{2});
  EXPECT_EQ(job.restarts, 1u);
  EXPECT_EQ(job.submitted, w.now);
  EXPECT_EQ(job.eligible, w.now);
  EXPECT_EQ(job.reason, Reason::None);
  EXPECT_EQ(job.exit, model::ExitStatus{});
  EXPECT_EQ(job.last_nodes, "");
  EXPECT_EQ(job.allocation, nullptr);
  EXPECT_FALSE(is_set(job.started));
  EXPECT_TRUE(w.view().pending.contains(id));
  w.start(id, World::on(0));
}

TEST(Requeue, Hows) {
  struct Row {
    AfterCompleting how;
    Hold hold;
    std::uint32_t flags_while, flags_after;
  };
  const Row rows[] = {
      {AfterCompleting::Requeue, Hold::None, model::kRequeued, 0},
      {AfterCompleting::RequeueHold, Hold::User, model::kRequeued | model::kRequeueHold, 0},
      {AfterCompleting::SpecialExit, Hold::User, model::kRequeued | model::kSpecialExit, model::kSpecialExit},
  };
  for (const bool finished : {false, true})
    for (const Row& row : rows) {
      World w(1);
      const auto id = w.submit(spec());
      w.start(id, World::on(0));
      if (finished) w.done(id, "n1", 1);
      w.must(RequeueJob{target(id), row.how});
      if (!finished) {
        EXPECT_EQ(w.job(id).flags, model::kCompleting | row.flags_while);
        w.done(id, "n1");
      }
      EXPECT_EQ(w.job(id).state, JobState::Pending);
      EXPECT_EQ(w.job(id).flags, row.flags_after);
      EXPECT_EQ(w.job(id).hold, row.hold);
      EXPECT_EQ(w.job(id).epoch, Epoch{2});
      w.must(ReleaseJob{target(id)});
      EXPECT_EQ(w.job(id).flags, 0u);
      EXPECT_EQ(w.job(id).reason, Reason::None);
    }
}

TEST(Requeue, Refusals) {
  World w(1);
  const auto pending = w.submit(spec());
  EXPECT_EQ(w.refusal(RequeueJob{target(pending)}), ErrorCode::JobPending);
  auto no = spec();
  no.requeue = false;
  const auto never = w.submit(no);
  w.start(never, World::on(0, {0}));
  EXPECT_EQ(w.refusal(RequeueJob{target(never)}), ErrorCode::RequestDisabled);
  auto s = spec();
  s.kind = model::JobKind::Interactive;
  const auto interactive = w.submit(s);
  w.start(interactive, World::on(0, {1}));
  EXPECT_EQ(w.refusal(RequeueJob{target(interactive)}), ErrorCode::RequestDisabled);
  EXPECT_EQ(w.refusal(RequeueJob{target(99)}), ErrorCode::InvalidJobId);
  EXPECT_EQ(w.refusal(RequeueJob{target(never), AfterCompleting::Stay}), ErrorCode::InvalidArgument);
}

TEST(Requeue, WhileItIsCompleting) {
  World w(2);
  const auto id = w.submit(spec());
  w.start(id, World::on({0, 1}));
  w.done(id, "n1", 1);
  EXPECT_EQ(w.job(id).state, JobState::Failed);
  w.must(RequeueJob{target(id)});
  EXPECT_EQ(w.job(id).state, JobState::Pending);
  EXPECT_EQ(w.count<EndJob>(), 0);  // n2 was told already
  w.done(id, "n2");
  EXPECT_EQ(w.job(id).epoch, Epoch{2});
}

TEST(Requeue, SiteDefault) {
  model::ClusterConfig config;
  config.requeue_default = false;
  World w(1, 4, 0, config);
  auto yes = spec();
  yes.requeue = true;
  const auto a = w.submit(spec()), b = w.submit(yes);
  w.start(a, World::on(0, {0}));
  w.start(b, World::on(0, {1}));
  EXPECT_EQ(w.refusal(RequeueJob{target(a)}), ErrorCode::RequestDisabled);
  w.must(RequeueJob{target(b)});
}

TEST(Requeue, TaskKeepsItsPlaceInTheArray) {
  World w(1);
  const auto array = w.submit(array_spec(1, 3));
  const auto task = w.start(array, World::on(0), 2);
  w.must(RequeueJob{tasks_of(array, 2, 2)});
  w.done(task, "n1");
  EXPECT_EQ(w.job(task).state, JobState::Pending);
  EXPECT_EQ(w.job(task).array_task, 2u);
  EXPECT_EQ(model::find_array_task(w.view(), JobId{array}, 2), &w.job(task));
  EXPECT_EQ(w.start(task, World::on(0)), task);
}

}  // namespace
}  // namespace spur::state
