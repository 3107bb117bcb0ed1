// SPDX-License-Identifier: Apache-2.0
#include "sched/feasibility.h"

#include <gtest/gtest.h>

#include <functional>

#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

// One node: 8 CPUs in 4 cores, 1000 MiB, 4 GPUs.
struct OneNode {
  OneNode() {
    cluster.config->memory_as = model::MemoryAs::Consumable;
    auto& node = cluster.add_node("n1", 8);
    node.hardware.sockets = 1;
    node.hardware.cores_per_socket = 4;
    node.hardware.threads_per_core = 2;
    node.hardware.gres = {{"gpu", "", 4, ""}};
    node.hardware.tmp_disk_mib = 100;
    node.active_features = {"red"};
    cluster.add_partition("p");
    view = cluster.view();
  }
  TestCluster cluster;
  model::View view;
};

// CPUs, memory and a number of GPUs as a row: each GPU has a column.
std::vector<Amount> widen(const std::vector<Amount>& brief) {
  std::vector<Amount> row{brief[0], brief[1]};
  for (Amount gpu = 0; gpu < 4; ++gpu) row.push_back(gpu < brief[2] ? 1 : 0);
  return row;
}

TEST(Feasibility, TasksThatFit) {
  using Per = model::GresRequest::Per;
  OneNode one;
  const Capacity capacity(one.view);
  const struct {
    const char* what;
    std::function<void(model::JobSpec&)> edit;
    std::vector<Amount> row;  // CPUs, memory, GPUs free
    std::uint32_t tasks;
  } rows[] = {
      {"one CPU", [](auto& s) { s.memory_per_node_mib = 1; }, {8, 1000, 4}, 1},
      {"no CPU", [](auto& s) { s.memory_per_node_mib = 1; }, {0, 1000, 4}, 0},
      {"tasks", [](auto& s) { s.tasks = 6, s.memory_per_node_mib = 1; }, {8, 1000, 4}, 6},
      {"tasks, few CPUs", [](auto& s) { s.tasks = 6, s.memory_per_node_mib = 1; }, {4, 1000, 4}, 4},
      {"wide tasks", [](auto& s) { s.tasks = 6, s.cpus_per_task = 3, s.memory_per_node_mib = 1; }, {8, 1000, 4}, 2},
      {"at most per node",
       [](auto& s) { s.tasks = 6, s.tasks_per_node = 2, s.memory_per_node_mib = 1; },
       {8, 1000, 4},
       2},
      {"exactly per node", [](auto& s) { s.tasks_per_node = 5, s.memory_per_node_mib = 1; }, {8, 1000, 4}, 5},
      {"not per node", [](auto& s) { s.tasks_per_node = 5, s.memory_per_node_mib = 1; }, {4, 1000, 4}, 0},
      {"min CPUs", [](auto& s) { s.min_cpus_per_node = 6, s.memory_per_node_mib = 1; }, {4, 1000, 4}, 0},
      {"overcommit", [](auto& s) { s.tasks = 60, s.overcommit = true, s.memory_per_node_mib = 1; }, {2, 1000, 4}, 60},
      {"memory", [](auto& s) { s.memory_per_node_mib = 600; }, {8, 599, 4}, 0},
      {"all memory", [](auto& s) { s.memory_per_node_mib = 0; }, {8, 999, 4}, 0},
      {"all memory there", [](auto& s) { s.memory_per_node_mib = 0; }, {8, 1000, 4}, 1},
      {"memory by default", [](auto&) {}, {8, 999, 4}, 0},
      // A core of two CPUs needs memory for both.
      {"memory per CPU", [](auto& s) { s.tasks = 8, s.memory_per_cpu_mib = 150; }, {8, 1000, 4}, 6},
      {"memory for a core", [](auto& s) { s.memory_per_cpu_mib = 400; }, {8, 799, 4}, 0},
      {"GPUs", [](auto& s) { s.gres = {{"gpu", "", 3, Per::Node}}, s.memory_per_node_mib = 1; }, {8, 1000, 2}, 0},
      {"GPUs per task",
       [](auto& s) { s.tasks = 8, s.gres = {{"gpu", "", 2, Per::Task}}, s.memory_per_node_mib = 1; },
       {8, 1000, 3},
       1},
      {"GPUs per job",
       [](auto& s) { s.gres = {{"gpu", "", 9, Per::Job}}, s.memory_per_node_mib = 1; },
       {8, 1000, 1},
       1},
      {"no GPU for the job",
       [](auto& s) { s.gres = {{"gpu", "", 9, Per::Job}}, s.memory_per_node_mib = 1; },
       {8, 1000, 0},
       0},
      {"exclusive", [](auto& s) { s.exclusive = model::Exclusive::Node, s.memory_per_node_mib = 1; }, {8, 500, 4}, 1},
      {"not alone", [](auto& s) { s.exclusive = model::Exclusive::Node, s.memory_per_node_mib = 1; }, {6, 500, 4}, 0},
      {"not all GPUs",
       [](auto& s) { s.exclusive = model::Exclusive::Node, s.memory_per_node_mib = 1; },
       {8, 500, 3},
       0},
  };
  for (const auto& row : rows) {
    model::JobSpec spec;
    row.edit(spec);
    const auto request = make_request(one.view, capacity.columns(), spec, 0, {});
    ASSERT_TRUE(request) << row.what;
    EXPECT_EQ(tasks_that_fit(*request, capacity, 0, widen(row.row).data()), row.tasks) << row.what;
  }
}

