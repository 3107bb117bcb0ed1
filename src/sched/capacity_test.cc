// SPDX-License-Identifier: Apache-2.0
#include "sched/capacity.h"

#include <gtest/gtest.h>

#include <bit>

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
    node.cpus_allocated = static_cast<std::uint32_t>(std::popcount(std::uint64_t{row.used}));
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
  node.hardware.gres = {{"gpu", "b", 2, ""}, {"nic", "", 3, ""}, {"gpu", "a", 3, ""}};
  node.devices_in_use = {{"gpu", {0b01001}}, {"nic", {0b1}}};  // one b, one a, a nic
  cluster.add_partition("p");
  const model::View view = cluster.view();
  Capacity capacity(view);
  const auto& columns = capacity.columns();
  EXPECT_EQ(columns.gres_ids("gpu", "").size(), 2u);
  EXPECT_TRUE(columns.gres_ids("gpu", "c").empty());
  const auto& layout = capacity.layout(0);
  ASSERT_EQ(layout.groups.size(), 1u);
  const auto& gpus = layout.groups[0].devices;
  ASSERT_EQ(gpus.size(), 5u);
  for (std::uint32_t d = 0; d < 5; ++d) {
    EXPECT_EQ(capacity.total(0)[gpus[d].column], 1);
    EXPECT_EQ(capacity.free(0)[gpus[d].column], d == 0 || d == 3 ? 0 : 1) << d;
    EXPECT_EQ(columns.gres_type(gpus[d].gres), d < 2 ? "b" : "a");
  }
  ASSERT_EQ(layout.counted.size(), 1u);
  EXPECT_EQ(capacity.free(0)[layout.counted[0].column], 2);

  // The numbers of what is taken; of what is only counted, the lowest that are free.
  Grants grants(capacity);
  std::vector<Amount> take(capacity.width());
  take[Columns::kCpu] = 2;
  take[gpus[1].column] = take[gpus[2].column] = take[gpus[4].column] = 1;
  take[layout.counted[0].column] = 2;
  const auto grant = grants.grant({}, {0, 1, {}}, take.data());
  EXPECT_EQ(grant.cpus, (std::vector<model::CpuNumber>{0, 1}));
  ASSERT_EQ(grant.devices.size(), 3u);
  EXPECT_EQ(grant.devices[0], (model::DeviceGrant{"gpu", "a", {2, 4}}));
  EXPECT_EQ(grant.devices[1], (model::DeviceGrant{"gpu", "b", {1}}));
  EXPECT_EQ(grant.devices[2], (model::DeviceGrant{"nic", "", {1, 2}}));
}

TEST(Capacity, SharesSocketsAndWhatIsKept) {
  TestCluster cluster;
  auto& node = cluster.add_node("n1", 16);
  node.hardware.sockets = 2;
  node.hardware.cores_per_socket = 4;
  node.hardware.threads_per_core = 2;
  node.hardware.spec_cores = 3;
  node.hardware.spec_memory_mib = 100;
  node.hardware.gres = {{"gpu", "", 2, ""}, {"shard", "", 9, ""}};
  node.devices_in_use = {{"gpu", {0b10}}, {"shard", {}, {2}}};
  node.cpus_in_use = {0b1000};  // half of core 1
  cluster.add_partition("p");
  const model::View view = cluster.view();
  const Capacity capacity(view);
  const auto& layout = capacity.layout(0);
  const Amount *total = capacity.total(0), *free = capacity.free(0);
  // Kept: core 7, core 3, core 6.
  EXPECT_EQ(total[Columns::kCpu], 10);
  EXPECT_EQ(total[layout.first_socket], 6);
  EXPECT_EQ(total[layout.first_socket + 1], 4);
  EXPECT_EQ(free[Columns::kCpu], 8);
  EXPECT_EQ(free[layout.first_socket], 4);
  EXPECT_EQ(total[Columns::kMemory], 900);
  const auto& gpus = layout.groups.at(0).devices;
  EXPECT_EQ(layout.groups[0].shared_as, "shard");
  EXPECT_EQ(total[gpus[0].column], 5);
  EXPECT_EQ(total[gpus[1].column], 4);
  EXPECT_EQ(free[gpus[0].column], 3);
  EXPECT_EQ(free[gpus[1].column], 0);
}

TEST(Capacity, SocketsThatShareAWord) {
  TestCluster cluster;
  auto& node = cluster.add_node("n1", 144);
  node.hardware.sockets = 3;
  node.hardware.cores_per_socket = 48;
  node.cpus_in_use = {std::uint64_t{1} << 47 | std::uint64_t{1} << 48 | std::uint64_t{1} << 63, 1, 1};
  cluster.add_partition("p");
  const model::View view = cluster.view();
  const Capacity capacity(view);
  const std::size_t socket = capacity.layout(0).first_socket;
  EXPECT_EQ(capacity.free(0)[Columns::kCpu], 139);
  EXPECT_EQ(capacity.free(0)[socket], 47);
  EXPECT_EQ(capacity.free(0)[socket + 1], 45);
  EXPECT_EQ(capacity.free(0)[socket + 2], 47);
}

TEST(Capacity, HugeCountsAreCut) {
  TestCluster cluster;
  cluster.add_node("n1", 1).hardware.gres = {{"bandwidth", "", 1ull << 40, ""}};
  cluster.add_partition("p");
  const model::View view = cluster.view();
  const Capacity capacity(view);
  EXPECT_EQ(capacity.total(0)[capacity.layout(0).counted.at(0).column], static_cast<Amount>(kMaxDevices));
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
