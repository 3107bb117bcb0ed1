// SPDX-License-Identifier: Apache-2.0
#include "model/crontab.h"

#include "state/test_world.h"

namespace spur::state {
namespace {

using model::JobState;
using model::Reason;

constexpr Uid kUser{1000};

SetCrontab table(const World& w, std::vector<std::string> schedules, std::string text) {
  SetCrontab command{{kUser, std::move(text), {}}, {}};
  std::uint32_t line = 1;
  for (std::string& schedule : schedules) {
    command.crontab.entries.push_back({std::move(schedule), line, line + 1, {}});
    line += 2;
    model::JobSpec one = spec("cron");
    one.begin = w.now + seconds(60);
    command.specs.push_back(std::make_shared<const model::JobSpec>(std::move(one)));
  }
  return command;
}

const model::Crontab& crontab(const World& w) {
  return w.cluster.crontabs().at(kUser);
}

TEST(Crontabs, AJobPerEntryThatComesBack) {
  World w(1);
  const auto outcome = w.must(table(w, {"* * * * *", "@daily"}, "#SCRON -t 1\n* * * * * a\n#\n@daily b\n"));
  ASSERT_EQ(outcome.jobs.size(), 2u);
  const std::uint32_t id = outcome.jobs[0].value;
  EXPECT_EQ(crontab(w).entries[0].job, outcome.jobs[0]);
  EXPECT_TRUE(w.job(id).flags & model::kCronJob);
  EXPECT_EQ(w.job(id).reason, Reason::BeginTime);
  w.now += seconds(100);
  w.start(id, World::on(0));
  w.done(id, "n1", 3);
  // Over, and back in the queue in the same breath; nobody knows yet for when.
  EXPECT_EQ(w.job(id).state, JobState::Pending);
  EXPECT_TRUE(w.job(id).flags & model::kCronWaits);
  EXPECT_EQ(w.job(id).restarts, 0u);
  EXPECT_EQ(w.job(id).epoch, Epoch{2});
  EXPECT_GT(w.job(id).eligible, w.now + std::chrono::hours(24 * 365));
  const Time next = w.now + seconds(30);
  w.must(ScheduleCron{JobId{id}, next});
  EXPECT_FALSE(w.job(id).flags & model::kCronWaits);
  EXPECT_EQ(w.job(id).eligible, next);
  EXPECT_EQ(w.job(id).spec->begin, next);
  EXPECT_EQ(w.refusal(ScheduleCron{JobId{id}, next + seconds(9)}), ErrorCode::InvalidArgument);
  w.now += seconds(60);
  w.start(id, World::on(0));
  w.must(CancelJob{.target = target(id), .final_state = JobState::Timeout, .reason = Reason::None, .by_user = false,
                   .by = {}, .exit = {}});
  w.done(id, "n1");
  EXPECT_EQ(w.job(id).state, JobState::Pending);  // a time limit is no reason not to come back
}

TEST(Crontabs, CancelledJobsAreDisabled) {
  World w(1);
  const auto jobs = w.must(table(w, {"* * * * *", "@daily"}, "#SCRON -t 1\n* * * * * a\n#SCRON -t 2\n@daily b")).jobs;
  w.must(cancel(target(jobs[1].value)));
  EXPECT_EQ(crontab(w).text, "#SCRON -t 1\n* * * * * a\n#DISABLED: #SCRON -t 2\n#DISABLED: @daily b");
  ASSERT_EQ(crontab(w).entries.size(), 1u);
  w.now += seconds(100);
  w.start(jobs[0].value, World::on(0));
  w.must(cancel(target(jobs[0].value)));
  w.done(jobs[0].value, "n1");
  EXPECT_EQ(w.job(jobs[0].value).state, JobState::Cancelled);
  EXPECT_TRUE(crontab(w).entries.empty());
  EXPECT_TRUE(crontab(w).text.starts_with("#DISABLED: #SCRON -t 1\n#DISABLED: * * * * * a\n"));
}

TEST(Crontabs, AnotherTableTakesItsPlace) {
  World w(1);
  const auto old = w.must(table(w, {"* * * * *", "@daily"}, "one\ntwo\nthree\nfour\n")).jobs;
  w.now += seconds(100);
  w.start(old[0].value, World::on(0));
  const auto fresh = w.must(table(w, {"@hourly"}, "x\ny\n")).jobs;
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(w.job(old[1].value).state, JobState::Cancelled);
  EXPECT_EQ(w.job(old[0].value).state, JobState::Running);  // may end, and does not come back
  EXPECT_EQ(crontab(w).text, "x\ny\n");
  w.done(old[0].value, "n1");
  EXPECT_EQ(w.job(old[0].value).state, JobState::Completed);
  w.must(RemoveCrontab{kUser});
  EXPECT_EQ(w.job(fresh[0].value).state, JobState::Cancelled);
  EXPECT_TRUE(w.cluster.crontabs().empty());
  EXPECT_EQ(w.refusal(RemoveCrontab{kUser}), ErrorCode::NotFound);
}

TEST(Crontabs, WhatIsRefused) {
  World w(1);
  SetCrontab odd = table(w, {"@daily"}, "x\ny\n");
  odd.specs.clear();
  EXPECT_EQ(w.refusal(odd), ErrorCode::InvalidArgument);
  SetCrontab foreign = table(w, {"@daily"}, "x\ny\n");
  foreign.crontab.user = Uid{7};
  EXPECT_EQ(w.refusal(foreign), ErrorCode::InvalidUser);
  SetCrontab array = table(w, {"@daily"}, "x\ny\n");
  array.specs[0] = std::make_shared<const model::JobSpec>(array_spec(1, 3));
  EXPECT_EQ(w.refusal(array), ErrorCode::InvalidArray);
  EXPECT_EQ(w.refusal(ScheduleCron{JobId{77}, w.now}), ErrorCode::InvalidJobId);
  EXPECT_TRUE(w.cluster.crontabs().empty());
}

TEST(Crontabs, AnImageHasThemAll) {
  World w(1);
  const auto job = w.must(table(w, {"@daily"}, "x\ny\n")).jobs.at(0).value;
  w.now += seconds(100);
  w.start(job, World::on(0));
  w.done(job, "n1");
  w.must(ScheduleCron{JobId{job}, w.now + seconds(30)});
  const auto again = Cluster::from_image(w.cluster.image());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->crontabs(), w.cluster.crontabs());
  EXPECT_EQ((*again)->state_hash(), w.cluster.state_hash());
  const auto before = w.cluster.state_hash();
  w.must(RemoveCrontab{kUser});
  EXPECT_NE(before, w.cluster.state_hash());
}

}  // namespace
}  // namespace spur::state
