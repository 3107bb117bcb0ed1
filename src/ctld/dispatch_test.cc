// SPDX-License-Identifier: Apache-2.0
#include "ctld/dispatch.h"

#include <gtest/gtest.h>

#include <deque>

#include "ctld/test_doors.h"
#include "state/test_world.h"

namespace spur::ctld {
namespace {

using model::ControllerDoneAck;
using model::ControllerEnd;
using model::ControllerLaunch;
using model::ControllerWelcome;
using model::JobRun;
using state::World;

constexpr seconds kLease{20};

model::ClusterConfig config() {
  model::ClusterConfig out;
  out.node_timeout = kLease;
  out.kill_wait = seconds(30);
  out.return_to_service = 1;
  out.reboot_program = "/sbin/reboot";
  out.power.suspend_program = out.power.resume_program = "/sbin/power";
  out.power.suspend_time_seconds = 1'000'000;
  out.power.suspend_timeout = seconds(0);
  out.resume_timeout = seconds(60);
  return out;
}

// Programs of the site that end when the test says so.
class TestPrograms final : public io::ControllerHooks {
 public:
  bool has(Kind kind) const override { return kind == Kind::Prolog ? prolog : epilog; }
  void run(Kind kind, std::vector<std::string> environment, std::function<void(Status)> done) override {
    running.push_back({kind, std::move(environment), std::move(done)});
  }
  void run_as(Program, std::function<void(Status)>) override {}
  void run_site(SiteProgram, std::function<void(Status)>) override {}
  void mail(Mail, std::function<void(Status)>) override {}
  void finish(Status status = {}) {
    ASSERT_FALSE(running.empty());
    auto done = std::move(running.front().done);
    running.erase(running.begin());
    done(std::move(status));
  }
  struct Run {
    Kind kind;
    std::vector<std::string> environment;
    std::function<void(Status)> done;
  };
  bool prolog = false, epilog = false;
  std::vector<Run> running;
};

class DispatchTest : public testing::Test {
 protected:
  DispatchTest() {
    fresh_leader();
    for (const char* node : {"n1", "n2"}) connect(node);
  }
  void fresh_leader() {
    dispatcher_ = std::make_unique<Dispatcher>(
        clock_, agents_,
        Dispatcher::Hooks{
            .view = [this]() -> const model::View& { return world_.view(); },
            .propose = [this](state::Command c, auto then) { proposed_.emplace_back(std::move(c), then); },
            .propose_repeated = [this](state::Command c, auto then) { proposed_.emplace_back(std::move(c), then); },
            .log = [](const std::string&) {},
            .surely_leads = [this] { return surely_leads_; },
            .programs = &programs_,
            .loads = &loads_});
    dispatcher_->resume_all(world_.cluster.pending_effects());
  }
  // What was proposed is applied, and its effects carried out, as the controller does after a commit.
  void commit() {
    while (!proposed_.empty()) {
      auto [command, then] = std::move(proposed_.front());
      proposed_.pop_front();
      const auto outcome = world_.run(std::move(command));
      const auto effects = world_.effects;
      if (then) then(outcome);
      for (const auto& effect : effects) dispatcher_->carry_out(effect);
    }
  }
  void hear(const std::string& node, model::AgentMessage message) {
    dispatcher_->on_message(node, message);
    commit();
  }
  static model::AgentHello hello(const std::string& node, std::vector<JobRun> holding = {}) {
    model::AgentHello out;
    out.node = node;
    out.address = node + ":6818";
    out.found.cpus = 4;
    out.found.memory_mib = 1000;
    out.holding = std::move(holding);
    return out;
  }
  void connect(const std::string& node, std::vector<JobRun> holding = {}) {
    dispatcher_->on_connected(node);
    hear(node, hello(node, std::move(holding)));
  }
  JobRun start(std::vector<std::uint32_t> nodes) {
    const auto id = world_.submit(state::spec());
    world_.start(id, World::on(std::move(nodes)));
    for (const auto& effect : std::vector(world_.effects)) dispatcher_->carry_out(effect);
    return {JobId{id}, world_.job(id).epoch};
  }
  void cancel(JobRun run) {
    world_.must(state::CancelJob{.target = state::target(run.job.value),
                                 .final_state = model::JobState::Cancelled,
                                 .reason = model::Reason::None,
                                 .by_user = true,
                                 .by = {},
                                 .exit = {}});
    for (const auto& effect : std::vector(world_.effects)) dispatcher_->carry_out(effect);
  }
  static model::AgentJobDone done(JobRun run) {
    model::AgentJobDone out;
    out.run = run;
    out.is_batch_host = true;
    return out;
  }
  // Seconds go by; the named nodes send a heartbeat each second.
  void pass(seconds time, const std::vector<std::string>& beating = {"n1", "n2"}) {
    for (seconds s{0}; s < time; ++s) {
      clock_.pass(seconds(1));
      for (const auto& node : beating) hear(node, model::AgentHeartbeat{});
      dispatcher_->on_timer();
      commit();
    }
  }
  bool down(const std::string& node) const { return world_.node(node).down; }

