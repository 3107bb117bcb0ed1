// SPDX-License-Identifier: Apache-2.0
// Heterogeneous jobs: all components start at one moment on nodes of their own, or none does.
#include "sched/het_group.h"

#include <gtest/gtest.h>

#include <set>

#include "sched/engine.h"
#include "sched/plan.h"
#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

using model::Reason;

model::JobSpec wants(std::uint32_t nodes, std::uint32_t minutes_long = 10) {
  model::JobSpec spec;
  spec.min_nodes = nodes;
  spec.max_nodes = nodes;
  spec.exclusive = model::Exclusive::Node;
  spec.time_limit = TimeLimit::of_minutes(minutes_long);
  return spec;
}

TestCluster four_nodes() {
  TestCluster cluster;
  cluster.add_nodes(4, 4);
  cluster.add_partition("main");
  return cluster;
}

const Wait* wait_of(const Plan& plan, JobId job) {
  for (const Wait& wait : plan.waits)
    if (wait.job == job) return &wait;
  return nullptr;
}

TEST(HetGroup, AllComponentsStartAtOnceOnNodesOfTheirOwn) {
  TestCluster cluster = four_nodes();
  model::JobSpec small;
  small.tasks = 1;
  const JobId job = cluster.submit_het({small, small, wants(2)}).id;
  const Plan made = plan(cluster.view(), {}, at_minute(0));
  ASSERT_EQ(made.starts.size(), 3u);
  std::set<NodeIndex> nodes;
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(made.starts[i].job.value, job.value + i);
    EXPECT_EQ(made.starts[i].group, job);
    for (const auto& grant : made.starts[i].allocation->nodes) EXPECT_TRUE(nodes.insert(grant.node).second);
  }
  EXPECT_EQ(nodes.size(), 4u);
}

TEST(HetGroup, NoneStartsWhileOneCannot) {
  TestCluster cluster = four_nodes();
  const JobId running = cluster.submit(wants(2, 30)).id;
  cluster.carry_out(plan(cluster.view(), {}, at_minute(0)), at_minute(0));
  const JobId job = cluster.submit_het({wants(1), wants(2)}, at_minute(1)).id;
  Engine engine;
  engine.see(cluster.view());
  const Plan made = engine.plan(at_minute(1));
  EXPECT_TRUE(made.starts.empty());
  for (std::uint32_t i = 0; i < 2; ++i) {
    const Wait* wait = wait_of(made, JobId(job.value + i));
    ASSERT_TRUE(wait);
    EXPECT_EQ(wait->reason, Reason::Resources);
    EXPECT_EQ(wait->expected_start, at_minute(30));
    EXPECT_TRUE(wait->promised);
  }
  // Two nodes are free, and either component would fit by itself; the quick answer starts neither.
  cluster.carry_out(made, at_minute(1));
  engine.see(cluster.view());
  EXPECT_TRUE(engine.respond(at_minute(2)).starts.empty());
  cluster.finish(running);
  engine.see(cluster.view());
  EXPECT_EQ(engine.respond(at_minute(3)).starts.size(), 2u);
}

TEST(HetGroup, OnePromiseThatNobodyDelays) {
  TestCluster cluster = four_nodes();
  cluster.submit(wants(2, 30));
  cluster.carry_out(plan(cluster.view(), {}, at_minute(0)), at_minute(0));
  cluster.submit_het({wants(1), wants(2)}, at_minute(1));
  const JobId longer = cluster.submit(wants(2, 60), at_minute(2)).id;  // would hold a node that was promised
  const JobId shorter = cluster.submit(wants(2, 20), at_minute(3)).id;
  Engine engine({.promises = 1});
  engine.see(cluster.view());
  const Plan made = engine.plan(at_minute(4));
  ASSERT_EQ(made.starts.size(), 1u);
  EXPECT_EQ(made.starts[0].job, shorter);
  EXPECT_EQ(wait_of(made, longer)->reason, Reason::Priority);
  EXPECT_FALSE(wait_of(made, longer)->promised);
  EXPECT_EQ(engine.planned().size(), 2u) << "both components of the one that was promised";
}

// Whoever can run on few nodes gets them, though another component comes first and could take them.
TEST(HetGroup, ComponentsDoNotStandInEachOthersWay) {
  TestCluster cluster;
  cluster.add_node("gpu", 4).active_features = {"gpu"};
  cluster.node(0).features = {"gpu"};
  cluster.add_node("plain", 4);
  cluster.add_partition("main");
  model::JobSpec picky = wants(1);
  picky.features = "gpu";
  cluster.submit_het({wants(1), picky});
  const Plan made = plan(cluster.view(), {}, at_minute(0));
  ASSERT_EQ(made.starts.size(), 2u);
  EXPECT_EQ(made.starts[0].allocation->nodes[0].node, NodeIndex(1));
  EXPECT_EQ(made.starts[1].allocation->nodes[0].node, NodeIndex(0));
}

TEST(HetGroup, LicensesCountForAllOfThem) {
  TestCluster cluster = four_nodes();
  cluster.config->licenses = {{"lic", 2}};
  model::JobSpec licensed = wants(1);
  licensed.licenses = {{"lic", 1}};
  const JobId first = cluster.submit(licensed).id;
  const JobId job = cluster.submit_het({licensed, licensed}).id;
  const Plan made = plan(cluster.view(), {}, at_minute(0));
  ASSERT_EQ(made.starts.size(), 1u);
  EXPECT_EQ(made.starts[0].job, first);
  EXPECT_EQ(wait_of(made, job)->expected_start, at_minute(10));
}

TEST(HetGroup, WhatKeepsOneKeepsAll) {
  TestCluster cluster = four_nodes();
  const JobId job = cluster.submit_het({wants(1), wants(9)}).id;
  EXPECT_EQ(wait_of(plan(cluster.view(), {}, at_minute(0)), job)->reason, Reason::PartitionConfig);
  const JobId held = cluster.submit_het({wants(1), wants(1)}).id;
  cluster.job(held.value + 1).hold = model::Hold::User;
  const Plan made = plan(cluster.view(), {}, at_minute(0));
  EXPECT_TRUE(made.starts.empty());
  EXPECT_EQ(wait_of(made, held)->reason, Reason::JobHeldUser);
}

TEST(HetGroup, ForecastsTheWhole) {
  TestCluster cluster = four_nodes();
  cluster.submit(wants(2, 30));
  cluster.carry_out(plan(cluster.view(), {}, at_minute(0)), at_minute(0));
  Engine engine;
  engine.see(cluster.view());
  engine.plan(at_minute(1));
  const model::JobSpec one = wants(1), two = wants(2);
  const auto forecast = engine.forecast({&one, &two});
  ASSERT_TRUE(forecast);
  EXPECT_EQ(forecast->start, at_minute(30));
  EXPECT_EQ(forecast->nodes.size(), 3u);
  EXPECT_EQ(forecast->cpus, 12u);
}

}  // namespace
}  // namespace spur::sched
