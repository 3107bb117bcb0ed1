// SPDX-License-Identifier: Apache-2.0
#include "sched/task_numbers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace spur::sched {
namespace {

std::string numbers(model::Distribution::Nodes way, std::uint32_t plane, const std::vector<std::uint32_t>& tasks) {
  std::vector<model::NodeGrant> nodes;
  for (const auto count : tasks) nodes.emplace_back().tasks = count;
  Request request;
  request.distribution.nodes = way;
  request.distribution.plane_size = plane;
  number_tasks(request, nodes);
  std::string out;
  for (const auto& node : nodes) out += fmt::format("[{}]", fmt::join(node.task_ids, " "));
  return out;
}

TEST(TaskNumbers, ByDistribution) {
  using enum model::Distribution::Nodes;
  EXPECT_EQ(numbers(Block, 0, {3, 2}), "[][]");
  EXPECT_EQ(numbers(Unset, 0, {3, 2}), "[][]");
  EXPECT_EQ(numbers(Cyclic, 0, {3, 2}), "[0 2 4][1 3]");
  EXPECT_EQ(numbers(Cyclic, 0, {1, 4, 2}), "[0][1 3 5 6][2 4]");
  EXPECT_EQ(numbers(Plane, 2, {4, 3, 2}), "[0 1 6 7][2 3 8][4 5]");
  EXPECT_EQ(numbers(Plane, 4, {4, 0, 2}), "[0 1 2 3][][4 5]");
  EXPECT_EQ(numbers(Cyclic, 0, {5}), "[]");
}

TEST(TaskNumbers, AsListed) {
  Request request;
  request.task_nodes = {7, 3, 7, 5};
  request.lot = 2;
  std::vector<model::NodeGrant> nodes(3);
  for (std::uint32_t i = 0; i < 3; ++i) nodes[i].node = NodeIndex(3 + 2 * i);
  number_tasks(request, nodes);
  EXPECT_EQ(nodes[0].task_ids, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(nodes[1].task_ids, (std::vector<std::uint32_t>{6, 7}));
  EXPECT_EQ(nodes[2].task_ids, (std::vector<std::uint32_t>{0, 1, 4, 5}));
}

}  // namespace
}  // namespace spur::sched