  World world_{2, 4, 0, config()};
  NodeLoads loads_;
  TestPrograms programs_;
  bool surely_leads_ = true;
  TestClock clock_;
  TestAgents agents_;
  std::deque<std::pair<state::Command, std::function<void(const state::Outcome&)>>> proposed_;
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(DispatchTest, NothingIsLaunchedBeforeTheSitesPrologIsThrough) {
  programs_.prolog = true;
  agents_.sent.clear();
  const JobRun run = start({0, 1});
  pass(seconds(11));
  connect("n1");  // nor when a node comes back
  EXPECT_TRUE(agents_.take<ControllerLaunch>().empty());
  ASSERT_EQ(programs_.running.size(), 1u);
  const auto& environment = programs_.running[0].environment;
  EXPECT_NE(std::ranges::find(environment, "SLURM_JOB_NODELIST=n[1-2]"), environment.end());
  EXPECT_NE(std::ranges::find(environment, "SLURM_SCRIPT_CONTEXT=prolog_slurmctld"), environment.end());
  programs_.finish();
  EXPECT_EQ(agents_.take<ControllerLaunch>().size(), 2u);
  EXPECT_EQ(world_.job(run.job.value).state, model::JobState::Running);
}

TEST_F(DispatchTest, APrologThatFailsSendsTheJobBack) {
  programs_.prolog = true;
  const JobRun run = start({0});
  agents_.sent.clear();
  programs_.finish(fail(ErrorCode::Internal, "no"));
  commit();
  EXPECT_TRUE(agents_.take<ControllerLaunch>().empty());
  hear("n1", done(run));
  EXPECT_EQ(world_.job(run.job.value).state, model::JobState::Pending);
  EXPECT_EQ(world_.job(run.job.value).restarts, 1u);
  cancel({run.job, Epoch{2}});
}

TEST_F(DispatchTest, TheEpilogRunsOncePerRun) {
  programs_.epilog = true;
  const JobRun run = start({0});
  hear("n1", model::AgentLaunched{run});
  EXPECT_TRUE(programs_.running.empty());
  auto end = done(run);
  end.exit.code = 3;
  hear("n1", end);
  hear("n1", end);
  ASSERT_EQ(programs_.running.size(), 1u);
  const auto& environment = programs_.running[0].environment;
  EXPECT_NE(std::ranges::find(environment, "SLURM_JOB_EXIT_CODE2=3:0"), environment.end());
  EXPECT_NE(std::ranges::find(environment, "SLURM_JOB_EXIT_CODE=768"), environment.end());
  programs_.finish(fail(ErrorCode::Internal, "only logged"));
  EXPECT_EQ(world_.job(run.job.value).exit.code, 3);
}

TEST_F(DispatchTest, ANodeThatSaysItIsBrokenIsDrained) {
  hear("n1", model::AgentHeartbeat{.problem = "gres/gpu /dev/nvidia1 is gone"});
  EXPECT_TRUE(world_.node("n1").flags & model::kNodeDrain);
  EXPECT_EQ(world_.node("n1").reason, "gres/gpu /dev/nvidia1 is gone");
  EXPECT_FALSE(world_.node("n2").flags & model::kNodeDrain);
}

TEST_F(DispatchTest, LaunchIsRepeatedUntilConfirmed) {
  agents_.sent.clear();
  const JobRun run = start({0, 1});
  auto sent = agents_.take<ControllerLaunch>();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].second.run, run);
  EXPECT_EQ(sent[0].second.this_part, 0u);
  EXPECT_EQ(sent[1].second.this_part, 1u);
  // The first node is told of all, the other of itself.
  ASSERT_EQ(sent[0].second.parts.size(), 2u);
  EXPECT_EQ(sent[0].second.addresses.size(), 2u);
  EXPECT_EQ(sent[0].second.parts[1].node, "n2");
  ASSERT_EQ(sent[1].second.parts.size(), 1u);
  EXPECT_EQ(sent[1].second.parts[0].node, "n2");
  EXPECT_EQ(sent[1].second.whole.nodes, "n[1-2]");
  EXPECT_EQ(sent[1].second.whole.node_count, 2u);
  EXPECT_FALSE(sent[1].second.spec->script);
  hear("n1", model::AgentLaunched{run});
  pass(seconds(6));
  sent = agents_.take<ControllerLaunch>();
  ASSERT_EQ(sent.size(), 1u) << "only to the one that has not answered";
  EXPECT_EQ(sent[0].first, "n2");
  hear("n2", model::AgentLaunched{run});
  pass(seconds(30));
  EXPECT_TRUE(agents_.take<ControllerLaunch>().empty());
}

// What the journal says may be old when it is heard: another controller may lead by then.
TEST_F(DispatchTest, NothingIsLaunchedByOneThatMayLeadNoMore) {
  agents_.sent.clear();
  surely_leads_ = false;
  const JobRun run = start({0});
  EXPECT_TRUE(agents_.take<ControllerLaunch>().empty());
  pass(seconds(7));
  EXPECT_TRUE(agents_.take<ControllerLaunch>().empty());
  surely_leads_ = true;
  pass(seconds(1));
  const auto said = agents_.take<ControllerLaunch>();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].second.run, run);
}

