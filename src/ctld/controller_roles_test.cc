// SPDX-License-Identifier: Apache-2.0
// A controller of several over doors that the test works by hand: what it does while it follows, when it leads, and
// when it is deposed in the middle of something.
#include <gtest/gtest.h>

#include "ctld/controller.h"
#include "ctld/test_doors.h"
#include "sched/engine.h"
#include "state/test_world.h"
#include "wire/command_codec.h"

namespace spur::ctld {
namespace {

// The log is shared by all members of the test; the test says who leads.
struct SharedLog {
  std::vector<std::string> entries;
};

struct SharedJournal final : io::Journal {
  explicit SharedJournal(SharedLog& shared_log) : log(shared_log) {}
  SharedLog& log;
  Roles roles;
  bool leads = false, following = false;
  std::uint64_t next = 1;
  std::deque<Done> open;  // appends of this leader whose outcome is not known yet
  std::deque<std::string> entries;

  Result<Recovery> recover() override { return Recovery{}; }
  bool shared() const override { return true; }
  void follow(std::uint64_t after, Roles given) override {
    EXPECT_FALSE(following);
    following = true;
    roles = std::move(given);
    next = after + 1;
  }
  void append(std::uint64_t index, std::string entry, Done done) override {
    if (!leads) return done(fail(ErrorCode::NotLeader, "test"));
    EXPECT_EQ(index, log.entries.size() + open.size() + 1);
    entries.push_back(std::move(entry));
    open.push_back(std::move(done));
  }
  void save_snapshot(std::uint64_t, std::string, Done done) override { done({}); }

  void catch_up() {
    while (next <= log.entries.size()) {
      const std::uint64_t index = next++;
      roles.on_entry(index, log.entries[index - 1]);
    }
  }
  void lead(bool first) {
    catch_up();
    leads = true;
    following = false;
    roles.on_lead(first);
  }
  void complete() {
    while (!open.empty()) {
      log.entries.push_back(std::move(entries.front()));
      entries.pop_front();
      const Done done = std::move(open.front());
      open.pop_front();
      done({});
    }
  }
  void refuse_for_space() {
    entries.clear();
    for (const Done& done : std::exchange(open, {})) done(fail(ErrorCode::OutOfSpace, "its space quota is used up"));
  }
  // `durable`: what was under way is in the log, though nobody told this leader.
  void depose(bool durable) {
    leads = false;
    for (std::string& entry : entries)
      if (durable) log.entries.push_back(entry);
    entries.clear();
    for (const Done& done : std::exchange(open, {})) done(fail(ErrorCode::NotLeader, "another controller leads now"));
    const auto on_follow = roles.on_follow;
    on_follow({ErrorCode::NotLeader, "another controller leads now"});
  }
};

struct Member {
  explicit Member(SharedLog& log, seconds node_timeout = seconds(300)) : journal(log) {
    controller = std::make_unique<Controller>(Controller::Doors{
        .clock = clock,
        .journal = journal,
        .agents = agents,
        .post = [](std::function<void()> f) { f(); },
        .in_background = [](std::function<void()> f) { f(); },
        .publish = [this](std::shared_ptr<const Picture> picture) { published = std::move(picture); },
        .request_plan = [this](std::shared_ptr<const Picture> picture, Time now,
                               PlanKind kind) { plan = {std::move(picture), now, kind}; },
        .fatal = [](const Error& error) { ADD_FAILURE() << error.message; },
        .log = [](const std::string&) {}});
    model::ClusterConfig config;
    config.node_timeout = node_timeout;
    config.nodes.push_back(state::node_config([](auto& c) { c.name = "n1", c.cpus = 4, c.memory_mib = 1000; }));
    config.partitions.push_back(
        state::partition_config([](auto& c) { c.name = "main", c.is_default = true, c.nodes = "ALL"; }));
    EXPECT_TRUE(controller->start(config, [](Status status) { EXPECT_TRUE(status); }));
  }
  void hello() {
    model::AgentHello hello;
    hello.node = "n1";
    hello.found.cpus = 4;
    hello.found.memory_mib = 1000;
    controller->on_agent_connected("n1");
    controller->on_agent_message("n1", hello);
  }
  void settle() {
    for (int i = 0; i < 50 && (!journal.open.empty() || plan.picture); ++i) {
      journal.complete();
      make_plan();
      clock.pass(seconds(1));
      controller->on_timer();
    }
  }
  void make_plan() {
    if (auto [picture, now, kind] = std::exchange(plan, {}); picture) {
      engine.see(picture->view);
      controller->plan_done(kind == PlanKind::Full ? engine.plan(now) : engine.respond(now));
    }
  }
  // The answer, once there is one.
  std::shared_ptr<std::optional<Result<SubmitReply>>> submit(const std::string& token) {
    model::JobSpec spec;
    spec.uid = Uid{1000};
    spec.partitions = {"main"};
    spec.script = std::make_shared<const std::string>("#!/bin/sh\n");
    model::Caller caller;
    caller.role = model::Role::User;
    caller.uid = Uid{1000};
    auto answer = std::make_shared<std::optional<Result<SubmitReply>>>();
    controller->submit(caller, std::make_shared<const model::JobSpec>(std::move(spec)), token,
                       [answer](Result<SubmitReply> reply) { *answer = std::move(reply); });
    return answer;
  }
  std::size_t launches() { return agents.take<model::ControllerLaunch>().size(); }