TEST(Feasibility, WhatAShareTakes) {
  using Per = model::GresRequest::Per;
  OneNode one;
  const Capacity capacity(one.view);
  const struct {
    const char* what;
    std::function<void(model::JobSpec&)> edit;
    Share share;
    std::vector<Amount> take;
  } rows[] = {
      {"a core", [](auto& s) { s.memory_per_cpu_mib = 10; }, {0, 1, {}}, {2, 20, 0}},
      {"three tasks", [](auto& s) { s.tasks = 3, s.memory_per_node_mib = 7; }, {0, 3, {}}, {4, 7, 0}},
      {"a node without tasks",
       [](auto& s) { s.tasks = 1, s.cpus_per_task = 4, s.memory_per_node_mib = 7; },
       {0, 0, {}},
       {4, 7, 0}},
      {"all of it",
       [](auto& s) { s.exclusive = model::Exclusive::Node, s.memory_per_node_mib = 7; },
       {0, 1, {}},
       {8, 7, 4}},
      {"all memory", [](auto&) {}, {0, 1, {}}, {2, 1000, 0}},
      {"GPUs per task",
       [](auto& s) { s.tasks = 2, s.gres = {{"gpu", "", 2, Per::Task}}, s.memory_per_node_mib = 7; },
       {0, 2, {}},
       {2, 7, 4}},
      {"GPUs of the job",
       [](auto& s) { s.gres = {{"gpu", "", 8, Per::Job}}, s.memory_per_node_mib = 7; },
       {0, 1, {3}},
       {2, 7, 3}},
  };
  for (const auto& row : rows) {
    model::JobSpec spec;
    row.edit(spec);
    const auto request = make_request(one.view, capacity.columns(), spec, 0, {});
    ASSERT_TRUE(request) << row.what;
    std::vector<Amount> take(capacity.width());
    take_of_share(*request, capacity, row.share, kAllRails, capacity.free(0), take.data());
    EXPECT_EQ(take, widen(row.take)) << row.what;
  }
}

TEST(Feasibility, NodesAllowed) {
  OneNode one;
  const Capacity capacity(one.view);
  const auto allowed = [&](const std::function<void(model::JobSpec&)>& edit) {
    model::JobSpec spec;
    edit(spec);
    return node_allowed(*make_request(one.view, capacity.columns(), spec, 0, {}), capacity, 0);
  };
  EXPECT_TRUE(allowed([](auto& s) { s.features = "red|blue"; }));
  EXPECT_FALSE(allowed([](auto& s) { s.features = "red&blue"; }));
  EXPECT_TRUE(allowed([](auto& s) { s.tmp_disk_mib = 100; }));
  EXPECT_FALSE(allowed([](auto& s) { s.tmp_disk_mib = 101; }));
}

}  // namespace
}  // namespace spur::sched
