// SPDX-License-Identifier: Apache-2.0
#include "model/dynamic_nodes.h"

#include <gtest/gtest.h>

#include <limits>

namespace spur::model {
namespace {

NodeConfig row(const char* state, NodePresence presence = NodePresence::AsDeclared) {
  NodeConfig out;
  out.name = "n";
  out.state = state;
  out.presence = presence;
  return out;
}

TEST(DynamicNodes, WhoIsFuture) {
  EXPECT_TRUE(is_future(row("FUTURE")));
  EXPECT_TRUE(is_future(row("future")));
  EXPECT_FALSE(is_future(row("FUTURE", NodePresence::Here)));
  EXPECT_FALSE(is_future(row("")));
  EXPECT_FALSE(is_future(row("CLOUD")));
  EXPECT_TRUE(is_future(row("", NodePresence::Future)));
}

TEST(DynamicNodes, Room) {
  const auto config = [](std::size_t declared, std::size_t created, std::uint32_t most) {
    ClusterConfig out;
    out.max_node_count = most;
    for (std::size_t i = 0; i < declared + created; ++i) out.nodes.emplace_back().created = i >= declared;
    return out;
  };
  EXPECT_EQ(room_for_nodes(config(2, 0, 0), 0), 0u) << "without MaxNodeCount there are none but the declared ones";
  EXPECT_EQ(room_for_nodes(config(2, 1, 5), 0), 2u);
  EXPECT_EQ(room_for_nodes(config(2, 1, 5), 1), 1u);
  EXPECT_EQ(room_for_nodes(config(2, 1, 2), 0), 0u);
  EXPECT_EQ(room_for_nodes(config(0, 0, 3), 0), 3u);
  EXPECT_EQ(room_for_nodes(config(0, 4, 0), 9), std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(takes_anybody(config(0, 4, 0)));
  EXPECT_FALSE(takes_anybody(config(0, 4, 4)));
  EXPECT_FALSE(takes_anybody(config(1, 4, 0)));
}

TEST(DynamicNodes, WhoCanTakeThePlace) {
  NodeHardware found;
  found.cpus = 16, found.boards = 1, found.sockets = 2, found.cores_per_socket = 4, found.threads_per_core = 2;
  found.memory_mib = 8000;
  struct Row {
    const char* what;
    void (*change)(NodeConfig&);
    const char* feature;
    bool can;
  };
  const Row rows[] = {
      {"nothing declared", [](NodeConfig&) {}, "", true},
      {"all of it",
       [](NodeConfig& n) {
         n.cpus = 16, n.boards = 1, n.sockets = 2, n.cores_per_socket = 4, n.threads_per_core = 2, n.memory_mib = 8000;
       },
       "", true},
      {"fewer CPUs", [](NodeConfig& n) { n.cpus = 8; }, "", false},
      {"more CPUs", [](NodeConfig& n) { n.cpus = 32; }, "", false},
      {"boards", [](NodeConfig& n) { n.boards = 2; }, "", false},
      {"sockets", [](NodeConfig& n) { n.sockets = 1; }, "", false},
      {"cores", [](NodeConfig& n) { n.cores_per_socket = 8; }, "", false},
      {"threads", [](NodeConfig& n) { n.threads_per_core = 1; }, "", false},
      {"less memory is declared", [](NodeConfig& n) { n.memory_mib = 7000; }, "", true},
      {"more memory is declared", [](NodeConfig& n) { n.memory_mib = 8001; }, "", false},
      {"a feature that it has", [](NodeConfig& n) { n.features = {"a", "b"}; }, "b", true},
      {"a feature that it has not", [](NodeConfig& n) { n.features = {"a", "b"}; }, "c", false},
      {"no feature is asked for", [](NodeConfig& n) { n.features = {"a"}; }, "", true},
  };
  for (const Row& r : rows) {
    NodeConfig node = row("FUTURE");
    r.change(node);
    EXPECT_EQ(can_be(node, found, r.feature), r.can) << r.what;
  }
}

}  // namespace
}  // namespace spur::model