TEST_F(DispatchTest, LaunchWaitsForTheLink) {
  dispatcher_->on_disconnected("n1");
  agents_.sent.clear();
  const JobRun run = start({0});
  EXPECT_TRUE(agents_.take<ControllerLaunch>().empty());
  connect("n1");
  ASSERT_EQ(agents_.take<ControllerLaunch>().size(), 1u) << "once";
  hear("n1", model::AgentLaunched{run});
  dispatcher_->on_disconnected("n1");
  connect("n1", {run});
  EXPECT_TRUE(agents_.take<ControllerLaunch>().empty()) << "the node has it";
  dispatcher_->on_disconnected("n1");
  connect("n1");
  EXPECT_EQ(agents_.take<ControllerLaunch>().size(), 1u) << "it has lost it";
}

// Its hello may tell that it was given up, or that another controller leads: until that is settled it is told
// nothing.
TEST_F(DispatchTest, ANodeThatIsNotTakenInGetsNothing) {
  dispatcher_->on_disconnected("n1");
  start({0});
  agents_.sent.clear();
  dispatcher_->on_connected("n1");
  dispatcher_->on_message("n1", hello("n1"));
  clock_.pass(seconds(6));
  dispatcher_->on_timer();
  EXPECT_TRUE(agents_.take<ControllerLaunch>().empty());
  commit();
  EXPECT_EQ(agents_.take<ControllerLaunch>().size(), 1u);
}

TEST_F(DispatchTest, WhatIsBeingEndedIsNotLaunchedForThat) {
  dispatcher_->on_disconnected("n1");
  const JobRun run = start({0});
  cancel(run);
  agents_.sent.clear();
  connect("n1");
  const auto sent = std::exchange(agents_.sent, {});
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<ControllerWelcome>(sent[0].second));
  EXPECT_TRUE(std::holds_alternative<ControllerEnd>(sent[1].second));
}