  TestClock clock;
  SharedJournal journal;
  TestAgents agents;
  std::unique_ptr<Controller> controller;
  std::shared_ptr<const Picture> published;
  struct {
    std::shared_ptr<const Picture> picture;
    Time now;
    PlanKind kind{};
  } plan;
  sched::Engine engine{{}};
};

TEST(ControllerRoles, AFollowerShowsTheLogAndActsOnNothing) {
  SharedLog log;
  Member a(log), b(log);
  EXPECT_FALSE(a.published->leading);
  a.journal.lead(true);
  a.settle();
  EXPECT_TRUE(a.published->leading);
  a.hello();
  const auto answer = a.submit("t");
  a.settle();
  ASSERT_TRUE(*answer && **answer);
  EXPECT_EQ(a.launches(), 1u);
  b.journal.catch_up();
  EXPECT_EQ(b.controller->cluster().state_hash(), a.controller->cluster().state_hash());
  EXPECT_EQ(b.published->view.jobs.size(), 1u);
  EXPECT_TRUE(b.agents.sent.empty());
  EXPECT_FALSE(b.plan.picture) << "a follower plans nothing";
  EXPECT_EQ(b.controller->next_timer(), Duration::max());
  const auto refused = b.submit("u");
  ASSERT_TRUE(*refused);
  EXPECT_EQ((**refused).error().code, ErrorCode::NotLeader);
}

TEST(ControllerRoles, WhoeverTakesOverLaunchesWhatWasNotConfirmedAndSetsNoNodeDown) {
  SharedLog log;
  Member a(log), b(log);
  a.journal.lead(true);
  a.settle();
  a.hello();
  a.submit("t");
  a.settle();
  EXPECT_EQ(a.launches(), 1u);
  // The old leader heard of the node long ago by the new one's clock: its lease begins anew all the same.
  b.clock.pass(hours(10));
  b.journal.lead(false);
  b.settle();
  EXPECT_TRUE(b.published->leading);
  EXPECT_FALSE(model::find_node(b.published->view, "n1")->down);
  b.hello();
  b.settle();
  EXPECT_GE(b.launches(), 1u);
  EXPECT_EQ(b.controller->cluster().check_invariants().has_value(), true);
}

TEST(ControllerRoles, ADeposedLeaderAnswersNobodyAsDoneAndSendsItsAgentsAway) {
  for (const bool durable : {false, true}) {
    SharedLog log;
    Member a(log), b(log);
    a.journal.lead(true);
    a.settle();
    a.hello();
    a.settle();
    static_cast<void>(a.agents.take<model::ControllerLaunch>());
    const auto answer = a.submit("token");
    const auto queued = a.submit("behind");
    EXPECT_FALSE(*answer);
    a.journal.depose(durable);
    ASSERT_TRUE(*answer);
    EXPECT_EQ((**answer).error().code, ErrorCode::NotLeader);
    ASSERT_TRUE(*queued);
    EXPECT_EQ((**queued).error().code, ErrorCode::NotLeader);
    EXPECT_FALSE(a.published->leading);
    EXPECT_EQ(a.agents.hung_up, std::vector<std::string>{"n1"});
    EXPECT_EQ(a.launches(), 0u);
    // Asked again of the next leader, it is the same job if it was durable, and one job in any case.
    b.journal.lead(false);
    b.settle();
    const auto again = b.submit("token");
    b.settle();
    ASSERT_TRUE(*again && **again);
    EXPECT_EQ((**again)->repeated, durable);
    EXPECT_EQ(b.published->view.jobs.size(), 1u);
    a.journal.catch_up();
    EXPECT_EQ(a.controller->cluster().state_hash(), b.controller->cluster().state_hash());
  }
}

// The end of a job that was not made durable is not acknowledged: the agent must keep it for the next leader.
TEST(ControllerRoles, ADeposedLeaderAcknowledgesNoEnd) {
  SharedLog log;
  Member a(log);
  a.journal.lead(true);
  a.settle();
  a.hello();
  const auto answer = a.submit("t");
  a.settle();
  ASSERT_TRUE(*answer && **answer);
  const auto run = a.agents.take<model::ControllerLaunch>();
  ASSERT_EQ(run.size(), 1u);
  a.controller->on_agent_message(
      "n1", model::AgentJobDone{.run = run[0].second.run, .exit = {}, .is_batch_host = true, .error = {}});
  a.journal.depose(false);
  EXPECT_TRUE(a.agents.take<model::ControllerDoneAck>().empty());
}

// It is the first to lead since it began, so its own files count; but there is no space for them in the journal.
TEST(ControllerRoles, WithoutSpaceForItsConfigurationItLeadsWithTheOneInForce) {
  SharedLog log;
  Member a(log);
  a.journal.lead(true);
  a.settle();
  a.journal.depose(false);
  Member b(log, seconds(60));
  b.journal.lead(true);
  EXPECT_FALSE(b.published->leading) << "its configuration is on its way";
  b.journal.refuse_for_space();
  EXPECT_TRUE(b.published->leading);
  EXPECT_EQ(b.published->view.config->node_timeout, seconds(300));
}

TEST(ControllerRoles, APlanThatWasAskedForBeforeIsForgotten) {
  SharedLog log;
  Member a(log);
  a.journal.lead(true);
  a.settle();
  a.hello();
  a.settle();
  a.submit("t");
  a.journal.complete();
  ASSERT_TRUE(a.plan.picture) << "a plan is being made";
  a.journal.depose(false);
  a.journal.lead(false);
  a.controller->plan_done({});  // the answer to the question of before
  a.hello();
  a.settle();
  EXPECT_EQ(a.launches(), 1u);
}

}  // namespace
}  // namespace spur::ctld
