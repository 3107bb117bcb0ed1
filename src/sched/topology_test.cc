// SPDX-License-Identifier: Apache-2.0
#include "sched/topology.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <set>

#include "sched/placement.h"
#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

model::ClusterConfig config_with(std::vector<model::SwitchConfig> switches) {
  model::ClusterConfig config;
  for (int n = 1; n <= 8; ++n) {
    model::NodeConfig node;
    node.name = "n" + std::to_string(n);
    config.nodes.push_back(node);
  }
  config.topology.kind = model::TopologyKind::Tree;
  config.topology.switches = std::move(switches);
  return config;
}

TEST(Topology, LeavesAndSwitches) {
  auto config = config_with({{"top", "", "mid,l4", 1},
                             {"l1", "n[1-2]", "", 2},
                             {"l3", "n5", "", 3},
                             {"mid", "", "l[1,3]", 4},
                             {"l4", "n[6-7]", "", 5}});
  ASSERT_TRUE(check_topology(config));
  const auto topology = Topology::make(
      config.topology, 8, [](std::string_view name) { return static_cast<std::uint32_t>(name[1] - '1'); }, false);
  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->leaves(), 6u);  // n3, n4 and n8 on their own... of which each is one
  EXPECT_EQ(topology->leaf(0), topology->leaf(1));
  EXPECT_NE(topology->leaf(2), topology->leaf(3));
  EXPECT_EQ(topology->leaf_name(topology->leaf(4)), "l3");
  ASSERT_EQ(topology->switches().size(), 2u);
  EXPECT_EQ(topology->switches()[0].name, "mid");
  EXPECT_EQ(topology->switches()[0].last_leaf - topology->switches()[0].first_leaf, 2u);
  EXPECT_EQ(topology->switches()[1].level, 2u);
}

TEST(Topology, Mistakes) {
  const struct {
    std::vector<model::SwitchConfig> switches;
    const char* message;
  } rows[] = {
      {{{"a", "", "b", 3}, {"b", "", "a", 4}}, "line 3: switch a: is part of a loop"},
      {{{"a", "", "a", 7}}, "line 7: switch a: is part of a loop"},
      {{{"a", "", "b", 3}}, "line 3: switch a: there is no switch b"},
      {{{"a", "n9", "", 5}}, "line 5: switch a: there is no node n9"},
      {{{"a", "n1", "", 5}, {"b", "n[1-2]", "", 6}}, "line 6: switch b: node n1 is in a already"},
      {{{"a", "n1", "", 5}, {"a", "n2", "", 6}}, "line 6: switch a: is declared twice"},
      {{{"a", "n1", "b", 5}, {"b", "n2", "", 6}}, "line 5: switch a: must have either nodes or switches"},
      {{{"a", "", "", 5}}, "line 5: switch a: must have either nodes or switches"},
      {{{"a", "n1", "", 1}, {"b", "", "a", 2}, {"c", "", "a", 3}},
       "line 3: switch c: a is below another switch already"},
  };
  for (const auto& row : rows) {
    const auto status = check_topology(config_with(row.switches));
    ASSERT_FALSE(status) << row.message;
    EXPECT_EQ(status.error().message, row.message);
  }
  auto blocks = config_with({});
  blocks.topology.kind = model::TopologyKind::Block;
  blocks.topology.blocks = {{"b1", "n[1-4]", "", 1}, {"b2", "n[4-8]", "", 2}};
  EXPECT_EQ(check_topology(blocks).error().message, "line 2: block b2: node n4 is in b1 already");
  blocks.topology.blocks[1].nodes = "n[5-8]";
  EXPECT_TRUE(check_topology(blocks));
  blocks.topology.block_sizes = {4, 6};
  EXPECT_FALSE(check_topology(blocks));
}

// On random clusters: no placement spans more leaves than it must. The least is found by trying every set of leaves.
TEST(Topology, FewestLeaves) {
  std::mt19937_64 dice(5);
  std::size_t placements = 0, least = 0;
  for (int round = 0; round < 64; ++round) {
    const auto leaves = static_cast<std::uint32_t>(2 + dice() % 9);
    const std::uint32_t nodes = leaves * static_cast<std::uint32_t>(2 + dice() % 12);
    model::TopologyConfig config;
    config.kind = model::TopologyKind::Tree;
    std::vector<std::string> lists(leaves);
    for (std::uint32_t n = 0; n < nodes; ++n) {
      auto& list = lists[dice() % leaves];
      list += (list.empty() ? "" : ",") + std::to_string(n);
    }
    for (std::uint32_t s = 0; s < leaves; ++s)
      if (!lists[s].empty()) config.switches.push_back({"s" + std::to_string(s), lists[s], "", s});
    const auto find = [](std::string_view name) { return static_cast<std::uint32_t>(std::stoul(std::string(name))); };
    const auto topology = std::make_shared<const Topology>(*Topology::make(config, nodes, find, false));
    for (int draw = 0; draw < 40; ++draw) {
      std::vector<Offer> offers;
      for (std::uint32_t n = 0; n < nodes; ++n) {
        if (dice() % 3 == 0) continue;
        Offer offer;
        offer.node = n;
        offer.tasks = static_cast<std::uint32_t>(1 + dice() % 4);
        offer.cpus = static_cast<std::int32_t>(offer.tasks);
        offers.push_back(offer);
      }
      Request request;
      request.topology = topology;
      request.tasks_fixed = draw % 2 == 0;
      request.min_nodes = static_cast<std::uint32_t>(request.tasks_fixed ? 1 : 2 + dice() % (nodes / 2));
      if (request.tasks_fixed)
        request.tasks = static_cast<std::uint32_t>(2 + dice() % nodes);
      else
        request.tasks = request.tasks_per_node = 1;
      const auto shares = choose(request, offers);
      std::uint32_t best = leaves + 1;
      for (std::uint32_t set = 1; set < 1u << topology->leaves(); ++set) {
        std::uint32_t has_nodes = 0, tasks = 0;
        for (const auto& offer : offers) {
          if (!(set >> topology->leaf(offer.node) & 1)) continue;
          ++has_nodes;
          tasks += offer.tasks;
        }
        if (has_nodes >= request.min_nodes && (!request.tasks_fixed || tasks >= request.tasks))
          best = std::min(best, static_cast<std::uint32_t>(std::popcount(set)));
      }
      ASSERT_EQ(shares.empty(), best > leaves);
      if (shares.empty()) continue;
      std::set<std::uint32_t> spanned;
      for (const auto& share : shares) spanned.insert(topology->leaf(share.node));
      ++placements;
      least += spanned.size() == best;
    }
  }
  EXPECT_GT(placements, 2000u);
  EXPECT_EQ(least, placements);
}

}  // namespace
}  // namespace spur::sched
