// SPDX-License-Identifier: Apache-2.0
// Reboots of nodes, and jobs that go on without a node (--no-kill).
#include "state/reboot.h"

#include "state/test_world.h"

namespace spur::state {
namespace {

using model::AfterReboot;
using model::JobState;
using Action = UpdateNode::Action;

constexpr Time kBootedAt = from_unix_seconds(500'000);

model::ClusterConfig with_program() {
  model::ClusterConfig config;
  config.reboot_program = "/sbin/reboot";
  config.resume_timeout = seconds(100);
  config.return_to_service = 2;
  return config;
}

RegisterNode register_at(Time booted) {
  RegisterNode out = World::registration("n1", 4);
  out.boot_time = booted;
  return out;
}

struct RebootWorld : World {
  RebootWorld() : World(3, 4, 0, with_program()) { must(register_at(kBootedAt)); }
  static UpdateNode reboot(bool asap = false, AfterReboot then = AfterReboot::AsBefore,
                           std::optional<std::string> reason = {}) {
    UpdateNode out;
    out.nodes = {"n1"};
    out.action = Action::Reboot;
    out.asap = asap;
    out.after_reboot = then;
    out.reason = std::move(reason);
    return out;
  }
  static UpdateNode change(Action action, std::optional<std::string> reason = {}) {
    UpdateNode out;
    out.nodes = {"n1"};
    out.action = action;
    out.reason = std::move(reason);
    return out;
  }
  std::string state() const { return model::state_text(node("n1"), true); }
  std::uint32_t running() {
    const auto id = submit(spec());
    start(id, on(0));
    return id;
  }
};

TEST(Reboot, AnIdleNodeIsToldAtOnceAndComesBack) {
  RebootWorld w;
  w.must(RebootWorld::reboot());
  EXPECT_EQ(w.count<RebootNode>(), 1);
  EXPECT_EQ(model::state_text_full(w.node("n1")), "DOWN+REBOOT_ISSUED");
  EXPECT_EQ(w.state(), "boot^");
  EXPECT_EQ(w.node("n1").reason, "reboot requested : reboot issued");
  EXPECT_EQ(w.cluster.pending_effects().size(), 1u);
  const Time issued = w.node("n1").ordered_at;
  w.must(RebootWorld::reboot());  // again: nothing
  EXPECT_EQ(w.count<RebootNode>(), 0);
  EXPECT_EQ(w.node("n1").ordered_at, issued);
  EXPECT_EQ(w.refusal(RebootWorld::change(Action::CancelReboot)), ErrorCode::InvalidNodeState);
  // An agent that was only restarted, and a clock that moved.
  w.must(register_at(kBootedAt + seconds(1)));
  EXPECT_EQ(w.state(), "boot^");
  w.must(register_at(kBootedAt + seconds(60)));
  EXPECT_EQ(w.state(), "idle");
  EXPECT_EQ(w.node("n1").reason, "");
  EXPECT_FALSE(is_set(w.node("n1").ordered_at));
  EXPECT_TRUE(w.cluster.pending_effects().empty());
}

TEST(Reboot, ABusyNodeFinishesItsJobs) {
  RebootWorld w;
  const auto first = w.running();
  w.must(RebootWorld::reboot());
  EXPECT_EQ(w.count<RebootNode>(), 0);
  EXPECT_EQ(w.state(), "mix@");
  EXPECT_TRUE(w.node("n1").usable()) << "as in Slurm";
  const auto second = w.submit(spec());
  w.start(second, World::on(0, {1}));
  w.done(first, "n1");
  EXPECT_EQ(w.state(), "mix@");
  w.done(second, "n1");
  EXPECT_EQ(w.count<RebootNode>(), 1);
  EXPECT_EQ(w.state(), "boot^");
  EXPECT_FALSE(w.node("n1").usable());
}

TEST(Reboot, AsapDrainsAndComesBackUndrained) {
  RebootWorld w;
  const auto id = w.running();
  w.must(RebootWorld::reboot(true));
  EXPECT_EQ(w.state(), "drng@");
  EXPECT_EQ(w.node("n1").reason, "Reboot ASAP");
  EXPECT_EQ(w.node("n1").after_reboot, AfterReboot::Resume);
  EXPECT_FALSE(w.node("n1").usable());
  w.done(id, "n1");
  EXPECT_EQ(model::state_text_full(w.node("n1")), "DOWN+DRAIN+REBOOT_ISSUED");
  w.must(register_at(kBootedAt + seconds(60)));
  EXPECT_EQ(w.state(), "idle");
}

TEST(Reboot, CancelledWhileItWaits) {
  RebootWorld w;
  const auto id = w.running();
  EXPECT_EQ(w.refusal(RebootWorld::change(Action::CancelReboot)), ErrorCode::InvalidNodeState);
  w.must(RebootWorld::reboot(true));
  w.must(RebootWorld::change(Action::CancelReboot));
  EXPECT_EQ(w.state(), "mix");
  EXPECT_EQ(w.node("n1").reason, "");
  // As in Slurm, a drain of the administrator goes, too; so that there is nothing to resume.
  w.must(RebootWorld::change(Action::Drain, "mine"));
  w.must(RebootWorld::reboot());
  EXPECT_EQ(w.node("n1").reason, "mine");
  w.must(RebootWorld::change(Action::CancelReboot));
  EXPECT_EQ(w.state(), "mix");
  EXPECT_EQ(w.node("n1").reason, "");
  EXPECT_EQ(w.refusal(RebootWorld::change(Action::Resume)), ErrorCode::InvalidNodeState);
  w.must(RebootWorld::reboot());
  w.must(RebootWorld::change(Action::Resume));
  EXPECT_EQ(w.state(), "mix");
  w.done(id, "n1");
  EXPECT_EQ(w.count<RebootNode>(), 0);
}

TEST(Reboot, WhatItWasBefore) {
  struct Row {
    Action before;
    AfterReboot then;
    const char *state, *reason;
  };
  for (const Row& row :
       {Row{Action::Drain, AfterReboot::AsBefore, "drain", "mine : reboot issued"},
        Row{Action::Drain, AfterReboot::Resume, "idle", ""}, Row{Action::Down, AfterReboot::AsBefore, "idle", ""},
        Row{Action::Drain, AfterReboot::Down, "down", "mine : reboot issued : reboot complete"},
        Row{Action::None, AfterReboot::Down, "down", "why : reboot issued : reboot complete"}}) {
    RebootWorld w;
    if (row.before != Action::None) w.must(RebootWorld::change(row.before, "mine"));
    w.must(RebootWorld::reboot(false, row.then, row.before == Action::None ? std::optional<std::string>("why") : std::nullopt));
    w.must(register_at(kBootedAt + seconds(60)));
    EXPECT_EQ(w.state(), row.state);
    EXPECT_EQ(w.node("n1").reason, row.reason);
  }
}

TEST(Reboot, TimesOut) {
  RebootWorld w;
  w.must(RebootWorld::reboot(true));
  w.must(NodesDue{model::NodeDue::RebootOverdue, {"n1"}});  // too early
  EXPECT_EQ(w.state(), "boot^");
  w.now += seconds(100);
  w.must(NodesDue{model::NodeDue::RebootOverdue, {"n1"}});
  EXPECT_EQ(w.state(), "down");
  EXPECT_EQ(w.node("n1").reason, "Reboot ASAP : reboot issued : reboot timed out");
  EXPECT_TRUE(w.cluster.pending_effects().empty());
  w.must(NodesDue{model::NodeDue::RebootOverdue, {"n1"}});  // again: nothing
  EXPECT_EQ(w.refusal(NodesDue{model::NodeDue::RebootOverdue, {"nowhere"}}), ErrorCode::InvalidNode);
  w.must(register_at(kBootedAt + seconds(300)));  // ReturnToService=2
  EXPECT_EQ(w.state(), "idle");
}

TEST(Reboot, ResumeCallsOffWhatWasIssued) {
  RebootWorld w;
  w.must(RebootWorld::reboot());
  w.must(RebootWorld::change(Action::Resume));
  EXPECT_EQ(w.state(), "idle");
  w.must(register_at(kBootedAt + seconds(60)));
  EXPECT_EQ(w.state(), "idle");
}

TEST(Reboot, NotWithoutAProgramNorWithoutAnAnswer) {
  World none(1);
  EXPECT_EQ(none.refusal(RebootWorld::reboot()), ErrorCode::NotSupported);
  RebootWorld w;
  w.must(NodeLost{"n1"});
  w.must(RebootWorld::reboot());
  EXPECT_EQ(w.count<RebootNode>(), 0);
  EXPECT_EQ(w.state(), "boot");
  w.must(register_at(kBootedAt));
  EXPECT_EQ(w.count<RebootNode>(), 1);
  EXPECT_EQ(w.state(), "boot^");
}

// ---- --no-kill

model::JobSpec no_kill() {
  auto out = spec();
  out.no_kill = true;
  out.min_nodes = 3;
  return out;
}

TEST(NoKill, GoesOnWithoutANode) {
  for (const bool lost : {true, false}) {
    World w(3);
    const auto id = w.submit(no_kill());
    w.start(id, World::on({0, 1, 2}));
    UpdateNode down;
    down.nodes = {"n2"};
    down.action = Action::Down;
    down.reason = "x";
    w.must(lost ? Command(NodeLost{"n2"}) : Command(down));
    EXPECT_EQ(w.job(id).state, JobState::Running);
    EXPECT_EQ(w.job(id).allocation->nodes.size(), 2u);
    EXPECT_EQ(w.job(id).last_nodes, "n[1,3]");
    EXPECT_EQ(w.job(id).cpus_allocated, 2u);
    EXPECT_EQ(w.job(id).lost_nodes, std::vector<std::string>{"n2"});
    EXPECT_EQ(w.count<TellNodesLost>(), 1);
    EXPECT_EQ(w.count<EndJob>(), 0);
    EXPECT_EQ(w.node("n2").cpus_allocated, 0u);
    w.must(w.done_report(id, "n2"));  // late: it changes nothing
    EXPECT_EQ(w.job(id).state, JobState::Running);
    // What it held there must be gone before it is taken in again.
    RegisterNode back = World::registration("n2", 4);
    back.holding = {{JobId{id}, w.job(id).epoch}};
    EXPECT_EQ(w.refusal(back), ErrorCode::StaleEpoch);
    w.done(id, "n3");
    w.done(id, "n1");
    EXPECT_EQ(w.job(id).state, JobState::Completed);
  }
}

TEST(NoKill, NotWithoutItsFirstNode) {
  World w(3);
  const auto id = w.submit(no_kill());
  w.start(id, World::on({0, 1, 2}));
  w.must(NodeLost{"n1"});
  EXPECT_EQ(w.job(id).state, JobState::Pending) << "requeued";
  EXPECT_TRUE(w.job(id).flags & model::kCompleting);
}

TEST(NoKill, ARequeuedJobHasLostNothing) {
  World w(3);
  const auto id = w.submit(no_kill());
  w.start(id, World::on({0, 1, 2}));
  w.must(NodeLost{"n3"});
  w.must(RequeueJob{target(id)});
  w.done(id, "n1");
  w.done(id, "n2");
  EXPECT_EQ(w.job(id).state, JobState::Pending);
  EXPECT_TRUE(w.job(id).lost_nodes.empty());
}

}  // namespace
}  // namespace spur::state
