// SPDX-License-Identifier: Apache-2.0
#include "ctld/statistics.h"

#include <gtest/gtest.h>

namespace spur::ctld {
namespace {

model::Job job(model::JobState state) {
  model::Job out;
  out.id = JobId{7};
  out.spec = std::make_shared<const model::JobSpec>();
  out.state = state;
  return out;
}

TEST(Statistics, CountsWhatJobsDoOnce) {
  Statistics statistics(from_unix_seconds(100));
  const auto pending = job(model::JobState::Pending), running = job(model::JobState::Running),
             completed = job(model::JobState::Completed), failed = job(model::JobState::NodeFail),
             wrong = job(model::JobState::Failed), cancelled = job(model::JobState::Cancelled);
  statistics.job_changed(nullptr, &pending);
  statistics.job_changed(&pending, &pending);
  statistics.job_changed(&pending, &running);
  statistics.job_changed(&running, &running);
  statistics.job_changed(&running, &completed);
  statistics.job_changed(&completed, &completed);
  statistics.job_changed(&completed, nullptr);
  statistics.job_changed(&pending, &cancelled);
  statistics.job_changed(&running, &failed);
  statistics.job_changed(&running, &wrong);
  const auto counts = statistics.counts();
  EXPECT_EQ(counts.submitted, 1u);
  EXPECT_EQ(counts.started, 1u);
  EXPECT_EQ(counts.completed, 2u);
  EXPECT_EQ(counts.cancelled, 1u);
  EXPECT_EQ(counts.failed, 1u);
}

TEST(Statistics, TaskOfAnArrayIsNoSubmission) {
  Statistics statistics(Time{});
  auto task = job(model::JobState::Running);
  task.array_job = JobId{5};
  task.array_task = 3;
  statistics.job_changed(nullptr, &task);
  EXPECT_EQ(statistics.counts().submitted, 0u);
  EXPECT_EQ(statistics.counts().started, 1u);
}

TEST(Statistics, ResetKeepsWhatIsEver) {
  Statistics statistics(from_unix_seconds(100));
  const std::vector<sched::Start> starts(3);
  statistics.cycle(
      {.full = true, .took = Duration{40}, .looked_at = 9, .tested = 4, .queue = 12, .starts = starts, .at = {}});
  statistics.call("Ping", Uid{5}, Duration{10});
  statistics.call("Ping", Uid{5}, Duration{-3});  // the clock was set back
  EXPECT_EQ(statistics.counts().by_method.at("Ping").count, 2u);
  EXPECT_EQ(statistics.counts().by_user.at(5).total_us, 10u);
  statistics.reset(from_unix_seconds(200));
  const auto counts = statistics.counts();
  EXPECT_EQ(counts.since, from_unix_seconds(200));
  EXPECT_EQ(counts.full.count, 0u);
  EXPECT_EQ(counts.full.starts, 0u);
  EXPECT_EQ(counts.full.starts_ever, 3u);
  EXPECT_EQ(counts.full.last_us, 40u);
  EXPECT_TRUE(counts.by_method.empty());
}

}  // namespace
}  // namespace spur::ctld
