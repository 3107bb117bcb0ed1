// SPDX-License-Identifier: Apache-2.0
// HoldJob and ReleaseJob.
#include "state/test_world.h"

namespace spur::state {
namespace {

using model::Hold;
using model::JobState;
using model::Reason;

TEST(Hold, WhoseHoldItIs) {
  struct Row {
    Hold first, second, expected;
    Reason reason;
  };
  const Row rows[] = {
      {Hold::User, Hold::User, Hold::User, Reason::JobHeldUser},
      {Hold::User, Hold::Admin, Hold::Admin, Reason::JobHeldAdmin},
      {Hold::Admin, Hold::User, Hold::Admin, Reason::JobHeldAdmin},
  };
  for (const Row& row : rows) {
    World w(1);
    const auto id = w.submit(spec());
    w.must(HoldJob{target(id), row.first});
    w.must(HoldJob{target(id), row.second});
    EXPECT_EQ(w.job(id).hold, row.expected);
    EXPECT_EQ(w.job(id).reason, row.reason);
    EXPECT_EQ(w.job(id).priority, 0u);
    EXPECT_FALSE(is_set(w.job(id).eligible));
    w.must(ReleaseJob{target(id)});
    EXPECT_EQ(w.job(id).hold, Hold::None);
    EXPECT_EQ(w.job(id).reason, Reason::None);
    EXPECT_EQ(w.job(id).priority, 1u);
    EXPECT_EQ(w.job(id).eligible, w.now);
    w.must(ReleaseJob{target(id)});
  }
  World w(1);
  EXPECT_EQ(w.refusal(HoldJob{target(w.submit(spec())), Hold::None}), ErrorCode::InvalidArgument);
  EXPECT_EQ(w.refusal(HoldJob{target(9)}), ErrorCode::InvalidJobId);
  EXPECT_EQ(w.refusal(ReleaseJob{target(9)}), ErrorCode::InvalidJobId);
}

TEST(Hold, RunningJobIsHeldWhenItComesBack) {
  World w(1);
  const auto id = w.submit(spec());
  w.start(id, World::on(0));
  w.must(HoldJob{target(id)});
  EXPECT_EQ(w.job(id).state, JobState::Running);
  w.must(RequeueJob{target(id)});
  w.done(id, "n1");
  EXPECT_EQ(w.job(id).reason, Reason::JobHeldUser);
  EXPECT_EQ(w.refusal(StartJob{JobId{id}, {}, World::on(0)}), ErrorCode::JobNotPending);
  w.must(cancel(target(id)));
  EXPECT_EQ(w.refusal(HoldJob{target(id)}), ErrorCode::JobFinished);
  EXPECT_EQ(w.refusal(ReleaseJob{target(id)}), ErrorCode::JobFinished);
}

TEST(Hold, ReleaseKeepsOtherObstacles) {
  World w(1);
  const auto first = w.submit(spec());
  auto s = spec();
  s.hold = true;
  s.priority = 50;
  s.dependencies.push_back({model::Dependency::Kind::AfterOk, JobId{first}, {}, false, 0});
  const auto waits = w.submit(s);
  EXPECT_EQ(w.job(waits).reason, Reason::JobHeldUser);
  w.must(ReleaseJob{target(waits)});
  EXPECT_EQ(w.job(waits).reason, Reason::Dependency);
  EXPECT_EQ(w.job(waits).priority, 50u);
  auto later = spec();
  later.hold = true;
  later.begin = w.now + hours(1);
  const auto l = w.submit(later);
  w.must(ReleaseJob{target(l)});
  EXPECT_EQ(w.job(l).reason, Reason::BeginTime);
  EXPECT_EQ(w.job(l).eligible, later.begin);
}

TEST(Hold, TasksOfAnArray) {
  World w(1);
  const auto array = w.submit(array_spec(1, 9));
  EXPECT_EQ(w.must(HoldJob{tasks_of(array, 3, 4)}).jobs.size(), 2u);
  EXPECT_EQ(model::display_id(w.job(array)), "1_[1-2,5-9]");
  const auto* three = model::find_array_task(w.view(), JobId{array}, 3);
  EXPECT_EQ(three->reason, Reason::JobHeldUser);
  EXPECT_EQ(w.job(array).hold, Hold::None);
  w.must(HoldJob{target(array)});
  EXPECT_EQ(w.job(array).hold, Hold::User);
  w.must(ReleaseJob{target(array)});
  EXPECT_EQ(model::find_array_task(w.view(), JobId{array}, 3)->hold, Hold::None);
}

TEST(Hold, TooManyTasksOneByOne) {
  World w(1);
  const auto array = w.submit(array_spec(0, 99'999));
  EXPECT_EQ(w.refusal(HoldJob{tasks_of(array, 0, 10'000)}), ErrorCode::ResourceLimit);
  EXPECT_EQ(w.must(HoldJob{tasks_of(array, 0, 99'999)}).jobs.size(), 1u);
}

}  // namespace
}  // namespace spur::state
