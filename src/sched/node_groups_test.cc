// SPDX-License-Identifier: Apache-2.0
#include "sched/node_groups.h"

#include <gtest/gtest.h>

#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

TEST(NodeGroups, LikeNodesAreOne) {
  TestCluster cluster;
  cluster.add_nodes(6, 4);
  cluster.node(1).weight = 7;           // another sort
  cluster.node(2).cpus_in_use = {0b1};  // another row
  cluster.node(2).cpus_allocated = 1;
  cluster.node(3).flags = model::kNodeDrain;
  cluster.add_partition("all");
  cluster.add_partition("some", {5});  // another sort: it is in more partitions
  auto view = cluster.view();
  Capacity capacity(view);
  NodeGroups groups(view, capacity);

  EXPECT_EQ(groups.sorts().size(), 3u);
  const NodeSort& plain = groups.sorts()[groups.sort_of(0)];
  EXPECT_EQ(groups.sort_of(4), groups.sort_of(0));
  EXPECT_NE(groups.sort_of(1), groups.sort_of(0));
  EXPECT_NE(groups.sort_of(5), groups.sort_of(0));
  EXPECT_EQ(plain.usable, (NodeSet{0, 2, 4}));
  EXPECT_EQ(plain.unusable, (NodeSet{3}));
  EXPECT_FALSE(groups.grouped(3));
  ASSERT_EQ(plain.groups.size(), 2u);
  EXPECT_EQ(plain.groups.begin()->second, (NodeSet{0, 4}));  // the roomiest first
  EXPECT_EQ(plain.groups.rbegin()->second, (NodeSet{2}));
  EXPECT_TRUE(groups.in_partition(plain, 0));
  EXPECT_FALSE(groups.in_partition(plain, 1));
  EXPECT_TRUE(groups.in_partition(groups.sorts()[groups.sort_of(5)], 1));

  // A job ends, a node comes back, another gets plans of its own.
  cluster.node(2).cpus_in_use = {0};
  cluster.node(2).cpus_allocated = 0;
  cluster.node(3).flags = 0;
  view = cluster.view();
  for (const NodeNumber n : {2u, 3u}) capacity.refresh(view, n);
  EXPECT_FALSE(groups.update(2, false));
  EXPECT_TRUE(groups.update(3, false));
  EXPECT_FALSE(groups.update(4, true));
  const NodeSort& after = groups.sorts()[groups.sort_of(0)];
  ASSERT_EQ(after.groups.size(), 1u);
  EXPECT_EQ(after.groups.begin()->second, (NodeSet{0, 2, 3}));
  EXPECT_EQ(after.usable, (NodeSet{0, 2, 3, 4}));
  EXPECT_FALSE(groups.grouped(4));
}

}  // namespace
}  // namespace spur::sched