TEST_F(DispatchTest, EndIsTermThenKillUntilTheNodeIsDone) {
  const JobRun run = start({0});
  hear("n1", model::AgentLaunched{run});
  agents_.sent.clear();
  clock_.wall = world_.now + seconds(1);  // KillWait counts from what the state says
  cancel(run);
  auto sent = agents_.take<ControllerEnd>();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_FALSE(sent[0].second.kill);
  EXPECT_EQ(sent[0].second.why, model::JobState::Cancelled);
  pass(seconds(25));
  for (const auto& [node, end] : agents_.take<ControllerEnd>()) EXPECT_FALSE(end.kill);
  pass(seconds(12));
  sent = agents_.take<ControllerEnd>();
  ASSERT_FALSE(sent.empty());
  EXPECT_TRUE(sent.back().second.kill);
  hear("n1", done(run));
  EXPECT_EQ(agents_.take<ControllerDoneAck>().size(), 1u);
  pass(seconds(30));
  EXPECT_TRUE(agents_.take<ControllerEnd>().empty());
  EXPECT_TRUE(world_.view().active.empty());
}

TEST_F(DispatchTest, DoneIsAcknowledgedOnlyWhenItIsOnRecord) {
  const JobRun run = start({0});
  agents_.sent.clear();
  dispatcher_->on_message("n1", done(run));
  EXPECT_TRUE(agents_.take<ControllerDoneAck>().empty());
  commit();
  EXPECT_EQ(agents_.take<ControllerDoneAck>().size(), 1u);
  dispatcher_->on_message("n1", done(run));
  EXPECT_TRUE(agents_.take<ControllerDoneAck>().empty()) << "known already, if this controller still leads";
  commit();
  EXPECT_EQ(agents_.take<ControllerDoneAck>().size(), 1u);
}

// It was stopped, another one leads, and its state is old: what it does not know it must neither end nor let be
// forgotten.
TEST_F(DispatchTest, AControllerThatLeadsNoLongerEndsNothing) {
  const JobRun run = start({0}), of_the_next_leader{JobId{run.job.value + 1}, run.epoch};
  agents_.sent.clear();
  dispatcher_->on_message("n1", hello("n1", {run, of_the_next_leader}));
  dispatcher_->on_message("n1", done(of_the_next_leader));
  const state::Outcome deposed{.status = fail(ErrorCode::NotLeader, "another controller leads now"),
                               .job = {},
                               .repeated = false,
                               .jobs = {}};
  ASSERT_EQ(proposed_.size(), 2u);
  while (!proposed_.empty()) {
    proposed_.front().second(deposed);
    proposed_.pop_front();
  }
  EXPECT_TRUE(agents_.sent.empty());
}

TEST_F(DispatchTest, DoneOfAnEarlierRunEndsNothing) {
  const JobRun first = start({0});
  world_.must(state::RequeueJob{state::target(first.job.value), model::AfterCompleting::Requeue});
  world_.done(first.job.value, "n1");
  world_.start(first.job.value, World::on(0));
  agents_.sent.clear();
  hear("n1", done(first));
  EXPECT_EQ(agents_.take<ControllerDoneAck>().size(), 1u);
  EXPECT_EQ(world_.job(first.job.value).state, model::JobState::Running);
  EXPECT_NE(world_.job(first.job.value).epoch, first.epoch);
}

TEST_F(DispatchTest, AFailedLaunchIsTheJobsEnd) {
  const JobRun run = start({0});
  agents_.sent.clear();
  auto report = done(run);
  report.launch_failed = true;
  report.error = "no space left on device";
  hear("n1", report);
  EXPECT_EQ(agents_.take<ControllerDoneAck>().size(), 1u);
  EXPECT_EQ(world_.job(run.job.value).reason_detail, "no space left on device");
  pass(seconds(10));
  EXPECT_TRUE(agents_.take<ControllerLaunch>().empty());
}

