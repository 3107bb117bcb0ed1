// SPDX-License-Identifier: Apache-2.0
#include "config/topology_yaml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "config/test_files.h"

namespace spur::config {
namespace {

constexpr const char* kSlurm = "ClusterName=c\nNodeName=n[1-4]\nPartitionName=p Nodes=ALL Default=YES\n";

TEST(TopologyYaml, TreeAndBlocks) {
  TestDirectory directory;
  const std::string slurm = directory.write("slurm.conf", kSlurm);
  directory.write("topology.conf", "SwitchName=other Nodes=n[1-4]\n");
  directory.write("topology.yaml",
                  "---\n- topology: first\n  flat: true\n"
                  "- topology: second  # the default\n  cluster_default: true\n  tree:\n    switches:\n"
                  "      - switch: top\n        children: s[1-2]\n      - switch: s1\n        nodes: \"n[1-2]\"\n"
                  "      - switch: s2\n        nodes: 'n[3-4]'\n");
  const auto tree = load(slurm, Want::All);
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(tree->cluster.topology.kind, model::TopologyKind::Tree);
  ASSERT_EQ(tree->cluster.topology.switches.size(), 3u);
  EXPECT_EQ(tree->cluster.topology.switches[0].switches, "s[1-2]");
  EXPECT_EQ(tree->cluster.topology.switches[2].nodes, "n[3-4]");
  EXPECT_EQ(tree->cluster.topology.name, "second");
  ASSERT_EQ(tree->cluster.other_topologies.size(), 1u);
  EXPECT_EQ(tree->cluster.other_topologies[0].name, "first");
  EXPECT_EQ(tree->cluster.other_topologies[0].kind, model::TopologyKind::Flat);
  EXPECT_EQ(tree->warnings, (std::vector<std::string>{
                                directory.path() + "/topology.yaml: topology.yaml is read in place of topology.conf"}));
  directory.write("topology.yaml",
                  "- topology: b\n  block:\n    block_sizes:\n      - 2\n      - 4\n    blocks:\n    - block: b1\n"
                  "      nodes: n[1-2]\n    - block: b2\n      nodes: n[3-4]\n");
  const auto blocks = load(slurm, Want::All);
  ASSERT_TRUE(blocks) << blocks.error().message;
  EXPECT_EQ(blocks->cluster.topology.kind, model::TopologyKind::Block);
  EXPECT_EQ(blocks->cluster.topology.block_sizes, (std::vector<std::uint32_t>{2, 4}));
  EXPECT_EQ(blocks->cluster.topology.blocks.size(), 2u);
}

TEST(TopologyYaml, PartitionsNameTheirOwn) {
  TestDirectory directory;
  const char* yaml =
      "- topology: usual\n  cluster_default: true\n  tree:\n    switches:\n    - switch: s1\n      nodes: n[1-4]\n"
      "- topology: pods\n  block:\n    block_sizes:\n    - 2\n    blocks:\n    - block: b1\n      nodes: n[1-2]\n"
      "    - block: b2\n      nodes: n[3-4]\n";
  directory.write("topology.yaml", yaml);
  const std::string slurm =
      directory.write("slurm.conf", std::string(kSlurm) + "PartitionName=q Nodes=ALL Topology=pods\n");
  const auto loaded = load(slurm, Want::All);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->warnings.empty());
  EXPECT_EQ(loaded->cluster.partitions[1].topology, "pods");
  EXPECT_EQ(loaded->cluster.other_topologies[0].blocks.size(), 2u);
  EXPECT_EQ(loaded->cluster.other_topologies[0].block_sizes, std::vector<std::uint32_t>{2});
  // spur.conf has the file in it.
  TestDirectory other;
  const std::string spur = other.write("spur.conf",
                                      fmt::format("[[partitions]]\nname = \"q\"\nnodes = \"ALL\"\ntopology = \"pods\"\n"
                                                  "[[nodes]]\nnames = \"n[1-4]\"\n[slurm_files]\n\"topology.yaml\" = \"\"\"\n{}\"\"\"\n",
                                                  yaml));
  const auto again = load(spur, Want::All);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->cluster.other_topologies[0].name, "pods");
  const auto files = files_of(spur);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->size(), 1u) << "agents without files are given it with spur.conf";
  directory.write("slurm.conf", std::string(kSlurm) + "PartitionName=q Nodes=ALL Topology=nosuch\n");
  const auto refused = load(slurm, Want::All);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, slurm + ":4: partition q names an unknown topology: nosuch");
}

TEST(TopologyYaml, Refused) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", ": a list of topologies is expected"},
      {"topology: x\n", ":1: a list of topologies is expected"},
      {"- a: b\n", ":1: a topology without a name (topology: NAME)"},
      {"- topology: x\n  ring: true\n", ":2: unknown key ring: it is tree, block or flat"},
      {"- topology: x\n  topology: y\n", ":2: topology is there twice"},
      {"- topology: x\n  flat: true\n- topology: x\n  flat: true\n", ":3: topology x is there twice"},
      {"- topology: x\n    tree:\n", ":2: this line is indented too far"},
      {"- topology: x\n\ttree:\n", ":2: tabs do not indent YAML"},
      {"- topology: x\n  wibble\n", ":2: \"wibble\" is no key"},
      {"- topology: x\n  tree:\n    leaves: 3\n", ":3: unknown key leaves"},
      {"- topology: x\n  tree:\n    switches:\n    - switch: s\n      color: red\n",
       ":5: Parsing error at unrecognized key: color"},
      {"- topology: x\n  block:\n    block_sizes: [2, x]\n", ":3: BlockSizes: \"x\" is no size"},
      {"- topology: x\n  tree:\n    switches:\n    - switch: s\n      nodes: n9\n", ":4: s names an unknown node: n9"},
  };
  for (const auto& [text, want] : kCases) {
    TestDirectory directory;
    const std::string slurm = directory.write("slurm.conf", kSlurm);
    directory.write("topology.yaml", text);
    const auto loaded = load(slurm, Want::All);
    ASSERT_FALSE(loaded) << text;
    EXPECT_EQ(loaded.error().message, directory.path() + "/topology.yaml" + want);
  }
}

}  // namespace
}  // namespace spur::config
