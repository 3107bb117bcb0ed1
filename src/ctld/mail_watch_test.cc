// SPDX-License-Identifier: Apache-2.0
#include "ctld/mail_watch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "state/test_world.h"
#include "text/mail_type.h"

namespace spur::ctld {
namespace {

using state::World;

// A world whose every change is looked at, with the subjects of the mails that it brings.
struct Watched : World {
  explicit Watched(int nodes = 2) : World(nodes) { mails.begin(view(), now); }

  std::vector<std::string> after(const std::function<void()>& change) {
    const model::View before = view();
    (void)cluster.take_changes();
    change();
    last.clear();
    for (const JobId id : cluster.take_changes().jobs) mails.on_change(before, view(), id, now, &last);
    return subjects();
  }
  std::vector<std::string> at(Time when) {
    last.clear();
    mails.on_time(view(), when, &last);
    return subjects();
  }
  std::vector<std::string> subjects() const {
    std::vector<std::string> out;
    for (const auto& mail : last) out.push_back(mail.subject);
    return out;
  }
  bool told(std::string_view entry) const {
    return std::ranges::find(last.back().environment, entry) != last.back().environment.end();
  }
  MailWatch mails;
  MailWatch::Mails last;
};

model::JobSpec mailed(std::uint32_t types, model::JobSpec out = state::spec("x")) {
  out.mail_types = types;
  return out;
}
using Subjects = std::vector<std::string>;

TEST(MailWatch, ALifeThatEndsWell) {
  Watched w;
  std::uint32_t id = 0;
  EXPECT_TRUE(w.after([&] { id = w.submit(mailed(text::kMailAll)); }).empty());
  w.now += seconds(5);
  const auto began = w.after([&] { w.start(id, World::on(0)); });
  ASSERT_EQ(began.size(), 1u);
  EXPECT_TRUE(began[0].starts_with("Slurm Job_id=1 Name=x Began, Queued time 00:00:0")) << began[0];
  EXPECT_TRUE(w.told("SLURM_JOB_MAIL_TYPE=Began"));
  EXPECT_TRUE(w.told("SLURM_JOB_STATE=RUNNING"));
  EXPECT_TRUE(w.told("SLURM_JOB_NODELIST=n1"));
  w.now = w.job(id).started + seconds(3723) - seconds(1);  // a command takes a second
  const auto ended = w.after([&] { w.done(id, "n1"); });
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_TRUE(ended[0].starts_with("Slurm Job_id=1 Name=x Ended, Run time 01:02:0")) << ended[0];
  EXPECT_TRUE(ended[0].ends_with(", COMPLETED, ExitCode 0")) << ended[0];
  EXPECT_TRUE(w.told("SLURM_JOB_EXIT_CODE_MAX=0"));
}

TEST(MailWatch, OnlyWhatWasAskedFor) {
  Watched w;
  const auto life = [&](std::uint32_t types, std::uint16_t code) {
    Subjects all;
    std::uint32_t id = w.submit(mailed(types));
    for (const auto& subject : w.after([&] { w.start(id, World::on(0)); })) all.push_back(subject);
    for (const auto& subject : w.after([&] { w.done(id, "n1", code); })) all.push_back(subject);
    return all;
  };
  EXPECT_TRUE(life(0, 0).empty());
  EXPECT_TRUE(life(text::kMailEnd, 3).empty());  // as Slurm: that it failed is FAIL's
  EXPECT_EQ(life(text::kMailEnd, 0).size(), 1u);
  EXPECT_TRUE(life(text::kMailFail, 0).empty());
  const auto failed = life(text::kMailFail, 3);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_TRUE(failed[0].ends_with(", FAILED, ExitCode 3")) << failed[0];
  EXPECT_NE(failed[0].find("Name=x Failed, Run time "), std::string::npos);
}

TEST(MailWatch, CancelledBeforeItStarted) {
  Watched w;
  const auto id = w.submit(mailed(text::kMailAll));
  state::CancelJob cancel;
  cancel.target = state::target(id);
  EXPECT_EQ(w.after([&] { w.must(cancel); }),
            Subjects{"Slurm Job_id=1 Name=x Ended, Run time 00:00:00, CANCELLED, ExitCode 0"});
  EXPECT_TRUE(w.told("SLURM_JOB_NODELIST=(null)"));
}

TEST(MailWatch, RequeuedOnce) {
  Watched w;
  auto spec = mailed(text::kMailAll);
  spec.requeue = true;
  const auto id = w.submit(spec);
  w.after([&] { w.start(id, World::on(0)); });
  state::RequeueJob requeue;
  requeue.target = state::target(id);
  const auto told = w.after([&] { w.must(requeue); });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].starts_with("Slurm Job_id=1 Name=x Requeued, Run time 00:00:0")) << told[0];
  EXPECT_TRUE(w.after([&] { w.done(id, "n1"); }).empty());
}