TEST_F(DispatchTest, ANodeIsLostAfterAWholeLeaseOfSilence) {
  start({0});
  pass(kLease - seconds(1), {"n2"});
  EXPECT_FALSE(down("n1"));
  EXPECT_TRUE(world_.node("n1").flags & model::kNodeNoResponse) << "half a lease";
  pass(seconds(2), {"n2"});
  EXPECT_TRUE(down("n1"));
  EXPECT_FALSE(down("n2"));
}

TEST_F(DispatchTest, AFreshLeaderMeasuresForItself) {
  pass(kLease - seconds(1), {"n2"});
  fresh_leader();
  connect("n2");
  pass(kLease - seconds(1), {"n2"});
  EXPECT_FALSE(down("n1"));
  pass(seconds(2), {"n2"});
  EXPECT_TRUE(down("n1"));
}

// SIGSTOP, a suspended virtual machine: the nodes' words lie unread in the sockets when it goes on.
TEST_F(DispatchTest, AControllerThatStoodStillHasNotWaited) {
  pass(seconds(5));
  clock_.pass(10 * kLease);
  dispatcher_->on_timer();
  commit();
  EXPECT_FALSE(down("n1"));
  EXPECT_FALSE(down("n2"));
  pass(kLease - seconds(1), {"n2"});
  EXPECT_FALSE(down("n1"));
  pass(seconds(2), {"n2"});
  EXPECT_TRUE(down("n1")) << "awake, and a whole lease of silence";
  EXPECT_FALSE(down("n2"));
}

TEST_F(DispatchTest, AResumedNodeGetsALease) {
  pass(kLease + seconds(1), {"n2"});
  ASSERT_TRUE(down("n1"));
  for (const bool new_leader : {false, true}) {
    if (new_leader) {
      fresh_leader();
      connect("n2");
    }
    pass(std::chrono::minutes(2), {"n2"});
    state::UpdateNode resume;
    resume.nodes = {"n1"};
    resume.action = state::UpdateNode::Action::Resume;
    world_.must(resume);
    dispatcher_->on_connected("n1");
    pass(kLease - seconds(1), {"n2"});
    EXPECT_FALSE(down("n1"));
    pass(seconds(3), {"n2"});
    EXPECT_TRUE(down("n1")) << "and no more than one";
  }
}

TEST_F(DispatchTest, NoLeaseNoLoss) {
  auto changed = *world_.view().config;
  changed.node_timeout = seconds(0);
  world_.must(state::SetConfig{changed});
  pass(std::chrono::hours(1), {});
  EXPECT_FALSE(down("n1"));
}

TEST_F(DispatchTest, ANodeThatHoldsWhatIsOverMustCleanUpFirst) {
  const JobRun run = start({0});
  hear("n1", model::AgentLaunched{run});
  pass(kLease + seconds(1), {"n2"});
  ASSERT_TRUE(down("n1"));
  agents_.sent.clear();
  connect("n1", {run});
  auto answers = agents_.take<ControllerWelcome>();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].second.hello_again);
  EXPECT_EQ(answers[0].second.unknown, std::vector{run});
  EXPECT_TRUE(down("n1"));
  hear("n1", hello("n1"));
  answers = agents_.take<ControllerWelcome>();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_FALSE(answers[0].second.hello_again);
  EXPECT_FALSE(down("n1"));
}

TEST_F(DispatchTest, GivenUpWhileItsHelloWasOnTheWay) {
  const JobRun run = start({0});
  hear("n1", model::AgentLaunched{run});
  agents_.sent.clear();
  proposed_.emplace_back(state::NodeLost{"n1"}, nullptr);  // decided, not yet applied
  dispatcher_->on_message("n1", hello("n1", {run}));
  commit();
  EXPECT_TRUE(down("n1"));
  const auto answers = agents_.take<ControllerWelcome>();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].second.hello_again);
  EXPECT_EQ(answers[0].second.unknown, std::vector{run});
}

