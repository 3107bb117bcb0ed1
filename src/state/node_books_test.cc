// SPDX-License-Identifier: Apache-2.0
#include "state/node_books.h"

#include <gtest/gtest.h>

namespace spur::state {
namespace {

model::Node shared_node() {
  model::Node node;
  node.name = "n1";
  node.hardware.cpus = 8;
  node.hardware.gres = {{"gpu", "a", 2, ""}, {"gpu", "b", 1, ""}, {"shard", "", 10, ""}};
  fit_books(node);
  return node;
}

model::NodeGrant grant(std::uint16_t cpu, model::DeviceGrant devices) {
  model::NodeGrant made;
  made.cpus = {cpu};
  made.devices = {std::move(devices)};
  return made;
}

TEST(NodeBooks, SharesOfDevices) {
  model::Node node = shared_node();
  const auto can = [&](model::DeviceGrant devices) {
    return can_take(node, grant(7, std::move(devices)), false).has_value();
  };
  // Ten shares over three GPUs: 4, 3, 3.
  EXPECT_TRUE(can({"shard", "a", {0}, {4}}));
  EXPECT_FALSE(can({"shard", "a", {0}, {5}}));
  EXPECT_TRUE(can({"shard", "b", {2}, {3}}));
  EXPECT_FALSE(can({"shard", "b", {2}, {4}}));
  EXPECT_FALSE(can({"shard", "b", {3}, {1}}));
  EXPECT_FALSE(can({"shard", "b", {2}, {0}}));
  EXPECT_FALSE(can({"shard", "b", {1, 2}, {1}}));

  const auto three = grant(0, {"shard", "a", {0}, {3}});
  take(node, three, JobId(1), false);
  EXPECT_TRUE(can({"shard", "a", {0}, {1}}));
  EXPECT_FALSE(can({"shard", "a", {0}, {2}}));
  EXPECT_FALSE(can({"gpu", "a", {0}}));  // in shares already
  EXPECT_TRUE(can({"gpu", "a", {1}}));

  const auto whole = grant(1, {"gpu", "a", {1}});
  take(node, whole, JobId(2), false);
  EXPECT_FALSE(can({"shard", "a", {1}, {1}}));

  give_back(node, three, JobId(1), true, false);
  give_back(node, whole, JobId(2), true, false);
  EXPECT_TRUE(can({"gpu", "a", {0, 1}}));
  EXPECT_EQ(node, shared_node());
}

}  // namespace
}  // namespace spur::state