TEST(MailWatch, PartsOfTheTimeLimit) {
  Watched w;
  auto spec = mailed(text::kMailTimeLimit | text::kMailTimeLimit80 | text::kMailTimeLimit50);
  spec.time_limit = TimeLimit::of_minutes(10);
  const auto id = w.submit(spec);
  w.after([&] { w.start(id, World::on(0)); });
  const Time began = w.job(id).started;
  EXPECT_EQ(w.mails.next(), began + seconds(300));
  EXPECT_TRUE(w.at(began + seconds(299)).empty());
  EXPECT_EQ(w.at(began + seconds(300)),
            Subjects{"Slurm Job_id=1 Name=x Reached 50% of time limit, Run time 00:05:00"});
  EXPECT_TRUE(w.at(began + seconds(301)).empty());
  EXPECT_EQ(w.at(began + seconds(600)),
            (Subjects{"Slurm Job_id=1 Name=x Reached 80% of time limit, Run time 00:10:00",
                      "Slurm Job_id=1 Name=x Reached time limit, Run time 00:10:00"}));
  EXPECT_FALSE(is_set(w.mails.next()));
  // Who begins to lead does not repeat what was told.
  w.mails.begin(w.view(), began + seconds(400));
  EXPECT_EQ(w.mails.next(), began + seconds(480));
  w.after([&] { w.done(id, "n1"); });
  EXPECT_FALSE(is_set(w.mails.next()));
}

TEST(MailWatch, AnArrayIsSummedUp) {
  Watched w;
  const auto id = w.submit(mailed(text::kMailAll, state::array_spec(0, 2)));
  const std::string name = w.job(id).spec->name;
  std::vector<std::uint32_t> tasks(3);
  EXPECT_EQ(w.after([&] { tasks[0] = w.start(id, World::on(0, {0}), 0); }),
            Subjects{"Slurm Array Summary Job_id=1_* (1) Name=" + name + " Began"});
  EXPECT_TRUE(w.told("SLURM_JOB_STATE=PENDING"));
  EXPECT_TRUE(w.after([&] { w.done(tasks[0], "n1", 2); }).empty());
  EXPECT_TRUE(w.after([&] { tasks[1] = w.start(id, World::on(0, {1}), 1); }).empty());
  EXPECT_TRUE(w.after([&] { tasks[2] = w.start(id, World::on(0, {2}), 2); }).empty());
  EXPECT_TRUE(w.after([&] { w.done(tasks[2], "n1"); }).empty());
  EXPECT_EQ(w.after([&] { w.done(tasks[1], "n1"); }),
            Subjects{"Slurm Array Summary Job_id=1_* (1) Name=" + name + " Failed, Mixed, ExitCode [0-2]"});
  EXPECT_TRUE(w.told("SLURM_JOB_EXIT_CODE_MIN=0"));
  EXPECT_TRUE(w.told("SLURM_JOB_EXIT_CODE_MAX=2"));
  EXPECT_TRUE(w.told("SLURM_ARRAY_TASK_COUNT=3"));
}

TEST(MailWatch, AnArrayThatNeverRan) {
  Watched w;
  const auto id = w.submit(mailed(text::kMailAll, state::array_spec(0, 2)));
  state::CancelJob cancel;
  cancel.target = state::target(id);
  const auto told = w.after([&] { w.must(cancel); });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].ends_with(" Ended, Mixed, MaxSignal [9]")) << told[0];
  EXPECT_TRUE(w.told("SLURM_JOB_TERM_SIGNAL_MAX=9"));
}

TEST(MailWatch, EachTaskWhereThatIsAsked) {
  Watched w;
  const auto id = w.submit(mailed(text::kMailEnd | text::kMailArrayTasks, state::array_spec(4, 5)));
  const auto task = w.start(id, World::on(0), 4);
  const auto told = w.after([&] { w.done(task, "n1"); });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].starts_with(fmt::format("Slurm Array Task Job_id=1_4 ({}) Name=", task))) << told[0];
}

}  // namespace
}  // namespace spur::ctld