// The journal stood still: the node was welcomed and given up by what had been decided before, in this order.
TEST_F(DispatchTest, GivenUpBehindItsOwnHello) {
  dispatcher_->on_message("n1", hello("n1"));
  for (seconds waited{0}; waited <= kLease + seconds(1); waited += seconds(1)) {
    clock_.pass(seconds(1));
    dispatcher_->on_timer();
  }
  commit();
  ASSERT_TRUE(down("n1"));
  agents_.sent.clear();
  hear("n1", model::AgentHeartbeat{});
  const auto asked = agents_.take<ControllerWelcome>();
  ASSERT_EQ(asked.size(), 1u) << "else it would be down for good";
  EXPECT_TRUE(asked[0].second.hello_again);
  hear("n1", hello("n1"));
  EXPECT_FALSE(down("n1"));
}

TEST_F(DispatchTest, AfterASilenceTheNodeRegistersAnew) {
  const JobRun run = start({0});
  hear("n1", model::AgentLaunched{run});
  struct Row {
    seconds silence;
    bool lost;
  };
  for (const Row& row : {Row{kLease / 2 + seconds(1), false}, Row{kLease + seconds(1), true}}) {
    pass(row.silence, {"n2"});
    ASSERT_EQ(down("n1"), row.lost);
    agents_.sent.clear();
    hear("n1", model::AgentHeartbeat{});  // over the same connection
    const auto asked = agents_.take<ControllerWelcome>();
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_TRUE(asked[0].second.hello_again);
    EXPECT_TRUE(world_.node("n1").flags & model::kNodeNoResponse) << "a heartbeat alone is not enough";
    hear("n1", hello("n1", row.lost ? std::vector<JobRun>{} : std::vector{run}));
    EXPECT_FALSE(world_.node("n1").flags & model::kNodeNoResponse);
    EXPECT_FALSE(down("n1"));
    agents_.sent.clear();
    hear("n1", model::AgentHeartbeat{});
    EXPECT_TRUE(agents_.take<ControllerWelcome>().empty());
  }
}

TEST_F(DispatchTest, ANodeIsToldToRebootUntilItHasOrItsTimeIsUp) {
  world_.now = clock_.now();
  const auto reboot = [&] {
    state::UpdateNode command;
    command.nodes = {"n1"};
    command.action = state::UpdateNode::Action::Reboot;
    proposed_.emplace_back(command, nullptr);
    commit();
  };
  const auto told = [&] { return agents_.take<model::ControllerReboot>().size(); };
  agents_.sent.clear();
  reboot();
  EXPECT_EQ(told(), 1u);
  pass(seconds(12));
  EXPECT_EQ(told(), 2u) << "every five seconds";
  // Another controller that has taken over, or may have.
  surely_leads_ = false;
  fresh_leader();
  connect("n1");
  pass(seconds(6));
  EXPECT_EQ(told(), 0u);
  surely_leads_ = true;
  pass(seconds(1));
  EXPECT_EQ(told(), 1u);
  dispatcher_->on_disconnected("n1");  // it goes down
  pass(seconds(12), {"n2"});
  EXPECT_EQ(told(), 0u);
  auto back = hello("n1");
  back.boot_time = from_unix_seconds(77);
  dispatcher_->on_connected("n1");
  hear("n1", back);
  EXPECT_EQ(model::state_text(world_.node("n1"), true), "idle");
  EXPECT_EQ(told(), 0u);

  // Its time is up: nobody tells it any more.
  reboot();
  world_.now += seconds(60);
  proposed_.emplace_back(state::NodesDue{model::NodeDue::RebootOverdue, {"n1"}}, nullptr);
  commit();
  EXPECT_EQ(model::state_text(world_.node("n1"), true), "down");
  told();
  pass(seconds(6));
  EXPECT_EQ(told(), 0u);
}

