// SPDX-License-Identifier: Apache-2.0
// Nodes that are switched off and on, and jobs that are given to them.
#include "state/power.h"

#include "model/power.h"
#include "state/test_world.h"

namespace spur::state {
namespace {

using model::JobState;
using model::NodeDue;
using Action = UpdateNode::Action;
using Which = RunPowerProgram::Which;

constexpr Time kBooted = from_unix_seconds(500'000);

model::ClusterConfig with_programs() {
  model::ClusterConfig config;
  config.power.suspend_program = "/sbin/off";
  config.power.resume_program = "/sbin/on";
  config.power.suspend_time_seconds = 600;
  config.power.suspend_timeout = seconds(20);
  config.resume_timeout = seconds(100);
  config.return_to_service = 1;
  return config;
}

RegisterNode booted(Time at, const char* node = "n1") {
  RegisterNode out = World::registration(node, 4);
  out.boot_time = at;
  return out;
}

struct PowerWorld : World {
  explicit PowerWorld(const model::ClusterConfig& config = with_programs()) : World(3, 4, 0, config) {
    for (const char* node : {"n1", "n2", "n3"}) must(booted(kBooted, node));
  }
  static UpdateNode change(Action action, std::optional<std::string> reason = {}) {
    UpdateNode out;
    out.nodes = {"n1"};
    out.action = action;
    out.reason = std::move(reason);
    return out;
  }
  void due(NodeDue what) { must(NodesDue{what, {"n1"}}); }
  std::string state() const { return model::state_text(node("n1"), true); }
  std::string full() const { return model::state_text_full(node("n1")); }
  std::uint32_t running(std::vector<std::uint32_t> nodes = {0}, bool requeue = true) {
    auto wanted = spec();
    wanted.requeue = requeue;
    const auto id = submit(wanted);
    start(id, on(std::move(nodes), {next_cpu_++}));
    return id;
  }
  model::CpuNumber next_cpu_ = 0;
  void switch_off() {
    must(change(Action::PowerDown));
    due(NodeDue::PowerDown);
    now += seconds(20);
    due(NodeDue::PoweredDown);
    ASSERT_EQ(state(), "idle~");
  }
  // What is to be run for n1 alone, after the last command; none: nothing.
  std::optional<Which> program() const {
    for (const Effect& effect : effects)
      if (const auto* run = std::get_if<RunPowerProgram>(&effect)) {
        EXPECT_EQ(run->nodes, std::vector{NodeIndex{0}});
        return run->which;
      }
    return {};
  }
};

TEST(Power, OffAndOnByHand) {
  PowerWorld w;
  w.must(PowerWorld::change(Action::PowerDown));
  EXPECT_EQ(w.state(), "idle!");
  EXPECT_EQ(w.full(), "IDLE+POWER_DOWN");
  EXPECT_TRUE(w.node("n1").usable()) << "as in Slurm";
  w.due(NodeDue::PowerDown);
  EXPECT_EQ(w.program(), Which::Suspend);
  EXPECT_EQ(w.full(), "IDLE+POWERING_DOWN");
  EXPECT_EQ(w.state(), "idle%");
  EXPECT_FALSE(w.node("n1").usable());
  EXPECT_EQ(w.cluster.pending_effects().size(), 1u) << "a new leader runs it again";
  w.due(NodeDue::PoweredDown);
  EXPECT_EQ(w.state(), "idle%") << "too early";
  w.must(PowerWorld::change(Action::PowerUp));
  EXPECT_EQ(w.full(), "IDLE+POWERING_DOWN") << "passed over, as in Slurm";
  w.now += seconds(20);
  w.due(NodeDue::PoweredDown);
  EXPECT_EQ(w.full(), "IDLE+POWERED_DOWN");
  EXPECT_TRUE(w.node("n1").usable());
  EXPECT_TRUE(w.cluster.pending_effects().empty());
  EXPECT_EQ(w.refusal(PowerWorld::change(Action::Resume)), ErrorCode::InvalidNodeState);
  w.due(NodeDue::PowerUp);
  EXPECT_EQ(w.program(), std::nullopt) << "nobody needs it";
  w.must(PowerWorld::change(Action::PowerUp));
  EXPECT_EQ(w.full(), "IDLE+POWER_UP+POWERED_DOWN");
  w.due(NodeDue::PowerUp);
  EXPECT_EQ(w.program(), Which::Resume);
  EXPECT_EQ(w.full(), "IDLE+NOT_RESPONDING+POWERING_UP");
  EXPECT_EQ(w.state(), "idle#");
  // An agent that never went, and a clock that moved.
  w.must(booted(kBooted + seconds(1)));
  EXPECT_EQ(w.state(), "idle#");
  w.must(booted(kBooted + seconds(60)));
  EXPECT_EQ(w.full(), "IDLE");
  EXPECT_EQ(w.node("n1").last_busy, w.now);
  EXPECT_FALSE(is_set(w.node("n1").ordered_at));
}

TEST(Power, IdleNodesGoWhenTheirTimeHasCome) {
  PowerWorld w;
  w.now += seconds(590);
  w.due(NodeDue::PowerDown);
  EXPECT_EQ(w.state(), "idle");
  const auto id = w.running();
  w.now += seconds(300);
  w.due(NodeDue::PowerDown);
  EXPECT_EQ(w.state(), "mix") << "not idle";
  w.done(id, "n1");
  w.now += seconds(590);
  w.due(NodeDue::PowerDown);
  EXPECT_EQ(w.state(), "idle");
  w.now += seconds(20);
  w.due(NodeDue::PowerDown);
  EXPECT_EQ(w.state(), "idle%");
}

// A drain that was for the jobs there goes with them; one that somebody else has set stays.
TEST(Power, DrainAndDown) {
  struct Row {
    Action before;
    const char *by_hand, *idle;
  };
  for (const Row& row : {Row{Action::Drain, "IDLE+POWERING_DOWN", "IDLE+DRAIN+POWERING_DOWN"},
                         Row{Action::Down, "DOWN+POWERING_DOWN", "DOWN+POWERING_DOWN"}})
    for (const bool by_hand : {true, false}) {
      PowerWorld w;
      w.must(PowerWorld::change(row.before, "mine"));
      if (by_hand)
        w.must(PowerWorld::change(Action::PowerDown));
      else
        w.now += seconds(600);
      w.due(NodeDue::PowerDown);
      EXPECT_EQ(w.full(), by_hand ? row.by_hand : row.idle);
      EXPECT_EQ(w.node("n1").reason, "mine");
    }
}

TEST(Power, ABusyNodeFinishesItsJobs) {
  PowerWorld w;
  const auto first = w.running();
  w.must(PowerWorld::change(Action::PowerDown));
  w.due(NodeDue::PowerDown);
  EXPECT_EQ(w.full(), "MIXED+POWER_DOWN");
  w.must(PowerWorld::change(Action::PowerUp));
  EXPECT_EQ(w.full(), "MIXED+POWER_DOWN") << "as in Slurm";
  EXPECT_EQ(w.refusal(PowerWorld::change(Action::Resume)), ErrorCode::InvalidNodeState);
  w.done(first, "n1");
  w.due(NodeDue::PowerDown);
  EXPECT_EQ(w.program(), Which::Suspend);
}

TEST(Power, AsapDrains) {
  PowerWorld w;
  const auto id = w.running();
  w.must(PowerWorld::change(Action::PowerDownAsap));
  EXPECT_EQ(w.full(), "MIXED+DRAIN+POWER_DOWN");
  EXPECT_EQ(w.state(), "drng!");
  EXPECT_EQ(w.node("n1").reason, "POWER_DOWN_ASAP");
  EXPECT_FALSE(w.node("n1").usable());
  w.done(id, "n1");
  w.due(NodeDue::PowerDown);
  EXPECT_EQ(w.full(), "IDLE+POWERING_DOWN");
  EXPECT_EQ(w.node("n1").reason, "POWER_DOWN_ASAP");
  w.now += seconds(20);
  w.due(NodeDue::PoweredDown);
  EXPECT_EQ(w.node("n1").reason, "POWER_DOWN_ASAP");
  w.must(booted(kBooted + seconds(60)));
  EXPECT_EQ(w.node("n1").reason, "") << "nothing is wrong with it any more";
  PowerWorld other;
  other.must(PowerWorld::change(Action::PowerDownAsap, "mine"));
  EXPECT_EQ(other.node("n1").reason, "mine");
}

TEST(Power, ForceEndsJobs) {
  for (const bool answers : {true, false}) {
    PowerWorld w;
    const auto id = w.running();
    w.must(PowerWorld::change(Action::Drain, "mine"));
    if (!answers) w.must(NodeResponding{"n1", false});
    w.must(PowerWorld::change(Action::PowerDownForce));
    EXPECT_EQ(w.job(id).state, JobState::Pending);
    EXPECT_EQ(w.count<EndJob>(), answers ? 1 : 0);
    EXPECT_FALSE(w.node("n1").usable()) << "what is requeued does not start there again";
    w.due(NodeDue::PowerDown);
    EXPECT_EQ(w.program().has_value(), !answers) << "not before nothing is left there";
    if (answers) {
      w.done(id, "n1");
      w.due(NodeDue::PowerDown);
    }
    EXPECT_EQ(w.full(), "IDLE+POWERING_DOWN");
    EXPECT_EQ(w.node("n1").reason, "");
  }
}

TEST(Power, AJobWaitsForAllItsNodes) {
  PowerWorld w;
  w.switch_off();
  const auto id = w.running({0, 1});
  EXPECT_EQ(w.count<LaunchJob>(), 1);
  EXPECT_EQ(model::long_name(w.job(id).state, w.job(id).flags), "CONFIGURING");
  EXPECT_EQ(w.full(), "MIXED+POWERED_DOWN");
  w.due(NodeDue::PowerUp);
  EXPECT_EQ(w.program(), Which::Resume);
  EXPECT_EQ(w.full(), "MIXED+NOT_RESPONDING+POWERING_UP");
  const auto more = w.running({0});
  EXPECT_TRUE(w.job(more).flags & model::kConfiguring) << "given to a node on its way";
  w.now += seconds(50);
  w.must(booted(kBooted + seconds(60)));
  EXPECT_EQ(w.count<LaunchJob>(), 2);
  for (const auto one : {id, more}) {
    EXPECT_EQ(w.job(one).flags & model::kConfiguring, 0u);
    EXPECT_EQ(w.job(one).started, w.now) << "its time begins now";
  }
  EXPECT_EQ(w.full(), "MIXED");
}

TEST(Power, AJobThatIsCancelledMeanwhileIsGone) {
  PowerWorld w;
  w.switch_off();
  const auto id = w.running();
  w.due(NodeDue::PowerUp);
  w.must(cancel(target(id)));
  EXPECT_EQ(w.job(id).state, JobState::Cancelled);
  EXPECT_EQ(w.job(id).flags, 0u);
  EXPECT_EQ(w.count<EndJob>(), 0) << "nothing of it is there";
  EXPECT_EQ(w.full(), "IDLE+NOT_RESPONDING+POWERING_UP");
  // Of a wide one only where the others are.
  const auto wide = w.running({0, 1});
  w.must(cancel(target(wide)));
  EXPECT_EQ(w.job(wide).nodes_left, std::vector{NodeIndex{1}});
  w.done(wide, "n2");
  EXPECT_EQ(w.job(wide).flags, 0u);
}

TEST(Power, NotInTime) {
  PowerWorld w;
  w.switch_off();
  const auto one = w.running({0}), two = w.running({0}, false);
  w.due(NodeDue::PowerUp);
  w.now += seconds(90);
  w.due(NodeDue::PowerUpOverdue);
  EXPECT_EQ(w.state(), "mix#");
  w.now += seconds(10);
  w.due(NodeDue::PowerUpOverdue);
  EXPECT_EQ(w.program(), Which::ResumeFail);
  EXPECT_EQ(w.full(), "DOWN+POWERED_DOWN+NOT_RESPONDING");
  EXPECT_EQ(w.state(), "down~");
  EXPECT_EQ(w.node("n1").reason, "ResumeTimeout reached");
  EXPECT_EQ(w.job(one).state, JobState::Pending);
  EXPECT_EQ(w.job(two).state, JobState::NodeFail);
  EXPECT_FALSE(w.node("n1").usable());
  // It comes after all: it is there, but somebody has to look.
  w.must(booted(kBooted + seconds(60)));
  EXPECT_EQ(w.full(), "DOWN");
  w.must(PowerWorld::change(Action::Resume));
  EXPECT_EQ(w.full(), "IDLE");
}

TEST(Power, NobodyExpectsItToAnswer) {
  PowerWorld w;
  w.must(PowerWorld::change(Action::PowerDown));
  w.due(NodeDue::PowerDown);
  w.must(NodeResponding{"n1", false});
  w.must(NodeLost{"n1"});
  EXPECT_EQ(w.full(), "IDLE+POWERING_DOWN");
  // Resume: it may be switched on again at once.
  w.must(PowerWorld::change(Action::Resume));
  EXPECT_EQ(w.full(), "IDLE+POWERED_DOWN");
  // Somebody pressed the button.
  w.must(booted(kBooted + seconds(60)));
  EXPECT_EQ(w.full(), "IDLE");
}

TEST(Power, WithoutProgramsThereIsNothingToDo) {
  for (const bool never : {true, false}) {
    auto config = with_programs();
    if (never)
      config.power.suspend_time_seconds = model::kNeverSuspend;
    else
      config.power.resume_program.clear();
    PowerWorld w(config);
    for (const Action action : {Action::PowerUp, Action::PowerDown, Action::PowerDownAsap, Action::PowerDownForce})
      EXPECT_EQ(w.refusal(PowerWorld::change(action)), ErrorCode::InvalidNodeState);
    w.now += seconds(10'000);
    w.due(NodeDue::PowerDown);
    EXPECT_EQ(w.state(), "idle");
  }
  PowerWorld w;
  EXPECT_EQ(w.refusal(NodesDue{NodeDue::PowerDown, {"nowhere"}}), ErrorCode::InvalidNode);
}

TEST(Power, PartitionsHaveTheirOwnTimes) {
  auto config = with_programs();
  PowerWorld w(config);
  config = *w.view().config;
  config.power.suspend_time_seconds = model::kNeverSuspend;
  config.partitions.push_back(partition_config([](auto& p) {
    p.name = "short", p.nodes = "n[1-2]", p.suspend_time_seconds = 10, p.suspend_timeout_seconds = 1;
    p.resume_timeout_seconds = 2;
  }));
  config.partitions.push_back(partition_config([](auto& p) {
    p.name = "long", p.nodes = "n2", p.suspend_time_seconds = 50, p.power_down_on_idle = true;
  }));
  w.must(SetConfig{config});
  const auto times = [&](const char* node) { return model::power_times(w.view(), w.node(node)); };
  EXPECT_EQ(times("n1").idle, seconds(10));
  EXPECT_EQ(times("n1").down, seconds(1));
  EXPECT_EQ(times("n1").up, seconds(2));
  EXPECT_EQ(times("n2").idle, seconds(50)) << "the longest";
  EXPECT_EQ(times("n3").idle, std::nullopt);
  EXPECT_EQ(times("n3").down, seconds(20));
  // PowerDownOnIdle: after a job of that partition, and of no other.
  const auto run_in = [&](const char* partition) {
    const auto id = w.submit(spec());
    const auto where = std::make_shared<model::Allocation>(*World::on(1));
    where->partition = partition;
    w.start(id, where);
    w.done(id, "n2");
    return model::state_text_full(w.node("n2"));
  };
  EXPECT_EQ(run_in("short"), "IDLE");
  EXPECT_EQ(run_in("long"), "IDLE+POWER_DOWN");
}

TEST(Power, CloudNodesAreThereWhenTheyAreNeeded) {
  PowerWorld w;
  auto config = *w.view().config;
  config.nodes.push_back(
      node_config([](auto& c) { c.name = "c1", c.cpus = 4, c.memory_mib = 1000, c.state = "CLOUD"; }));
  w.must(SetConfig{config});
  EXPECT_EQ(model::state_text_full(w.node("c1")), "IDLE+CLOUD+POWERED_DOWN");
  EXPECT_TRUE(w.node("c1").usable());
  const auto id = w.submit(spec());
  w.start(id, World::on(3));
  w.must(NodesDue{NodeDue::PowerUp, {"c1"}});
  w.must(booted(kBooted, "c1"));
  EXPECT_EQ(model::state_text_full(w.node("c1")), "MIXED+CLOUD");
  EXPECT_EQ(w.job(id).flags, 0u);
  w.must(SetConfig{config});
  EXPECT_EQ(model::state_text_full(w.node("c1")), "MIXED+CLOUD");
}

TEST(Power, NodesThatAreThereGoFirst) {
  model::Node up, off;
  up.registered = off.registered = true;
  up.weight = 4'000'000'000u;
  off.weight = 1;
  off.flags = model::kNodePoweredDown;
  EXPECT_LT(up.placement_weight(), off.placement_weight());
  EXPECT_TRUE(off.usable());
}

TEST(Power, SparedNodes) {
  const auto sets = model::parse_spared_nodes("n[1-3]:2,login,c[1,3]");
  ASSERT_TRUE(sets);
  ASSERT_EQ(sets->size(), 3u);
  EXPECT_EQ((*sets)[0].names, (std::vector<std::string>{"n1", "n2", "n3"}));
  EXPECT_EQ((*sets)[0].count, 2u);
  EXPECT_EQ((*sets)[1].names, std::vector<std::string>{"login"});
  EXPECT_EQ((*sets)[1].count, std::nullopt);
  EXPECT_EQ((*sets)[2].names, (std::vector<std::string>{"c1", "c3"}));
  EXPECT_TRUE(model::parse_spared_nodes("")->empty());
  for (const char* wrong : {"n1:x", "n1:", "n[1-", "n1:-1"}) EXPECT_FALSE(model::parse_spared_nodes(wrong)) << wrong;
}

}  // namespace
}  // namespace spur::state
