// SPDX-License-Identifier: Apache-2.0
#include "model/view.h"

#include <gtest/gtest.h>

namespace spur::model {
namespace {

View sample() {
  View view;
  auto names = std::make_shared<std::map<std::string, NodeIndex, std::less<>>>();
  for (std::uint32_t i = 0; i < 4; ++i) {
    auto node = std::make_shared<Node>();
    node->index = NodeIndex{i};
    node->name = "n" + std::to_string(i + 1);
    names->emplace(node->name, node->index);
    view.nodes.set(i, node);
  }
  view.node_by_name = names;
  Partition a, b;
  a.config.name = "a";
  b.config.name = "b";
  b.config.is_default = true;
  view.partitions = std::make_shared<const std::vector<Partition>>(std::vector<Partition>{a, b});
  return view;
}

TEST(View, FindsByName) {
  const View view = sample();
  EXPECT_EQ(find_node(view, "n3")->index, NodeIndex{2});
  EXPECT_EQ(find_node(view, "n9"), nullptr);
  EXPECT_EQ(find_partition(view, "a")->config.name, "a");
  EXPECT_EQ(find_partition(view, "c"), nullptr);
  EXPECT_EQ(default_partition(view)->config.name, "b");
  const View empty;
  EXPECT_EQ(find_node(empty, "n1"), nullptr);
  EXPECT_EQ(find_partition(empty, "a"), nullptr);
  EXPECT_EQ(default_partition(empty), nullptr);
  EXPECT_EQ(find_job(empty, JobId{1}), nullptr);
}

TEST(View, NodeList) {
  const View view = sample();
  EXPECT_EQ(node_list(view, {}), "");
  EXPECT_EQ(node_list(view, {NodeIndex{1}}), "n2");
  EXPECT_EQ(node_list(view, {NodeIndex{0}, NodeIndex{1}, NodeIndex{3}}), "n[1-2,4]");
  EXPECT_EQ(node_list(view, {NodeIndex{0}, NodeIndex{77}}), "n1");
  EXPECT_EQ(node_list(view, {NodeIndex{77}}), "");
}

TEST(View, FindsTasksOfArrays) {
  View view;
  auto rest = std::make_shared<Job>();
  rest->id = rest->array_job = JobId{8};
  IndexSet tasks;
  tasks.insert_range(2, 5);
  rest->array_pending = std::make_shared<const IndexSet>(tasks);
  auto task = std::make_shared<Job>();
  task->id = JobId{9};
  task->array_job = JobId{8};
  task->array_task = 1;
  view.jobs.set(8, rest);
  view.jobs.set(9, task);
  CowMap<JobId> listed;
  listed.set(1, JobId{9});
  view.arrays.set(8, listed);
  EXPECT_EQ(find_array_task(view, JobId{8}, 1), task.get());
  EXPECT_EQ(find_array_task(view, JobId{8}, 3), rest.get());
  EXPECT_EQ(find_array_task(view, JobId{8}, 6), nullptr);
  EXPECT_EQ(find_array_task(view, JobId{7}, 1), nullptr);
}

}  // namespace
}  // namespace spur::model
