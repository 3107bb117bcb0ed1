// SPDX-License-Identifier: Apache-2.0
#include "config/node_words.h"

#include <gtest/gtest.h>

namespace spur::config {
namespace {

TEST(NodeWords, AreThoseOfAFile) {
  const auto nodes = read_node_words(
      "d[1-2]", split_node_words("CPUs=16  SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=31848 "
                                 "Gres=gpu:a100:2 Feature=f1,f2 State=CLOUD Weight=7"));
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 2u);
  const model::NodeConfig& node = nodes->at(1);
  EXPECT_EQ(node.name, "d2");
  EXPECT_EQ(node.hostname, "d2");
  EXPECT_EQ(node.cpus, 16u);
  EXPECT_EQ(node.sockets, 1u);
  EXPECT_EQ(node.cores_per_socket, 8u);
  EXPECT_EQ(node.threads_per_core, 2u);
  EXPECT_EQ(node.memory_mib, 31848u);
  EXPECT_EQ(node.features, (std::vector<std::string>{"f1", "f2"}));
  EXPECT_EQ(node.state, "CLOUD");
  EXPECT_EQ(node.weight, 7u);
  ASSERT_EQ(node.gres.size(), 1u);
  EXPECT_EQ(node.gres[0].count, 2u);
  // What is not said is 1, as in Slurm.
  const auto bare = read_node_words("d1", {});
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->at(0).cpus, 1u);
  EXPECT_EQ(bare->at(0).memory_mib, 1u);
}

TEST(NodeWords, Refusals) {
  struct Row {
    const char *names, *words;
  };
  for (const Row row : {Row{"d1", "NoSuchKey=1"}, Row{"d1", "CPUs=many"}, Row{"d1", "CPUs"}, Row{"d1", "NodeName=d2"},
                        Row{"d1", "State=HERE"}, Row{"d[1-", ""}, Row{"", ""}, Row{"a/b", ""}, Row{"d1,d1", ""},
                        Row{"d[1-3]", "NodeAddr=a[1-2]"}})
    EXPECT_FALSE(read_node_words(row.names, split_node_words(row.words))) << row.names << " " << row.words;
}

}  // namespace
}  // namespace spur::config
