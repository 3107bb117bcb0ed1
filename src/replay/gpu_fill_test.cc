// SPDX-License-Identifier: Apache-2.0
#include "replay/gpu_fill.h"

#include <gtest/gtest.h>

#include "replay/gpu_engine.h"

namespace spur::replay {
namespace {

OpenbPod pod(std::uint32_t cpu, std::uint32_t gpus, std::uint32_t milli) {
  OpenbPod pod;
  pod.name = "p";
  pod.cpu_milli = cpu;
  pod.gpus = gpus;
  pod.gpu_milli = milli;
  return pod;
}

TEST(GpuCluster, PlacesAndTakesBack) {
  const std::vector<OpenbPod> pods = {pod(1000, 1, 600), pod(1000, 1, 400), pod(1000, 2, 1000)};
  GpuCluster cluster({{"a", 8000, 100, 2, "x"}, {"b", 8000, 100, 1, "x"}}, pods, GpuScore::Fragmentation);
  EXPECT_EQ(cluster.gpu_capacity(), 3000u);
  EXPECT_EQ(cluster.idle_gpus(), 3u);
  const auto large = cluster.shape_of(pods[0]), small = cluster.shape_of(pods[1]), pair = cluster.shape_of(pods[2]);
  EXPECT_EQ(cluster.shape_of(pod(1000, 1, 600)), large);
  // The pair of GPUs is kept for the job that needs one.
  const auto first = cluster.place(large);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->node, 1u);
  EXPECT_EQ(cluster.place(small)->node, 1u);
  EXPECT_EQ(cluster.idle_node_gpus(), 2u);
  const auto both = cluster.place(pair);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->devices, 0b11u);
  EXPECT_EQ(cluster.gpu_allocated(), 3000u);
  EXPECT_FALSE(cluster.place(small));
  cluster.remove(pair, *both);
  EXPECT_TRUE(cluster.place(large));
  EXPECT_EQ(cluster.gpu_allocated(), 1600u);
}

TEST(GpuCluster, ModelsAreKept) {
  OpenbPod wish = pod(1000, 1, 1000);
  wish.gpu_models = {"y", "z"};
  GpuCluster cluster({{"a", 8000, 100, 2, "x"}, {"b", 8000, 100, 1, "z"}}, {wish}, GpuScore::Fragmentation);
  const auto shape = cluster.shape_of(wish);
  EXPECT_EQ(cluster.place(shape)->node, 1u);
  EXPECT_FALSE(cluster.place(shape));
}

TEST(GpuFill, FillsAndTurnsAway) {
  const std::vector<OpenbNode> nodes = {{"a", 64000, 100, 8, "x"}, {"b", 64000, 100, 8, "x"}};
  const std::vector<OpenbPod> pods = {pod(1000, 1, 500), pod(1000, 1, 1000), pod(1000, 0, 0)};
  const GpuFill fill = fill_gpus(nodes, pods, {.seed = 5});
  EXPECT_DOUBLE_EQ(fill.capacity, 16);
  EXPECT_GE(fill.requested, 16 * 1.3);
  EXPECT_LT(fill.requested, 16 * 1.3 + 1);
  EXPECT_DOUBLE_EQ(fill.allocated, 16);  // halves fill up what wholes leave
  EXPECT_GT(fill.turned_away, 0u);
  // The same seed is the same story, another seed another.
  EXPECT_EQ(fill_gpus(nodes, pods, {.seed = 5}).arrived, fill.arrived);
  EXPECT_EQ(fill_gpus(nodes, {pod(1, 0, 0)}, {}).arrived, 0u);  // would never end
  EXPECT_EQ(fill_gpus({}, pods, {}).allocated_percent(), 0);
}

// The engine itself: shares fill GPUs up that are begun, whole GPUs stay for those who need several, CPUs count.
TEST(GpuFill, ThroughTheEngine) {
  const std::vector<OpenbNode> nodes = {
      {"a", 64000, 100, 8, "x"}, {"b", 64000, 100, 8, "x"}, {"c", 3000, 100, 2, "y"}};
  std::vector<OpenbPod> pods = {pod(1000, 1, 500), pod(1000, 1, 1000), pod(500, 0, 0), pod(4000, 4, 1000)};
  GpuEngine engine(nodes, pods);
  const auto first = engine.place(pods[0]), second = engine.place(pods[0]);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->node, second->node);
  EXPECT_EQ(first->devices, second->devices);
  OpenbPod picky = pods[1];
  picky.gpu_models = {"y"};
  EXPECT_EQ(engine.place(picky)->node, 2u);
  picky.cpu_milli = 3000;
  EXPECT_FALSE(engine.place(picky));

  const GpuFill fill = fill_gpus(nodes, pods, {.seed = 5, .score = GpuScore::Engine});
  EXPECT_GT(fill.allocated, 16);
  EXPECT_LE(fill.allocated, fill.capacity);
  EXPECT_EQ(fill_gpus(nodes, pods, {.seed = 5, .score = GpuScore::Engine}).allocated, fill.allocated);
}

}  // namespace
}  // namespace spur::replay