TEST_F(DispatchTest, NodesThatAreSwitchedOffAreNotMissed) {
  const auto apply = [&](state::Command command) {
    proposed_.emplace_back(std::move(command), nullptr);
    commit();
  };
  state::UpdateNode off;
  off.nodes = {"n1"};
  off.action = state::UpdateNode::Action::PowerDown;
  apply(off);
  apply(state::NodesDue{model::NodeDue::PowerDown, {"n1"}});
  dispatcher_->on_disconnected("n1");
  const seconds lease = world_.view().config->node_timeout;
  pass(lease * 2, {"n2"});
  EXPECT_EQ(model::state_text(world_.node("n1"), true), "idle%");
  apply(state::NodesDue{model::NodeDue::PoweredDown, {"n1"}});
  agents_.sent.clear();
  const JobRun run = start({0, 1});
  pass(seconds(12), {"n2"});
  EXPECT_TRUE(agents_.take<model::ControllerLaunch>().empty()) << "one of its nodes is not there";
  apply(state::NodesDue{model::NodeDue::PowerUp, {"n1"}});
  pass(lease * 2, {"n2"});
  EXPECT_EQ(model::state_text(world_.node("n1"), true), "mix#");
  auto back = hello("n1");
  back.boot_time = from_unix_seconds(77);
  dispatcher_->on_connected("n1");
  hear("n1", back);
  std::set<std::string> told;  // perhaps twice
  for (const auto& [node, launch] : agents_.take<model::ControllerLaunch>()) told.insert(node);
  EXPECT_EQ(told, (std::set<std::string>{"n1", "n2"}));
  // From now on it has a lease like any other.
  pass(lease + seconds(2), {"n2"});
  EXPECT_TRUE(down("n1"));
  cancel(run);
}

TEST_F(DispatchTest, TheFirstNodeHearsOfNodesThatAreLost) {
  auto spec = state::spec();
  spec.no_kill = true;
  const auto id = world_.submit(spec);
  world_.start(id, World::on({0, 1}));
  for (const auto& effect : std::vector(world_.effects)) dispatcher_->carry_out(effect);
  const JobRun run{JobId{id}, world_.job(id).epoch};
  for (const char* node : {"n1", "n2"}) hear(node, model::AgentLaunched{run});
  agents_.sent.clear();
  state::UpdateNode down;
  down.nodes = {"n2"};
  down.action = state::UpdateNode::Action::Down;
  proposed_.emplace_back(down, nullptr);
  commit();
  // The one that answers has to end what it runs before it is taken in again.
  const auto sent = agents_.sent;
  const auto asked = agents_.take<ControllerWelcome>();
  agents_.sent = sent;
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].first, "n2");
  EXPECT_EQ(asked[0].second.unknown, std::vector{run});
  const auto told = agents_.take<model::ControllerNodesLost>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].first, "n1");
  EXPECT_EQ(told[0].second.nodes, std::vector<std::string>{"n2"});
  // Again when it comes back, and from another controller.
  agents_.sent.clear();
  fresh_leader();
  connect("n1", {run});
  EXPECT_EQ(agents_.take<model::ControllerNodesLost>().size(), 1u);
  cancel(run);
}

TEST_F(DispatchTest, LoadsAreKnownFromHellosAndHeartbeats) {
  const auto load_of = [this](const char* node) {
    NodeLoads::Load found;
    loads_.read([&](const auto& of) { found = of(node); });
    return found;
  };
  EXPECT_EQ(load_of("n1").free_memory_mib, 0u) << "this agent has not looked";
  hear("n1", model::AgentHeartbeat{.load_hundredths = 5, .free_memory_mib = 700});
  EXPECT_EQ(load_of("n1").hundredths, 5u);
  EXPECT_EQ(load_of("n1").free_memory_mib, 700u);
  EXPECT_EQ(load_of("n2").free_memory_mib, 0u);
  dispatcher_->on_disconnected("n1");
  EXPECT_EQ(load_of("n1").hundredths, 5u) << "what was known stays, as in Slurm";
  model::AgentHello hello;
  hello.node = "n1";
  hello.load_hundredths = 0;
  hello.free_memory_mib = 650;
  hear("n1", hello);
  EXPECT_EQ(load_of("n1").hundredths, 0u);
  EXPECT_EQ(load_of("n1").free_memory_mib, 650u);
  dispatcher_->reset();
  EXPECT_EQ(load_of("n1").free_memory_mib, 0u) << "another controller leads";
}

}  // namespace
}  // namespace spur::ctld
