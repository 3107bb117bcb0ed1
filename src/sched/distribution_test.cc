// SPDX-License-Identifier: Apache-2.0
// Which CPUs a job gets by -m and -S: the rows are what Slurm 22.05 gave on the same nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "model/distribution.h"
#include "sched/plan.h"
#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

struct Shape {
  std::uint32_t sockets, cores, threads;
};

struct Row {
  std::uint32_t tasks, cpus_per_task;
  const char* how;  // -m
  const char* cpus;
};

void shape(model::Node& node, Shape shape) {
  node.hardware.sockets = shape.sockets;
  node.hardware.cores_per_socket = shape.cores;
  node.hardware.threads_per_core = shape.threads;
}

// "n1:0,4 n2:0", with "-7" for a CPU that is kept and "t1" for a task's number where it is told.
std::string granted(const Plan& made) {
  if (made.starts.empty()) return "waits";
  std::string out;
  for (const auto& grant : made.starts.back().allocation->nodes) {
    out += fmt::format("{}n{}:{}", out.empty() ? "" : " ", grant.node.value + 1, fmt::join(grant.cpus, ","));
    for (const auto cpu : grant.kept_cpus) out += fmt::format(" -{}", cpu);
    for (const auto task : grant.task_ids) out += fmt::format(" t{}", task);
  }
  return out;
}

// `used`: CPUs that a job has already, all of one socket after the other.
void expect_cpus(Shape node, std::uint32_t used, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    TestCluster cluster;
    shape(cluster.add_node("n1", node.sockets * node.cores * node.threads), node);
    cluster.add_partition("p");
    if (used > 0) {
      auto spec = wants_tasks(used, 10);
      spec.distribution = *model::parse_distribution("*:block", {});
      cluster.submit(spec);
      cluster.carry_out(plan(cluster.view(), {}, at_minute(0)), at_minute(0));
    }
    auto spec = wants_tasks(row.tasks, 10);
    spec.cpus_per_task = row.cpus_per_task;
    spec.distribution = *model::parse_distribution(row.how, {});
    cluster.submit(spec);
    EXPECT_EQ(granted(plan(cluster.view(), {}, at_minute(0))), fmt::format("n1:{}", row.cpus))
        << row.tasks << " x " << row.cpus_per_task << " " << row.how;
  }
}

TEST(Distribution, CpusOverSockets) {
  expect_cpus({2, 4, 1}, 0,
              {{4, 1, "*", "0,1,4,5"},
               {4, 1, "block:cyclic", "0,1,4,5"},
               {4, 1, "block:fcyclic", "0,1,4,5"},
               {4, 1, "block:block", "0,1,2,3"},
               {4, 1, "plane=2", "0,1,2,3"},
               {5, 1, "cyclic:cyclic", "0,1,2,4,5"},
               {2, 2, "*", "0,1,2,3"},
               {3, 2, "*", "0,1,2,3,4,5"},
               {1, 5, "*", "0,1,2,4,5"},
               {6, 1, "*:block", "0,1,2,3,4,5"}});
  expect_cpus({4, 4, 1}, 0,
              {{3, 1, "*:fcyclic", "0,4,8"},
               {1, 5, "*", "0,1,4,8,12"},
               {4, 2, "*", "0,1,2,3,4,5,6,7"},
               {10, 1, "*", "0,1,2,4,5,6,8,9,12,13"}});
  expect_cpus({2, 4, 2}, 0, {{3, 1, "*:fcyclic", "0,1,8,9"}, {1, 5, "*", "0,1,2,3,4,5"}});
  // Three CPUs of the first socket are in use.
  expect_cpus({4, 4, 1}, 3,
              {{3, 2, "*", "4,5,6,7,8,9"},
               {1, 5, "*", "3,4,5,8,12"},
               {3, 1, "*:fcyclic", "3,4,8"},
               {6, 1, "*:block", "4,5,6,7,8,9"},
               {10, 1, "*", "3,4,5,6,8,9,10,12,13,14"}});
}

TEST(Distribution, SitesMayPreferOneSocket) {
  TestCluster cluster;
  cluster.config->block_sockets = true;
  shape(cluster.add_node("n1", 8), {2, 4, 1});
  cluster.add_partition("p");
  cluster.submit(wants_tasks(3, 10));
  EXPECT_EQ(granted(plan(cluster.view(), {}, at_minute(0))), "n1:0,1,2");
}

TEST(Distribution, TasksWhereTheListSays) {
  const auto starts = [](std::uint32_t tasks, const char* nodes) {
    TestCluster cluster;
    cluster.add_nodes(3, 4);
    cluster.add_partition("p");
    auto spec = wants_tasks(tasks, 10);
    spec.distribution.nodes = model::Distribution::Nodes::Arbitrary;
    spec.required_nodes = nodes;
    cluster.submit(spec);
    return granted(plan(cluster.view(), {}, at_minute(0)));
  };
  EXPECT_EQ(starts(4, "n3,n1,n3,n2"), "n1:0 t1 n2:0 t3 n3:0,1 t0 t2");
  EXPECT_EQ(starts(4, "n2,n1"), "n1:0,1 t1 t3 n2:0,1 t0 t2");
  EXPECT_EQ(starts(5, "n1,n1,n1,n1,n1"), "waits");
  EXPECT_EQ(starts(2, "n1,n1,n2"), "waits");  // who asks so names a node that no task is for
}

TEST(Distribution, CoresForTheSystem) {
  const auto starts = [](std::uint32_t tasks, std::optional<std::uint32_t> kept, bool threads, bool allowed) {
    TestCluster cluster;
    cluster.config->jobs_use_spec_cores = allowed;
    auto& node = cluster.add_node("n1", 8);
    shape(node, {2, 2, 2});
    node.hardware.spec_cores = 1;
    cluster.add_partition("p");
    auto spec = wants_tasks(tasks, 10);
    spec.core_spec = kept;
    spec.core_spec_is_threads = threads;
    cluster.submit(spec);
    return granted(plan(cluster.view(), {}, at_minute(0)));
  };
  EXPECT_EQ(starts(1, {}, false, true), "n1:0,1");
  EXPECT_EQ(starts(1, 2, false, false), "n1:0,1");
  EXPECT_EQ(starts(1, 1, false, true), "n1:0,1,2,3,4,5");
  EXPECT_EQ(starts(4, 2, false, true), "n1:0,1,4,5 -2 -3");
  EXPECT_EQ(starts(5, 2, false, true), "waits");
  EXPECT_EQ(starts(8, 0, false, true), "n1:0,1,2,3,4,5,6,7");
  EXPECT_EQ(starts(1, 1, true, true), "n1:0,1,2,3,4,5,6,7");
  EXPECT_EQ(starts(1, 4, false, true), "waits");
}

}  // namespace
}  // namespace spur::sched
