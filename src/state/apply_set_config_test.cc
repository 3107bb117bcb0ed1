// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "state/test_world.h"

namespace spur::state {
namespace {

using model::ClusterConfig;

TEST(SetConfig, Hardware) {
  struct Row {
    model::NodeConfig declared;
    std::uint32_t cpus, sockets, cores, threads;
  };
  const Row rows[] = {
      {node_config([](auto& c) { c.name = "n", c.cpus = 8; }), 8, 8, 1, 1},
      {node_config([](auto& c) { c.name = "n", c.sockets = 2, c.cores_per_socket = 4, c.threads_per_core = 2; }), 16,
       2, 4, 2},
      {node_config(
           [](auto& c) { c.name = "n", c.cpus = 8, c.sockets = 2, c.cores_per_socket = 4, c.threads_per_core = 2; }),
       8, 2, 4, 2},
      {node_config([](auto& c) { c.name = "n", c.cores_per_socket = 4; }), 4, 1, 4, 1},
      {node_config([](auto& c) { c.name = "n"; }), 1, 1, 1, 1},
  };
  for (const Row& row : rows) {
    World w;
    ClusterConfig config;
    config.nodes.push_back(row.declared);
    w.must(SetConfig{config});
    const auto& h = w.node("n").hardware;
    EXPECT_EQ(h.cpus, row.cpus);
    EXPECT_EQ(h.sockets, row.sockets);
    EXPECT_EQ(h.cores_per_socket, row.cores);
    EXPECT_EQ(h.threads_per_core, row.threads);
  }
  // CPUs alone, as many as found: the agent knows the shape.
  World w;
  ClusterConfig config;
  config.nodes.push_back(node_config([](auto& c) { c.name = "n", c.cpus = 8; }));
  w.must(SetConfig{config});
  auto found = World::registration("n", 8);
  found.found.sockets = 1, found.found.cores_per_socket = 4, found.found.threads_per_core = 2;
  w.must(found);
  EXPECT_EQ(w.node("n").hardware.cores_per_socket, 4u);
}

TEST(SetConfig, DeclaredStates) {
  struct Row {
    const char *state, *shown;
  };
  for (const Row row :
       {Row{"", "idle"}, Row{"unknown", "idle"}, Row{"DOWN", "down"}, Row{"Drain", "drain"}, Row{"fail", "fail"}}) {
    World w;
    ClusterConfig config;
    config.nodes.push_back(node_config([&](auto& c) { c.name = "n", c.state = row.state, c.reason = "r"; }));
    w.must(SetConfig{config});
    w.must(World::registration("n", 1));
    EXPECT_EQ(model::state_text(w.node("n"), true), row.shown);
  }
  World w;
  ClusterConfig config;
  config.nodes.push_back(node_config([](auto& c) { c.name = "n1"; }));
  config.nodes.push_back(node_config([](auto& c) { c.name = "n2", c.state = "FUTURE"; }));
  config.partitions.push_back(partition_config([](auto& c) { c.name = "p", c.nodes = "n[1-2]"; }));
  w.must(SetConfig{config});
  EXPECT_EQ(w.view().nodes.size(), 1u);
  EXPECT_EQ(w.refusal(World::registration("n2", 1)), ErrorCode::InvalidNode);
}

TEST(SetConfig, Refusals) {
  World w(1);
  const auto good = w.view().config;
  struct Row {
    const char* what;
    std::function<void(ClusterConfig&)> spoil;
  };
  const Row rows[] = {
      {"node twice", [](auto& c) { c.nodes.push_back(c.nodes[0]); }},
      {"nameless node", [](auto& c) { c.nodes[0].name = ""; }},
      {"no CPUs", [](auto& c) { c.nodes[0].cpus = 0; }},
      {"too many CPUs", [](auto& c) { c.nodes[0].cpus = 70'000; }},
      {"product overflows",
       [](auto& c) { c.nodes[0].cpus = {}, c.nodes[0].sockets = 3'000'000'000u, c.nodes[0].cores_per_socket = 4; }},
      {"unknown state", [](auto& c) { c.nodes[0].state = "ELSEWHERE"; }},
      {"partition twice", [](auto& c) { c.partitions.push_back(c.partitions[0]); }},
      {"nameless partition", [](auto& c) { c.partitions[0].name = ""; }},
      {"unknown node in a partition", [](auto& c) { c.partitions[0].nodes = "n[1-2]"; }},
      {"bad hostlist", [](auto& c) { c.partitions[0].nodes = "n[1-"; }},
      {"no job ids", [](auto& c) { c.first_job_id = 9, c.max_job_id = 8; }},
      {"job id zero", [](auto& c) { c.first_job_id = 0; }},
  };
  for (const Row& row : rows) {
    ClusterConfig config = *good;
    row.spoil(config);
    EXPECT_EQ(w.refusal(SetConfig{config}), ErrorCode::ConfigInvalid) << row.what;
    EXPECT_EQ(*w.view().config, *good);
  }
}

TEST(SetConfig, LastDefaultPartitionWins) {
  World w;
  ClusterConfig config;
  config.partitions.push_back(partition_config([](auto& c) { c.name = "a", c.is_default = true, c.nodes = ""; }));
  config.partitions.push_back(partition_config([](auto& c) { c.name = "b", c.is_default = true, c.nodes = ""; }));
  w.must(SetConfig{config});
  EXPECT_EQ(model::default_partition(w.view())->config.name, "b");
}

TEST(SetConfig, KeepsWhatHappened) {
  World w(2);
  const auto id = w.submit(spec());
  w.start(id, World::on(1));
  w.must(UpdateNode{{"n1"}, UpdateNode::Action::Drain, "disk", {}, {}, {}, {}, {}});
  auto config = *w.view().config;
  config.nodes[0].weight = 5;
  config.nodes[0].features = {"x"};
  w.must(SetConfig{config});
  EXPECT_EQ(w.node("n1").weight, 5u);
  EXPECT_EQ(w.node("n1").features, (std::vector<std::string>{"x"}));
  EXPECT_EQ(w.node("n1").reason, "disk");
  EXPECT_TRUE(w.node("n1").registered);
  EXPECT_EQ(w.node("n2").jobs.size(), 1u);
  w.done(id, "n2");
}

TEST(SetConfig, RemovedNodes) {
  World w(4);
  const auto busy = w.submit(spec()), high = w.submit(spec()), past = w.submit(spec());
  w.start(past, World::on(0, {3}));
  w.done(past, "n1");
  w.start(busy, World::on(1));
  w.start(high, World::on({1, 3}, {2}));
  auto config = *w.view().config;
  config.nodes = {config.nodes[3], config.nodes[2]};  // n1 and n2 go
  w.must(SetConfig{config});
  EXPECT_EQ(model::find_node(w.view(), "n1"), nullptr);
  EXPECT_EQ(w.node("n2").index, NodeIndex{0});  // still needed
  EXPECT_EQ(w.node("n2").reason, "removed from the configuration");
  EXPECT_EQ(w.node("n3").index, NodeIndex{1});
  EXPECT_EQ(w.node("n4").index, NodeIndex{2});
  EXPECT_EQ(w.job(high).nodes_left, (std::vector<NodeIndex>{NodeIndex{0}, NodeIndex{2}}));
  EXPECT_EQ(w.job(high).allocation->nodes[1].node, NodeIndex{2});
  EXPECT_EQ(w.job(past).allocation, nullptr);
  EXPECT_EQ(w.job(past).last_nodes, "n1");
  EXPECT_EQ(w.view().partitions->front().nodes, (std::vector<NodeIndex>{NodeIndex{1}, NodeIndex{2}}));
  EXPECT_EQ(w.refusal(StartJob{JobId{w.submit(spec())}, {}, World::on(0, {3})}), ErrorCode::NodesBusy);
  w.must(World::registration("n2", 4));  // its agent may come back to finish
  w.done(busy, "n2");
  w.done(high, "n2");
  w.done(high, "n4");
  w.must(SetConfig{config});
  EXPECT_EQ(w.view().nodes.size(), 2u);
  // And back again.
  config.nodes.push_back(node_config([](auto& c) { c.name = "n2", c.cpus = 4; }));
  w.must(SetConfig{config});
  EXPECT_EQ(w.node("n2").index, NodeIndex{2});
  EXPECT_FALSE(w.node("n2").registered);
}

TEST(SetConfig, NodeThatComesBackWhileInUse) {
  World w(2);
  const auto id = w.submit(spec());
  w.start(id, World::on(0));
  const auto both = *w.view().config;
  auto one = both;
  one.nodes.erase(one.nodes.begin());
  w.must(SetConfig{one});
  EXPECT_FALSE(w.node("n1").usable());
  w.must(SetConfig{both});
  EXPECT_TRUE(w.node("n1").usable());
  EXPECT_EQ(w.node("n1").reason, "");
  w.done(id, "n1");
}

TEST(SetConfig, RemovedPartitionKeepsItsJobs) {
  World w(1);
  const auto runs = w.submit(spec()), waits = w.submit(spec());
  w.start(runs, World::on(0));
  auto config = *w.view().config;
  config.partitions[0].name = "renamed";
  w.must(SetConfig{config});
  EXPECT_EQ(w.job(runs).state, model::JobState::Running);
  EXPECT_EQ(w.job(waits).state, model::JobState::Pending);
  w.done(runs, "n1");
}

}  // namespace
}  // namespace spur::state
