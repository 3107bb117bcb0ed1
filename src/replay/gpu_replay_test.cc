// SPDX-License-Identifier: Apache-2.0
#include "replay/gpu_replay.h"

#include <gtest/gtest.h>

#include "replay/metrics.h"

namespace spur::replay {
namespace {

OpenbPod pod(std::uint32_t gpus, std::uint32_t milli, std::int64_t created, std::int64_t length) {
  OpenbPod pod;
  pod.name = "p";
  pod.gpus = gpus;
  pod.gpu_milli = milli;
  pod.created = pod.scheduled = created;
  pod.deleted = created + length;
  return pod;
}

TEST(GpuReplay, PodsWaitForOthersToLeave) {
  const std::vector<OpenbNode> nodes = {{"a", 1000, 10, 2, "x"}};
  const std::vector<OpenbPod> pods = {pod(2, 1000, 0, 100), pod(2, 1000, 10, 100), pod(1, 500, 20, 10),
                                      pod(4, 1000, 0, 10), pod(1, 1000, 5, 0)};
  const GpuReplay run = replay_gpus(nodes, pods, GpuScore::Fragmentation);
  EXPECT_EQ(run.without_time, 1u);
  ASSERT_EQ(run.work.jobs.size(), 4u);
  const Time begin = run.work.jobs.front().submit;
  const auto start = [&](std::size_t job) { return run.outcome.jobs[job].start - begin; };
  EXPECT_EQ(run.work.jobs[1].processors, 4000u);
  EXPECT_EQ(start(0), seconds(0));
  EXPECT_FALSE(is_set(run.outcome.jobs[1].start));  // there are not as many GPUs
  EXPECT_EQ(start(2), seconds(100));
  EXPECT_EQ(start(3), seconds(200));  // came later, and the GPUs were taken at once
  const Metrics metrics = measure(run.work, run.outcome);
  EXPECT_EQ(metrics.not_started, 1u);
  EXPECT_DOUBLE_EQ(metrics.utilisation, (2000.0 * 200 + 500 * 10) / (2000 * 210));
}

TEST(GpuReplay, NothingToReplay) {
  EXPECT_TRUE(replay_gpus({}, {}, GpuScore::BestFit).work.jobs.empty());
}

}  // namespace
}  // namespace spur::replay
