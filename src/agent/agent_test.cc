// SPDX-License-Identifier: Apache-2.0
// The agent over doors that the test works by hand. What happens over time and under faults is the simulator's.
#include "agent/agent.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace spur::agent {
namespace {

using model::JobRun;

struct TestClock final : io::Clock {
  Duration mono{0};
  Time now() override { return from_unix_seconds(1'800'000'000) + mono; }
  Duration monotonic() override { return mono; }
};

std::string text_of(JobRun run) {
  return fmt::format("{}.{}", run.job.value, run.epoch.value);
}

// Keeps what it was asked to do as words.
struct TestLauncher final : io::Launcher {
  std::vector<std::string> asked;
  std::vector<Known> known;
  std::string refusal;  // of the next launches
  Result<std::vector<Known>> recover() override { return known; }
  Status launch(const model::ControllerLaunch& launch) override {
    asked.push_back("launch " + text_of(launch.run));
    if (!refusal.empty()) return fail(ErrorCode::OutOfSpace, refusal);
    return {};
  }
  void end(JobRun run, bool kill, model::JobState) override {
    asked.push_back((kill ? "kill " : "end ") + text_of(run));
  }
  void signal(JobRun run, int signal, bool, bool) override {
    asked.push_back(fmt::format("signal {} {}", signal, text_of(run)));
  }
  void suspend(JobRun run, bool resume) override {
    asked.push_back((resume ? "resume " : "suspend ") + text_of(run));
  }
  void notify(JobRun run, const std::string& text) override {
    asked.push_back("notify " + text_of(run) + " " + text);
  }
  void forget(JobRun run) override { asked.push_back("forget " + text_of(run)); }
};

struct TestController final : io::ControllerPort {
  std::vector<model::AgentMessage> sent;
  std::uint64_t heard = 0;
  void send(model::AgentMessage message) override {
    if (const auto* hello = std::get_if<model::AgentHello>(&message)) heard = hello->sequence;
    if (const auto* beat = std::get_if<model::AgentHeartbeat>(&message)) heard = beat->sequence;
    sent.push_back(std::move(message));
  }
};

using Words = std::vector<std::string>;

class AgentTest : public testing::Test {
 protected:
  AgentTest() { start(); }
  void start() {
    agent_ = std::make_unique<Agent>(AgentIdentity{.node = "n1",
                                                   .address = "n1:6818",
                                                   .hostname = "n1",
                                                   .version = "1",
                                                   .os = "",
                                                   .arch = "",
                                                   .public_key = "",
                                                   .found = {},
                                                   .boot_time = {}},
                                     clock_, launcher_, controller_);
    ASSERT_TRUE(agent_->start());
  }
  void connect() {
    agent_->on_connected();
    agent_->on_message(model::ControllerWelcome{});
    said();
  }
  static JobRun run(std::uint32_t job, std::uint32_t epoch = 1) { return {JobId{job}, Epoch{epoch}}; }
  // By a controller that has heard all that was said so far, or only up to `heard`.
  void launch(JobRun id, std::optional<std::uint64_t> heard = {}) {
    model::ControllerLaunch launch;
    launch.run = id;
    launch.heard = heard.value_or(controller_.heard);
    launch.spec = std::make_shared<model::JobSpec>();
    launch.parts.resize(1);
    agent_->on_message(launch);
  }
  void ends(JobRun id, std::uint16_t code = 0) {
    launcher_.on_ended({.run = id,
                        .exit = {.code = code, .signal = 0},
                        .out_of_memory = false,
                        .launch_failed = false,
                        .error = {}});
  }
  void pass(Duration time) {
    clock_.mono += time;
    if (clock_.mono >= agent_->next_timer()) agent_->on_timer();
  }
  // What the controller was told since the last call, as words.
  Words said() {
    Words out;
    for (const auto& message : std::exchange(controller_.sent, {})) {
      if (const auto* hello = std::get_if<model::AgentHello>(&message)) {
        out.emplace_back("hello");
        for (const auto& held : hello->holding) out.back() += " " + text_of(held);
      } else if (const auto* launched = std::get_if<model::AgentLaunched>(&message)) {
        out.push_back("launched " + text_of(launched->run));
      } else if (const auto* done = std::get_if<model::AgentJobDone>(&message)) {
        out.push_back(fmt::format("{} {} {}:{}", done->launch_failed ? "failed" : "done", text_of(done->run),
                                  done->exit.code, done->exit.signal));
      } else {
        out.emplace_back("beat");
      }
    }
    return out;
  }
  Words did() { return std::exchange(launcher_.asked, {}); }

  TestClock clock_;
  TestLauncher launcher_;
  TestController controller_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(AgentTest, HelloUntilWelcomeThenHeartbeats) {
  EXPECT_EQ(agent_->next_timer(), Duration::max()) << "nothing to do without a controller";
  agent_->on_connected();
  EXPECT_EQ(said(), Words{"hello"});
  pass(seconds(5));
  EXPECT_EQ(said(), Words{"hello"});
  agent_->on_message(model::ControllerWelcome{.cluster_name = "c",
                                              .lease = seconds(20),
                                              .heartbeat = seconds(5),
                                              .controller_public_key = "key",
                                              .unknown = {},
                                              .hello_again = false});
  EXPECT_EQ(agent_->controller_public_key(), "key");
  pass(seconds(5));
  pass(seconds(1));
  pass(seconds(4));
  EXPECT_EQ(said(), (Words{"beat", "beat"}));
  agent_->on_disconnected();
  pass(seconds(60));
  EXPECT_EQ(said(), Words{});
}

TEST_F(AgentTest, ALaunchIsCarriedOutOnceHoweverOftenItComes) {
  connect();
  for (int i = 0; i < 3; ++i) launch(run(1));
  EXPECT_EQ(did(), Words{"launch 1.1"});
  EXPECT_EQ(said(), (Words{"launched 1.1", "launched 1.1", "launched 1.1"}));
  ends(run(1), 3);
  launch(run(1));
  EXPECT_EQ(said(), (Words{"done 1.1 3:0", "done 1.1 3:0"}));
  agent_->on_message(model::ControllerDoneAck{run(1)});
  launch(run(1));
  EXPECT_EQ(did(), Words{"forget 1.1"});
  EXPECT_EQ(said(), Words{}) << "late: it is on record";
}

TEST_F(AgentTest, AFailedLaunchStaysFailed) {
  connect();
  launcher_.refusal = "no space";
  launch(run(1));
  EXPECT_EQ(said(), Words{"failed 1.1 0:0"});
  launcher_.refusal.clear();
  launch(run(1));
  EXPECT_EQ(said(), Words{"failed 1.1 0:0"}) << "the controller may have given it up already";
  pass(seconds(5));
  EXPECT_EQ(said(), Words{"failed 1.1 0:0"}) << "until it is acknowledged";
  EXPECT_EQ(did(), Words{"launch 1.1"});
  agent_->on_message(model::ControllerDoneAck{run(1)});
  launch(run(1));
  launch(run(1, 2));
  EXPECT_EQ(did(), (Words{"forget 1.1", "launch 1.2"}));
}

// SIGSTOP for longer than a lease, or a message that was as long on its way: the node was given up, and the job runs
// elsewhere when its launch is read from the socket.
TEST_F(AgentTest, ALaunchFromBeforeTheNodeMayHaveBeenGivenUpIsNotStarted) {
  agent_->on_connected();
  model::ControllerWelcome welcome;
  welcome.lease = seconds(20);
  welcome.heartbeat = seconds(5);
  launch(run(1));
  EXPECT_EQ(did(), Words{}) << "not welcome yet";
  agent_->on_message(welcome);
  clock_.mono += seconds(14);
  launch(run(1));
  EXPECT_EQ(did(), (Words{"launch 1.1"})) << "late, but not for so long";
  const std::uint64_t before = controller_.heard;
  pass(seconds(1));
  launch(run(2), before);
  EXPECT_EQ(did(), Words{}) << "it has been awake, the message was long on its way";
  launch(run(2));
  EXPECT_EQ(did(), (Words{"launch 2.1"}));
  launch(run(3), controller_.heard + 1);
  EXPECT_EQ(did(), Words{}) << "that was never said";
}

// Between its hello and the welcome.
TEST_F(AgentTest, AWelcomeMakesAnOldLaunchNoYounger) {
  agent_->on_connected();
  clock_.mono += seconds(60);
  model::ControllerWelcome welcome;
  welcome.lease = seconds(20);
  agent_->on_message(welcome);
  launch(run(1));
  EXPECT_EQ(did(), Words{});
  agent_->on_timer();
  welcome.lease = seconds(0);
  agent_->on_message(welcome);
  launch(run(1), 0);
  EXPECT_EQ(did(), (Words{"launch 1.1"})) << "without a lease no node is given up";
}

TEST_F(AgentTest, OlderRunsGiveWay) {
  connect();
  launch(run(1, 2));
  launch(run(1, 1));
  EXPECT_EQ(did(), Words{"launch 1.2"}) << "an older run is never started";
  launch(run(1, 3));
  EXPECT_EQ(did(), (Words{"kill 1.2", "launch 1.3"}));
}

TEST_F(AgentTest, EndsAreReportedUntilAcknowledged) {
  connect();
  launch(run(1));
  said();
  ends(run(1), 7);
  EXPECT_EQ(said(), Words{"done 1.1 7:0"});
  pass(seconds(5));
  EXPECT_EQ(said(), Words{"done 1.1 7:0"});
  agent_->on_disconnected();
  agent_->on_connected();
  EXPECT_EQ(said(), Words{"hello 1.1"}) << "not acknowledged: still held";
  agent_->on_message(model::ControllerWelcome{});
  EXPECT_EQ(said(), Words{"done 1.1 7:0"});
  agent_->on_message(model::ControllerDoneAck{run(1)});
  pass(seconds(10));
  EXPECT_EQ(said(), Words{});
  EXPECT_EQ(did(), (Words{"launch 1.1", "forget 1.1"}));
}

TEST_F(AgentTest, AnAcknowledgementDoesNotForgetWhatRuns) {
  connect();
  launch(run(1));
  agent_->on_message(model::ControllerDoneAck{run(1)});
  EXPECT_EQ(did(), Words{"launch 1.1"});
  EXPECT_NE(agent_->held(JobId{1}), nullptr);
}

TEST_F(AgentTest, EndOfWhatIsNotHere) {
  connect();
  agent_->on_message(model::ControllerEnd{run(1), false, model::JobState::Cancelled});
  EXPECT_EQ(said(), Words{"done 1.1 0:15"});
  launch(run(1));
  EXPECT_EQ(did(), Words{}) << "its launch came too late";
  launch(run(2));
  agent_->on_message(model::ControllerEnd{run(2), false, model::JobState::Timeout});
  agent_->on_message(model::ControllerEnd{run(2), true, model::JobState::Timeout});
  EXPECT_EQ(did(), (Words{"launch 2.1", "end 2.1", "kill 2.1"}));
}

TEST_F(AgentTest, WhatIsOverMustBeGoneBeforeTheNextHello) {
  connect();
  launch(run(1));
  launch(run(2));
  launch(run(3));
  ends(run(3));
  did(), said();
  model::ControllerWelcome again;
  again.unknown = {run(1), run(3), run(9)};
  again.hello_again = true;
  agent_->on_message(again);
  EXPECT_EQ(did(), (Words{"kill 1.1", "forget 3.1"}));
  EXPECT_EQ(said(), Words{});
  ends(run(1));
  EXPECT_EQ(did(), Words{"forget 1.1"});
  EXPECT_EQ(said(), Words{"hello 2.1"});
  again.unknown.clear();
  agent_->on_message(again);
  EXPECT_EQ(said(), Words{"hello 2.1"}) << "asked without a reason that we know";
}

TEST_F(AgentTest, RestartFindsItsRuns) {
  launcher_.known = {{.run = run(1), .is_batch_host = true, .running = true, .ended = {}, .launch = {}},
                     {.run = run(2),
                      .is_batch_host = true,
                      .running = false,
                      .ended = {.run = run(2),
                                .exit = {.code = 5, .signal = 0},
                                .out_of_memory = false,
                                .launch_failed = false,
                                .error = {}},
                      .launch = {}}};
  start();
  agent_->on_connected();
  EXPECT_EQ(said(), Words{"hello 1.1 2.1"});
  agent_->on_message(model::ControllerWelcome{});
  EXPECT_EQ(said(), Words{"done 2.1 5:0"});
  launch(run(1));
  EXPECT_EQ(did(), Words{}) << "it runs already";
}

TEST_F(AgentTest, SignalsAndSuspensionsOfWhatIsHere) {
  connect();
  launch(run(1));
  did();
  agent_->on_message(model::ControllerSignal{run(1), 10, false, false});
  agent_->on_message(model::ControllerSuspend{run(1), false});
  agent_->on_message(model::ControllerSuspend{run(1), true});
  agent_->on_message(model::ControllerSignal{run(2), 10, false, false});
  agent_->on_message(model::ControllerSuspend{run(1, 2), false});
  EXPECT_EQ(did(), (Words{"signal 10 1.1", "suspend 1.1", "resume 1.1"}));
}

TEST_F(AgentTest, ANoticeGoesToTheScriptOrToWhoHoldsTheJob) {
  connect();
  launch(run(1));
  model::ControllerLaunch held;
  held.run = run(2);
  auto spec = std::make_shared<model::JobSpec>();
  spec->kind = model::JobKind::Interactive;
  held.spec = spec;
  held.parts.resize(1);
  held.addresses.resize(1);
  held.heard = controller_.heard;
  agent_->on_message(held);
  did();
  Words heard;
  agent_->on_notice = [&](const JobRun& of, const std::string& text) { heard.push_back(text_of(of) + " " + text); };
  for (const JobRun& to : {run(1), run(2), run(3), run(1, 2)}) agent_->on_message(model::ControllerNotify{to, "hi"});
  EXPECT_EQ(did(), Words{"notify 1.1 hi"});
  EXPECT_EQ(heard, Words{"2.1 hi"});
}

TEST_F(AgentTest, IsToldOfRebootsAndOfNodesThatAreLost) {
  connect();
  launch(run(1));
  did();
  std::vector<Time> reboots;
  Words lost;
  agent_->on_reboot = [&](Time at) { reboots.push_back(at); };
  agent_->on_nodes_lost = [&](const JobRun& of, const std::vector<std::string>& nodes) {
    lost.push_back(text_of(of) + " " + nodes.front());
  };
  agent_->on_message(model::ControllerReboot{from_unix_seconds(7)});
  agent_->on_message(model::ControllerNodesLost{run(1), {"n2"}});
  agent_->on_message(model::ControllerNodesLost{run(2), {"n2"}});
  EXPECT_EQ(reboots, std::vector<Time>{from_unix_seconds(7)});
  EXPECT_EQ(lost, Words{"1.1 n2"});
}

}  // namespace
}  // namespace spur::agent
