// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "state/test_world.h"

namespace spur::state {
namespace {

using Kind = model::Dependency::Kind;
using model::Hold;
using model::JobSpec;
using model::Reason;

UpdateJob change(const World& w, std::uint32_t id, const std::function<void(JobSpec&)>& f) {
  JobSpec changed = *w.job(id).spec;
  f(changed);
  UpdateJob command;
  command.target = target(id);
  command.spec = std::make_shared<const JobSpec>(changed);
  return command;
}

TEST(UpdateJob, PendingTakesAnything) {
  World w(1);
  const auto id = w.submit(spec());
  w.must(change(w, id, [](JobSpec& s) { s.min_nodes = 7, s.time_limit = TimeLimit::of_minutes(9); }));
  EXPECT_EQ(w.job(id).spec->min_nodes, 7u);
  EXPECT_EQ(w.job(id).time_limit, TimeLimit::of_minutes(9));
  const Time later = w.now + hours(1);
  w.must(change(w, id, [&](JobSpec& s) { s.begin = later; }));
  EXPECT_EQ(w.job(id).reason, Reason::BeginTime);
  EXPECT_EQ(w.job(id).eligible, later);
  w.must(change(w, id, [](JobSpec& s) { s.begin = {}; }));
  EXPECT_EQ(w.job(id).reason, Reason::None);
  EXPECT_EQ(w.refusal(change(w, id, [](JobSpec& s) { s.uid = Uid{1}; })), ErrorCode::InvalidUser);
  EXPECT_EQ(w.refusal(change(w, id, [](JobSpec& s) { s.array.emplace(); })), ErrorCode::InvalidArray);
}

TEST(UpdateJob, NotMoreNodesThanTheMost) {
  World w(1);
  const auto id = w.submit(spec());
  w.must(change(w, id, [](JobSpec& s) { s.min_nodes = 1, s.max_nodes = 2; }));
  EXPECT_EQ(w.refusal(change(w, id, [](JobSpec& s) { s.min_nodes = 3; })), ErrorCode::InvalidNodeCount);
  EXPECT_EQ(w.job(id).spec->min_nodes, 1u);
  w.must(change(w, id, [](JobSpec& s) { s.min_nodes = 3, s.max_nodes = 3; }));
}

TEST(UpdateJob, RunningTakesWhatDoesNotShapeIt) {
  struct Row {
    const char* what;
    std::function<void(JobSpec&)> f;
    bool allowed;
  };
  const Row rows[] = {
      {"comment", [](JobSpec& s) { s.comment = "x"; }, true},
      {"name", [](JobSpec& s) { s.name = "x"; }, true},
      {"mail", [](JobSpec& s) { s.mail_user = "x"; }, true},
      {"requeue", [](JobSpec& s) { s.requeue = false; }, true},
      {"nice", [](JobSpec& s) { s.nice = 5; }, true},
      {"nodes", [](JobSpec& s) { s.min_nodes = 9; }, false},
      {"partition", [](JobSpec& s) { s.partitions = {"other"}; }, false},
      {"script", [](JobSpec& s) { s.script = std::make_shared<const std::string>("#!/bin/sh"); }, false},
  };
  for (const Row& row : rows) {
    World w(1);
    const auto id = w.submit(spec());
    w.start(id, World::on(0));
    const auto command = change(w, id, row.f);
    if (row.allowed) {
      w.must(command);
      EXPECT_EQ(*w.job(id).spec, *command.spec) << row.what;
    } else {
      EXPECT_EQ(w.refusal(command), ErrorCode::JobNotPending) << row.what;
    }
    w.done(id, "n1");
    EXPECT_EQ(w.refusal(command), ErrorCode::JobFinished);
  }
}

TEST(UpdateJob, LimitPriorityAndTaskLimit) {
  World w(1);
  const auto id = w.submit(spec());
  UpdateJob command;
  command.target = target(id);
  command.time_limit = TimeLimit::of_minutes(3);
  command.priority = 40;
  w.must(command);
  EXPECT_EQ(w.job(id).time_limit, TimeLimit::of_minutes(3));
  EXPECT_EQ(w.job(id).priority, 40u);
  EXPECT_TRUE(w.job(id).priority_by_hand);
  command.time_limit = TimeLimit{};  // back to the default
  command.priority = 0;              // a hold
  w.must(command);
  EXPECT_TRUE(w.job(id).time_limit.is_unlimited());
  EXPECT_EQ(w.job(id).hold, Hold::Admin);
  command.priority = 5;  // which is ended by releasing the job, not by this
  EXPECT_EQ(w.refusal(command), ErrorCode::JobHeld);
  w.must(ReleaseJob{target(id)});
  w.must(command);
  EXPECT_EQ(w.job(id).hold, Hold::None);
  EXPECT_EQ(w.job(id).priority, 5u);
  EXPECT_EQ(w.job(id).reason, Reason::None);

  UpdateJob limit;
  limit.target = target(id);
  limit.array_max_running = 2;
  EXPECT_EQ(w.refusal(limit), ErrorCode::InvalidArray);
  limit.target = target(w.submit(array_spec(1, 5)));
  w.must(limit);
  EXPECT_EQ(w.job(limit.target.id.value).array_max_running, 2u);
}

TEST(UpdateJob, OneTaskGetsItsOwnRecord) {
  World w(1);
  const auto array = w.submit(array_spec(1, 5));
  auto command = change(w, array, [](JobSpec& s) { s.comment = "special"; });
  command.target = tasks_of(array, 2, 2);
  w.must(command);
  const auto* two = model::find_array_task(w.view(), JobId{array}, 2);
  EXPECT_EQ(two->spec->comment, "special");
  EXPECT_EQ(w.job(array).spec->comment, "");
  EXPECT_EQ(two->state, model::JobState::Pending);
}

TEST(UpdateJob, Dependencies) {
  World w(1);
  const auto a = w.submit(spec()), b = w.submit(spec()), c = w.submit(spec());
  const auto wait_for = [&](std::uint32_t id, std::uint32_t other) {
    auto command =
        change(w, id, [&](JobSpec& s) { s.dependencies = {{Kind::AfterAny, JobId{other}, {}, false, 0}}; });
    command.dependencies_changed = true;
    return command;
  };
  w.must(wait_for(b, a));
  EXPECT_EQ(w.job(b).reason, Reason::Dependency);
  w.must(wait_for(c, b));
  EXPECT_EQ(w.refusal(wait_for(a, a)), ErrorCode::InvalidDependency);
  EXPECT_EQ(w.refusal(wait_for(a, b)), ErrorCode::CircularDependency);
  EXPECT_EQ(w.refusal(wait_for(a, c)), ErrorCode::CircularDependency);
  w.must(wait_for(b, 777));  // unknown: met
  EXPECT_EQ(w.job(b).reason, Reason::None);
  w.must(wait_for(a, c));
  w.start(b, World::on(0));
  EXPECT_EQ(w.refusal(wait_for(b, a)), ErrorCode::JobNotPending);
}

TEST(UpdateJob, TaskCannotWaitForItsOwnArray) {
  World w(1);
  const auto array = w.submit(array_spec(1, 5));
  w.must(HoldJob{tasks_of(array, 2, 2)});
  auto command =
      change(w, array, [&](JobSpec& s) { s.dependencies = {{Kind::AfterAny, JobId{array}, {}, true, 0}}; });
  command.dependencies_changed = true;
  EXPECT_EQ(w.refusal(command), ErrorCode::InvalidDependency);
  command.target = tasks_of(array, 2, 2);
  EXPECT_EQ(w.refusal(command), ErrorCode::CircularDependency);
  const auto on_task = [&](std::uint32_t task) {
    auto out =
        change(w, array, [&](JobSpec& s) { s.dependencies = {{Kind::AfterAny, JobId{array}, task, false, 0}}; });
    out.dependencies_changed = true;
    out.target = tasks_of(array, 1, 5);
    out.target.tasks->erase(2);  // so: the rest
    return out;
  };
  EXPECT_EQ(w.refusal(on_task(3)), ErrorCode::InvalidDependency);  // it is in the rest itself
  w.must(on_task(2));                                              // it is not
}

// Held while it runs: its priority stays 0 for when it is requeued.
TEST(UpdateJob, NoPriorityForWhatIsHeld) {
  World w(1);
  const auto id = w.submit(spec());
  w.start(id, World::on(0));
  w.must(HoldJob{target(id), model::Hold::User});
  UpdateJob raise;
  raise.target = target(id);
  raise.priority = 7;
  EXPECT_EQ(w.refusal(raise), ErrorCode::JobHeld);
}

TEST(UpdateJob, TheTableSaysWhatAJobOfScrontabIs) {
  World w(1);
  SetCrontab table{{Uid{1000}, "@daily a", {{"@daily", 1, 1, {}}}}, {std::make_shared<const model::JobSpec>(spec())}};
  const auto id = w.must(table).jobs.at(0).value;
  UpdateJob other;
  other.target = target(id);
  other.spec = std::make_shared<const model::JobSpec>(spec("other"));
  EXPECT_EQ(w.refusal(other), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace spur::state
