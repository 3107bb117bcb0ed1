// SPDX-License-Identifier: Apache-2.0
#include "sched/capacity.h"

#include <gtest/gtest.h>

#include "sched/feasibility.h"
#include "sched/grants.h"
#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

TEST(Capacity, CoresGoWhole) {
  const struct {
    std::uint32_t cpus, cores, threads;
    bool whole;
    std::uint64_t used;
    Amount unit, free;
  } rows[] = {
      {8, 4, 2, true, 0b0, 2, 8},         {8, 4, 2, true, 0b1, 2, 6}, {8, 4, 2, true, 0b10'01'01, 2, 2},
      {8, 4, 2, false, 0b10'01'01, 1, 5}, {4, 4, 2, true, 0b1, 1, 3},  // declared by cores: a CPU is a core
      {8, 8, 1, true, 0b11, 1, 6},        {7, 1, 2, true, 0b1, 1, 6},  // does not divide
  };
  for (const auto& row : rows) {
    TestCluster cluster;
    cluster.config->cores_whole = row.whole;
    auto& node = cluster.add_node("n1", row.cpus);
    node.hardware.sockets = 1;
    node.hardware.cores_per_socket = row.cores;
    node.hardware.threads_per_core = row.threads;
    node.cpus_in_use = {row.used};
    cluster.add_partition("p");
    const Capacity capacity(cluster.view());
    EXPECT_EQ(capacity.unit(0), row.unit) << row.cpus << '/' << row.threads;
    EXPECT_EQ(capacity.free(0)[Columns::kCpu], row.free) << row.cpus << '/' << row.threads;
    EXPECT_EQ(capacity.total(0)[Columns::kCpu], row.cpus);
  }
}

TEST(Capacity, MemoryOnlyWhereItIsHandedOut) {
  TestCluster cluster;
  cluster.add_node("n1", 1, 1000).memory_allocated_mib = 300;
  cluster.add_partition("p");
  EXPECT_EQ(Capacity(cluster.view()).free(0)[Columns::kMemory], 1000);
  cluster.config->memory_as = model::MemoryAs::Consumable;
  EXPECT_EQ(Capacity(cluster.view()).free(0)[Columns::kMemory], 700);
}

TEST(Capacity, DevicesAreNumberedThroughTheTypes) {
  TestCluster cluster;
  auto& node = cluster.add_node("n1", 4);
  node.hardware.gres = {{"gpu", "b", 2, ""}, {"nic", "", 1, ""}, {"gpu", "a", 3, ""}};
  node.devices_in_use = {{"gpu", {0b01001}}};  // one b, one a
  cluster.add_partition("p");
  const model::View view = cluster.view();
  Capacity capacity(view);
  const auto& columns = capacity.columns();
  const auto a = columns.gres_column("gpu", "a"), b = columns.gres_column("gpu", "b"),
             nic = columns.gres_column("nic", "");
  EXPECT_EQ(columns.gres_column("gpu", "c"), 0u);
  EXPECT_EQ(capacity.total(0)[a], 3);
  EXPECT_EQ(capacity.free(0)[a], 2);
  EXPECT_EQ(capacity.free(0)[b], 1);
  EXPECT_EQ(capacity.free(0)[nic], 1);

  // The numbers that are handed out: lowest free of each type.
  Grants grants(capacity);
  std::vector<Amount> take(capacity.width());
  take[Columns::kCpu] = 2;
  take[a] = 2;
  take[b] = 1;
  const auto grant = grants.grant({0, 1, {}}, take.data());
  EXPECT_EQ(grant.cpus, (std::vector<std::uint16_t>{0, 1}));
  ASSERT_EQ(grant.devices.size(), 2u);
  EXPECT_EQ(grant.devices[0], (model::DeviceGrant{"gpu", "a", {2, 4}}));
  EXPECT_EQ(grant.devices[1], (model::DeviceGrant{"gpu", "b", {1}}));
}

TEST(Capacity, HugeCountsAreCut) {
  TestCluster cluster;
  cluster.add_node("n1", 1).hardware.gres = {{"bandwidth", "", 1ull << 40, ""}};
  cluster.add_partition("p");
  const model::View view = cluster.view();
  const Capacity capacity(view);
  EXPECT_EQ(capacity.total(0)[Columns::kFirstGres], static_cast<Amount>(kMaxDevices));
}

TEST(Capacity, KindsOfNodes) {
  TestCluster cluster;
  cluster.add_nodes(3, 4);
  cluster.node(1).active_features = {"x"};
  cluster.add_partition("p");
  const model::View view = cluster.view();
  const Capacity capacity(view);
  EXPECT_EQ(capacity.kinds(), 2u);
  EXPECT_EQ(capacity.kind(0), capacity.kind(2));
  EXPECT_NE(capacity.kind(0), capacity.kind(1));
}

TEST(Capacity, CpusOfOnePartition) {
  TestCluster cluster;
  cluster.add_nodes(1, 8);
  cluster.add_partition("p").max_cpus_per_node = 4;
  cluster.add_partition("q");
  auto spec = wants_tasks(1, 10);
  spec.cpus_per_task = 3;
  cluster.submit(spec);
  cluster.carry_out(plan(cluster.view(), {}, at_minute(0)), at_minute(0));
  const model::View view = cluster.view();
  const Capacity capacity(view);
  EXPECT_EQ(capacity.free(0)[capacity.columns().partition_limit(0)], 1);
  EXPECT_EQ(capacity.columns().partition_limit(1), 0u);
}

}  // namespace
}  // namespace spur::sched
