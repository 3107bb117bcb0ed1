// SPDX-License-Identifier: Apache-2.0
// RegisterNode, NodeLost, NodeResponding, UpdateNode.
#include "state/test_world.h"

namespace spur::state {
namespace {

using model::JobState;
using model::Reason;
using Action = UpdateNode::Action;

UpdateNode update(std::vector<std::string> nodes, Action action, std::optional<std::string> reason = {}) {
  UpdateNode command;
  command.nodes = std::move(nodes);
  command.action = action;
  command.reason = std::move(reason);
  command.by = Uid{7};
  return command;
}

TEST(RegisterNode, FirstTime) {
  World w;
  model::ClusterConfig config;
  config.nodes.push_back(node_config([](auto& c) { c.name = "n1", c.cpus = 4, c.memory_mib = 500; }));
  w.must(SetConfig{config});
  EXPECT_EQ(model::state_text(w.node("n1"), true), "unk*");
  EXPECT_FALSE(w.node("n1").usable());
  w.must(World::registration("n1", 4));
  EXPECT_EQ(model::state_text(w.node("n1"), true), "idle");
  EXPECT_TRUE(w.node("n1").usable());
  EXPECT_EQ(w.node("n1").address, "n1:6818");
  EXPECT_EQ(w.node("n1").registered_at, w.now);
  EXPECT_EQ(w.node("n1").hardware.memory_mib, 500u);  // declared wins
  EXPECT_EQ(w.node("n1").found.memory_mib, 1000u);
  EXPECT_EQ(w.refusal(World::registration("stranger", 4)), ErrorCode::InvalidNode);
  EXPECT_EQ(w.refusal(World::registration("", 4)), ErrorCode::InvalidNode);
  EXPECT_EQ(w.refusal(World::registration("n1", 0)), ErrorCode::InvalidArgument);
  EXPECT_EQ(w.refusal(World::registration("n1", 70'000)), ErrorCode::InvalidArgument);
}

TEST(RegisterNode, WithoutConfiguredNodesAnybodyIsWelcome) {
  World w;
  model::ClusterConfig config;
  config.partitions.push_back(
      partition_config([](auto& c) { c.name = "all", c.is_default = true, c.nodes = "ALL"; }));
  config.partitions.push_back(partition_config([](auto& c) { c.name = "some", c.nodes = "n[2-3]"; }));
  w.must(SetConfig{config});
  for (const char* name : {"n1", "n3", "n2"}) w.must(World::registration(name, 2));
  EXPECT_EQ(w.view().nodes.size(), 3u);
  EXPECT_EQ(w.node("n3").index, NodeIndex{1});
  EXPECT_EQ(w.node("n3").hardware.cpus, 2u);
  EXPECT_EQ(model::find_partition(w.view(), "all")->nodes.size(), 3u);
  EXPECT_EQ(model::find_partition(w.view(), "some")->nodes, (std::vector<NodeIndex>{NodeIndex{1}, NodeIndex{2}}));
  EXPECT_TRUE(w.cluster.take_changes().config);
}

TEST(RegisterNode, LessThanDeclared) {
  struct Row {
    std::uint32_t cpus;
    std::uint64_t memory;
    std::vector<model::NodeGres> gres;
    const char* reason;
  };
  const Row rows[] = {
      {2, 1000, {}, "Low socket*core*thread count, Low CPUs"},
      {4, 999, {}, "Low RealMemory (reported:999 < 100.00% of configured:1000)"},
      {4, 1000, {{"gpu", "", 1, ""}}, "gres/gpu count reported lower than configured (1 < 2)"},
      {2, 1, {}, "Low socket*core*thread count, Low CPUs, Low RealMemory (reported:1 < 100.00% of configured:1000)"},
  };
  for (const bool overrides : {false, true})
    for (const Row& row : rows) {
      model::ClusterConfig config;
      config.config_overrides = overrides;
      World w(1, 4, 2, config);
      auto again = World::registration("n1", row.cpus, row.memory);
      again.found.gres = row.gres;
      w.must(again);
      EXPECT_EQ(w.node("n1").usable(), overrides);
      EXPECT_EQ(w.node("n1").reason, overrides ? "" : row.reason);
      EXPECT_EQ(model::state_text(w.node("n1"), true), overrides ? "idle" : "inval");
      w.must(World::registration("n1", 4));  // repaired
      EXPECT_TRUE(w.node("n1").usable());
      EXPECT_EQ(w.node("n1").reason, "");
    }
}

TEST(RegisterNode, ReturnToService) {
  struct Row {
    std::uint32_t policy;
    bool by_admin, returns;
  };
  const Row rows[] = {{0, false, false}, {1, false, true}, {2, false, true},
                      {0, true, false},  {1, true, false}, {2, true, true}};
  for (const Row& row : rows) {
    model::ClusterConfig config;
    config.return_to_service = row.policy;
    World w(1, 4, 0, config);
    if (row.by_admin) {
      w.must(update({"n1"}, Action::Down, "broken"));
    } else {
      w.must(NodeLost{"n1"});
      EXPECT_EQ(model::state_text(w.node("n1"), true), "down*");
      EXPECT_EQ(w.node("n1").reason, "Not responding");
    }
    w.must(World::registration("n1", 4));
    EXPECT_EQ(w.node("n1").usable(), row.returns) << row.policy << row.by_admin;
    EXPECT_EQ(w.node("n1").reason.empty(), row.returns);
  }
}

// Its CPUs would be given out twice.
TEST(RegisterNode, NotWithARunThatIsOver) {
  model::ClusterConfig config;
  config.return_to_service = 1;
  World w(2, 4, 0, config);
  const auto id = w.submit(spec());
  w.start(id, World::on(0));
  const model::JobRun run{JobId{id}, w.job(id).epoch};
  auto command = World::registration("n1", 4);
  command.holding = {run};
  w.must(command);  // it is where it belongs
  auto other = World::registration("n2", 4);
  other.holding = {run};
  EXPECT_EQ(w.refusal(other), ErrorCode::StaleEpoch) << "not this node's";
  command.holding = {run, {JobId{id}, Epoch{run.epoch.value + 1}}};
  EXPECT_EQ(w.refusal(command), ErrorCode::StaleEpoch) << "no such run";
  w.must(NodeLost{"n1"});
  command.holding = {run};
  EXPECT_EQ(w.refusal(command), ErrorCode::StaleEpoch) << "given up";
  EXPECT_TRUE(w.node("n1").down);
  command.holding = {};
  w.must(command);
  EXPECT_FALSE(w.node("n1").down);
}

TEST(RegisterNode, DrainOutlivesALoss) {
  World w(1);
  w.must(update({"n1"}, Action::Drain, "bad disk"));
  w.must(NodeLost{"n1"});
  EXPECT_EQ(w.node("n1").reason, "bad disk");
  w.must(World::registration("n1", 4));
  EXPECT_FALSE(w.node("n1").usable());
  EXPECT_EQ(w.node("n1").reason, "bad disk");
  w.must(update({"n1"}, Action::Resume));
  EXPECT_TRUE(w.node("n1").usable());
}

TEST(NodeLost, JobsAreRequeuedOrFail) {
  World w(2);
  auto no = spec();
  no.requeue = false;
  const auto one = w.submit(spec()), two = w.submit(no), wide = w.submit(spec()), ending = w.submit(spec());
  w.start(one, World::on(0, {0}));
  w.start(two, World::on(0, {1}));
  w.start(wide, World::on({0, 1}, {2}));
  w.start(ending, World::on({0, 1}, {3}));
  w.must(cancel(target(ending)));
  w.must(NodeLost{"n1"});
  EXPECT_EQ(w.job(one).state, JobState::Pending);
  EXPECT_EQ(w.job(one).epoch, Epoch{2});
  EXPECT_TRUE(w.view().pending.contains(one));
  EXPECT_EQ(w.job(two).state, JobState::NodeFail);
  EXPECT_EQ(w.job(two).reason, Reason::NodeDown);
  EXPECT_EQ(w.job(two).flags, 0u);
  EXPECT_EQ(w.job(wide).flags, model::kCompleting | model::kRequeued);
  EXPECT_EQ(w.job(wide).nodes_left, (std::vector<NodeIndex>{NodeIndex{1}}));
  EXPECT_EQ(w.job(ending).state, JobState::Cancelled);
  EXPECT_EQ(w.job(ending).nodes_left.size(), 1u);
  EXPECT_TRUE(w.node("n1").jobs.empty());
  EXPECT_EQ(w.node("n1").cpus_allocated, 0u);
  w.done(wide, "n2");
  w.done(ending, "n2");
  EXPECT_EQ(w.job(wide).epoch, Epoch{2});
  EXPECT_EQ(w.job(ending).flags, 0u);
  w.must(NodeLost{"n1"});
  EXPECT_EQ(w.refusal(NodeLost{"nowhere"}), ErrorCode::InvalidNode);
}

TEST(NodeResponding, OnlyTheStar) {
  World w(1);
  const auto id = w.submit(spec());
  w.start(id, World::on(0));
  w.must(NodeResponding{"n1", false});
  EXPECT_EQ(model::state_text(w.node("n1"), true), "mix*");
  EXPECT_EQ(w.job(id).state, JobState::Running);
  EXPECT_EQ(w.refusal(StartJob{JobId{w.submit(spec())}, {}, World::on(0, {1})}), ErrorCode::NodesBusy);
  w.must(NodeResponding{"n1", true});
  EXPECT_TRUE(w.node("n1").usable());
  EXPECT_EQ(w.refusal(NodeResponding{"nowhere", true}), ErrorCode::InvalidNode);
}

TEST(UpdateNode, Actions) {
  struct Row {
    Action action;
    const char *state, *after_resume;
  };
  const Row rows[] = {
      {Action::Down, "down", "idle"}, {Action::Drain, "drain", "idle"}, {Action::Fail, "fail", "idle"}};
  for (const Row& row : rows) {
    World w(2);
    w.must(update({"n1", "n2"}, row.action, "why"));
    for (const char* name : {"n1", "n2"}) {
      EXPECT_EQ(model::state_text(w.node(name), true), row.state);
      EXPECT_EQ(w.node(name).reason, "why");
      EXPECT_EQ(w.node(name).reason_by, Uid{7});
      EXPECT_EQ(w.node(name).reason_at, w.now);
    }
    EXPECT_EQ(w.refusal(update({"n1", "nowhere"}, Action::Resume)), ErrorCode::InvalidNode);
    w.must(update({"n1"}, Action::Resume));
    EXPECT_EQ(model::state_text(w.node("n1"), true), row.after_resume);
    EXPECT_EQ(w.node("n1").reason, "");
    EXPECT_EQ(w.refusal(update({"n1"}, Action::Resume)), ErrorCode::InvalidNodeState);
    EXPECT_EQ(w.refusal(update({}, Action::Resume)), ErrorCode::InvalidNode);
  }
}

TEST(UpdateNode, DownEndsJobs) {
  for (const bool answers : {true, false}) {
    World w(1);
    const auto id = w.submit(spec());
    w.start(id, World::on(0));
    if (!answers) w.must(NodeResponding{"n1", false});
    w.must(update({"n1"}, Action::Down, "x"));
    EXPECT_EQ(w.job(id).state, JobState::Pending);
    EXPECT_EQ(w.count<EndJob>(), answers ? 1 : 0);
    EXPECT_EQ((w.job(id).flags & model::kCompleting) != 0, answers);
    if (answers) w.done(id, "n1");
    EXPECT_EQ(w.job(id).epoch, Epoch{2});
  }
}

TEST(UpdateNode, DrainLeavesJobsAlone) {
  World w(1);
  const auto id = w.submit(spec());
  w.start(id, World::on(0));
  w.must(update({"n1"}, Action::Drain, "x"));
  EXPECT_EQ(w.job(id).state, JobState::Running);
  EXPECT_EQ(model::state_text(w.node("n1"), true), "drng");
  w.done(id, "n1");
  EXPECT_EQ(model::state_text(w.node("n1"), true), "drain");
  w.must(update({"n1"}, Action::Undrain));
  EXPECT_TRUE(w.node("n1").usable());
}

TEST(UpdateNode, Fields) {
  World w(1);
  UpdateNode command = update({"n1"}, Action::None);
  command.comment = "c";
  command.extra = "e";
  command.features = "a,,b";
  command.weight = 9;
  w.must(command);
  const model::Node& node = w.node("n1");
  EXPECT_EQ(node.comment, "c");
  EXPECT_EQ(node.extra, "e");
  EXPECT_EQ(node.features, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(node.weight, 9u);
  EXPECT_EQ(node.reason, "");
}

}  // namespace
}  // namespace spur::state
