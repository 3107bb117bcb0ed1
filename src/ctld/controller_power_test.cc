// SPDX-License-Identifier: Apache-2.0
// The programs that switch nodes off and on: when the controller runs them, and what they are told.
#include <gtest/gtest.h>

#include <set>

#include "ctld/controller.h"
#include "ctld/test_doors.h"
#include "sched/engine.h"
#include "state/test_world.h"

namespace spur::ctld {
namespace {

using Words = std::vector<std::string>;

struct PowerPrograms final : io::ControllerHooks {
  bool has(Kind) const override { return false; }
  void run(Kind, std::vector<std::string>, std::function<void(Status)>) override {}
  void run_as(Program, std::function<void(Status)>) override {}
  void run_site(SiteProgram program, std::function<void(Status)>) override { ran.push_back(std::move(program)); }
  void mail(Mail, std::function<void(Status)>) override {}
  std::vector<SiteProgram> ran;
};

model::Caller admin() {
  model::Caller caller;
  caller.role = model::Role::Admin;
  return caller;
}

class ControllerPowerTest : public testing::Test {
 protected:
  ControllerPowerTest() { start(); }
  void start() {
    journal_.recovery = {.snapshot_index = 0, .snapshot = {}, .entries = journal_.durable, .notice = {}};
    controller_ = std::make_unique<Controller>(Controller::Doors{
        .clock = clock_,
        .journal = journal_,
        .agents = agents_,
        .post = [](std::function<void()> f) { f(); },
        .in_background = [](std::function<void()> f) { f(); },
        .publish = [](std::shared_ptr<const Picture>) {},
        .request_plan = [this](std::shared_ptr<const Picture> picture, Time now,
                               PlanKind kind) { plan_ = {std::move(picture), now, kind}; },
        .fatal = [](const Error& error) { FAIL() << error.message; },
        .log = [](const std::string&) {},
        .programs = &programs_,
        .host = "ctl"});
    model::ClusterConfig config;
    for (const char* name : {"n1", "n2"})
      config.nodes.push_back(state::node_config([&](auto& c) { c.name = name, c.cpus = 4, c.memory_mib = 1000; }));
    config.partitions.push_back(
        state::partition_config([](auto& c) { c.name = "main", c.is_default = true, c.nodes = "ALL"; }));
    config.power.suspend_program = "/sbin/off";
    config.power.resume_program = "/sbin/on";
    config.power.resume_fail_program = "/sbin/fail";
    config.power.suspend_time_seconds = 100'000;
    config.power.suspend_timeout = seconds(5);
    config.resume_timeout = seconds(20);
    config.node_timeout = seconds(0);
    config.shown = {{"ResvProlog", "/sbin/begins"}, {"ResvEpilog", "/sbin/ends"}};
    ASSERT_TRUE(controller_->start(config, [](Status status) { EXPECT_TRUE(status); }));
    journal_.complete_all();
  }
  void hello(const char* name, std::int64_t boot) {
    model::AgentHello hello;
    hello.node = name;
    hello.found.cpus = 4;
    hello.found.memory_mib = 1000;
    hello.boot_time = from_unix_seconds(boot);
    controller_->on_agent_connected(name);
    controller_->on_agent_message(name, hello);
    pass(1);
  }
  void pass(int time) {
    for (int i = 0; i < time; ++i) {
      clock_.pass(seconds(1));
      controller_->on_timer();
      journal_.complete_all();
      if (auto [picture, now, kind] = std::exchange(plan_, {}); picture) {
        engine_.see(picture->view);
        controller_->plan_done(kind == PlanKind::Full ? engine_.plan(now) : engine_.respond(now));
        journal_.complete_all();
      }
    }
  }
  void power(state::UpdateNode::Action action, Words nodes) {
    state::UpdateNode update;
    update.nodes = std::move(nodes);
    update.action = action;
    controller_->update_node(admin(), update, [](Status status) { EXPECT_TRUE(status) << status.error().message; });
    journal_.complete_all();
  }
  std::vector<io::ControllerHooks::SiteProgram> ran() { return std::exchange(programs_.ran, {}); }
  std::string state(const char* node) {
    return model::state_text(*model::find_node(controller_->cluster().view(), node), true);
  }

