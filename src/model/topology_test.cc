// SPDX-License-Identifier: Apache-2.0
#include "model/topology.h"

#include <gtest/gtest.h>

namespace spur::model {
namespace {

TEST(Topology, ByName) {
  ClusterConfig config;
  EXPECT_EQ(find_topology(config, ""), &config.topology);
  EXPECT_EQ(find_topology(config, "default"), &config.topology);
  EXPECT_EQ(find_topology(config, "fast"), nullptr);
  config.topology.name = "usual";
  config.other_topologies.push_back({});
  config.other_topologies.back().name = "fast";
  EXPECT_EQ(find_topology(config, "usual"), &config.topology);
  EXPECT_EQ(find_topology(config, "default"), nullptr);
  PartitionConfig partition;
  EXPECT_EQ(&topology_of(config, partition), &config.topology);
  partition.topology = "fast";
  EXPECT_EQ(&topology_of(config, partition), &config.other_topologies[0]);
}

// As measured with Slurm 22.05: s5 is above s4 and s3, s4 above s1 and s2.
TEST(Topology, AddressInATree) {
  TopologyConfig tree{.kind = TopologyKind::Tree, .switches = {}, .blocks = {}, .block_sizes = {}, .optional = false};
  tree.switches = {{"s1", "n[1-2]", "", 1}, {"s2", "n[3-4]", "", 2},   {"s3", "n[5-6]", "", 3},
                   {"s4", "", "s[1-2]", 4}, {"s5", "", "s[3-4]", 5}};
  const TopologyAddresses addresses(tree);
  EXPECT_EQ(addresses.of("n1").address, "s5.s4.s1.n1");
  EXPECT_EQ(addresses.of("n1").pattern, "switch.switch.switch.node");
  EXPECT_EQ(addresses.of("n6").address, "s5..s3.n6");
  EXPECT_EQ(addresses.of("n6").pattern, "switch.switch.switch.node");
  EXPECT_EQ(addresses.of("n9").address, "...n9") << "it is in none";
}

TEST(Topology, AddressInBlocksAndWithoutAny) {
  TopologyConfig blocks{.kind = TopologyKind::Block, .switches = {}, .blocks = {}, .block_sizes = {}, .optional = false};
  blocks.blocks = {{"b1", "n[1-2]", "", 1}, {"b2", "n[3-4]", "", 2}};
  EXPECT_EQ(TopologyAddresses(blocks).of("n3").address, "b2.n3");
  EXPECT_EQ(TopologyAddresses(blocks).of("n3").pattern, "block.node");
  EXPECT_EQ(TopologyAddresses(TopologyConfig{}).of("n3").address, "n3");
  EXPECT_EQ(TopologyAddresses(TopologyConfig{}).of("n3").pattern, "node");
}

}  // namespace
}  // namespace spur::model
