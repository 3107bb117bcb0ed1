// SPDX-License-Identifier: Apache-2.0
#include "sched/popular_gpus.h"

#include <gtest/gtest.h>

#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

using GresPer = model::GresRequest::Per;

TEST(PopularGpus, ShapesAndHowManyAskForThem) {
  TestCluster cluster;
  cluster.config->memory_as = model::MemoryAs::Consumable;
  cluster.add_node("n1", 8).hardware.gres = {{"gpu", "a", 2, ""}, {"shard", "", 8, ""}};
  cluster.add_partition("p");
  auto spec = wants_tasks(2, 10);
  spec.cpus_per_task = 3;
  spec.memory_per_cpu_mib = 10;
  spec.gres = {{"gpu", "", 1, GresPer::Task}};
  for (int i = 0; i < 3; ++i) cluster.submit(spec);
  spec.gres = {{"shard", "", 1, GresPer::Node}};
  cluster.submit(spec);
  spec.gres = {{"gpu", "a", 1, GresPer::Node}, {"gpu", "b", 1, GresPer::Task}};
  cluster.submit(spec);  // in two ways: not counted
  cluster.submit(wants_tasks(1, 10));
  const auto view = cluster.view();
  const Columns columns(view);
  PopularGpus popular(view, columns);
  auto shapes = popular.shapes();
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].gpus, 2u);
  EXPECT_EQ(shapes[0].cpu, 6);
  EXPECT_EQ(shapes[0].memory, 60);
  EXPECT_EQ(shapes[0].weight, 3u);
  EXPECT_EQ(shapes[1].gpus, 1u);
  EXPECT_EQ(shapes[1].share, kWholeGpu / 4);
  EXPECT_TRUE(popular.take_changed());
  EXPECT_FALSE(popular.take_changed());
  popular.count(cluster.job(4), -1);
  EXPECT_TRUE(popular.take_changed());
  EXPECT_EQ(popular.shapes().size(), 1u);
}

TEST(PopularGpus, GrowthIsWhatOthersCannotUse) {
  const std::vector<GpuShape> pairs = {{1, 0, 2, kWholeGpu, ~0ull, 1}};
  const GpuNode two{8, 0, 0, {1000, 1000}}, three{8, 0, 0, {1000, 1000, 1000}}, few_cpus{1, 0, 0, {1000, 1000}};
  const auto one_gpu = GpuPart{1, 0, 1, {}};
  // The single one of three is of no use to a pair anyway.
  EXPECT_LT(growth(three, one_gpu, pairs), growth(two, one_gpu, pairs));
  // A job without GPUs that takes the last CPU makes both useless.
  EXPECT_EQ(growth(few_cpus, {1, 0, 0, {}}, pairs), 2000);
  EXPECT_EQ(growth(two, {1, 0, 0, {}}, pairs), 0);
}

}  // namespace
}  // namespace spur::sched