  TestClock clock_;
  TestJournal journal_;
  TestAgents agents_;
  PowerPrograms programs_;
  sched::Engine engine_;
  struct Question {
    std::shared_ptr<const Picture> picture;
    Time now;
    PlanKind kind = PlanKind::Full;
  };
  Question plan_;
  std::unique_ptr<Controller> controller_;
};

using enum state::UpdateNode::Action;

TEST_F(ControllerPowerTest, AfterTheCommitAndAgainByWhoLeadsNext) {
  hello("n1", 100), hello("n2", 100);
  power(PowerDown, {"n1", "n2"});
  EXPECT_TRUE(ran().empty());
  clock_.pass(seconds(1));
  controller_->on_timer();
  ASSERT_FALSE(journal_.open.empty());
  EXPECT_TRUE(ran().empty()) << "not before it is durable";
  journal_.complete_all();
  auto first = ran();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].words, (Words{"/sbin/off", "n[1-2]"}));
  EXPECT_EQ(first[0].variable, "");
  EXPECT_EQ(first[0].timeout, seconds(20));
  start();  // it was killed before the program had done its work, for all that is known
  EXPECT_EQ(ran(), first);
  pass(7);
  EXPECT_EQ(state("n1"), "idle~");
  EXPECT_TRUE(ran().empty());
  start();
  EXPECT_TRUE(ran().empty()) << "nothing is on its way";
}

TEST_F(ControllerPowerTest, AJobHasItsNodesSwitchedOnAndIsSentWhenAllAreThere) {
  hello("n1", 100), hello("n2", 100);
  power(PowerDown, {"n1"});
  pass(8);
  ASSERT_EQ(state("n1"), "idle~");
  (void)ran();
  auto spec = state::spec();
  spec.min_nodes = 2;
  spec.tasks = 2;
  spec.script = std::make_shared<const std::string>("#!/bin/sh\n");
  spec.work_dir = "/tmp";
  spec.extra = "a \"quoted\" word";
  controller_->submit(admin(), std::make_shared<const model::JobSpec>(spec), {},
                      [](Result<SubmitReply> reply) { EXPECT_TRUE(reply); });
  journal_.complete_all();
  pass(5);
  const auto programs = ran();
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_EQ(programs[0].words, (Words{"/sbin/on", "n1"}));
  EXPECT_EQ(programs[0].variable, "SLURM_RESUME_FILE");
  EXPECT_EQ(programs[0].document,
            "{\"all_nodes_resume\":\"n1\",\"jobs\":[{\"extra\":\"a \\\"quoted\\\" word\",\"features\":null,\"job_id\":1,"
            "\"nodes_alloc\":\"n[1-2]\",\"nodes_resume\":\"n1\",\"oversubscribe\":\"OK\",\"partition\":\"main\","
            "\"reservation\":null}]}");
  EXPECT_EQ(state("n1"), "mix#");
  EXPECT_TRUE(agents_.take<model::ControllerLaunch>().empty()) << "n2 waits for n1";
  hello("n1", 100);  // it has not gone yet
  EXPECT_TRUE(agents_.take<model::ControllerLaunch>().empty());
  hello("n1", 500);
  std::set<std::string> told;  // perhaps twice
  for (const auto& [node, launch] : agents_.take<model::ControllerLaunch>()) told.insert(node);
  EXPECT_EQ(told, (std::set<std::string>{"n1", "n2"}));
  EXPECT_EQ(state("n1"), "mix");
}

TEST_F(ControllerPowerTest, WhoDoesNotComeIsTold) {
  hello("n1", 100);
  power(PowerDown, {"n1"});
  pass(8);
  power(PowerUp, {"n1"});
  pass(2);
  EXPECT_EQ(state("n1"), "idle#");
  (void)ran();
  pass(25);
  const auto programs = ran();
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_EQ(programs[0].words, (Words{"/sbin/fail", "n1"}));
  EXPECT_EQ(state("n1"), "down~");
}

// ResvProlog, ResvEpilog: once each, also when another controller takes over between them.
TEST_F(ControllerPowerTest, AReservationHasItsProgramsRun) {
  hello("n1", 100), hello("n2", 100);
  (void)ran();
  model::ReservationChange change;
  change.name = "r";
  change.start = clock_.now() + seconds(10);
  change.duration = seconds(60);
  change.node_counts = {1};
  change.users = model::NamesEdit{model::EditKind::Set, {"me"}};
  controller_->create_reservation(admin(), change, {{"me", {Uid{1000}}}},
                                  [](const Result<std::string>& made) { EXPECT_TRUE(made); });
  journal_.complete_all();
  pass(5);
  EXPECT_TRUE(ran().empty());
  pass(10);
  auto programs = ran();
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_EQ(programs[0].words, (Words{"/sbin/begins", "r"}));
  start();
  pass(10);
  EXPECT_TRUE(ran().empty());
  pass(60);
  programs = ran();
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_EQ(programs[0].words, (Words{"/sbin/ends", "r"}));
}

}  // namespace
}  // namespace spur::ctld
