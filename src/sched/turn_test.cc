// SPDX-License-Identifier: Apache-2.0
#include "sched/turn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

TEST(Turn, OrderOfTheQueue) {
  const std::int64_t early = 1, late = 2;
  std::vector<Position> queue{
      {1, 5, early, JobId(1), 0}, {1, 9, early, JobId(5), 0}, {1, 9, late, JobId(2), 0},
      {1, 9, late, JobId(3), 1},  {1, 9, late, JobId(3), 0},  {2, 1, early, JobId(4), 0},
  };
  std::ranges::sort(queue, [](const Position& a, const Position& b) { return a < b; });
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  for (const auto& entry : queue) order.emplace_back(entry.job.value, entry.nth);
  EXPECT_EQ(order,
            (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{4, 0}, {5, 0}, {2, 0}, {3, 0}, {3, 1}, {1, 0}}));
}

TEST(Turn, InsideAGroupTheOrderStaysWhateverTheTime) {
  TestCluster cluster;
  cluster.config->age_weight = 1000;
  cluster.config->age_full = hours(10);
  cluster.add_node("n1", 4);
  cluster.add_partition("all");
  for (int i = 0; i < 5; ++i) cluster.submit({}, at_minute(i * 37 % 5 * 100));
  const model::View view = cluster.view();
  const PriorityScale scale(view);
  Turns turns;
  const auto points = standing_of(cluster.job(1), view, scale).points;
  ASSERT_EQ(points.size(), 1u);
  for (const auto& [id, job] : cluster.jobs()) {
    const Standing standing = standing_of(*job, view, scale);
    EXPECT_EQ(standing.points, points);
    turns.insert({standing.order, id, id.value});
  }
  for (const int minute : {400, 500, 700, 10'000}) {
    std::optional<Position> last;
    for (const Turn& turn : turns) {
      const Position here{1, scale.priority({points[0], turn.order}, at_minute(minute)), turn.order, turn.job, 0};
      EXPECT_TRUE(!last || *last < here) << minute;
      last = here;
    }
  }
  cluster.config->age_weight = 0;  // then only ids count
  const model::View ageless = cluster.view();
  const PriorityScale flat(ageless);
  EXPECT_EQ(standing_of(cluster.job(1), ageless, flat).order, standing_of(cluster.job(2), ageless, flat).order);
}

TEST(Turn, WhatMakesAGroup) {
  TestCluster cluster;
  cluster.add_node("n1", 4);
  cluster.add_partition("all");
  const model::View view = cluster.view();
  const PriorityScale scale(view);
  const auto priority_group = [&](const model::Job& job) { return standing_of(job, view, scale).points; };
  const auto plain = priority_group(cluster.submit({}));
  model::JobSpec spec;
  spec.nice = 5;
  EXPECT_NE(priority_group(cluster.submit(spec)), plain);
  spec.nice = 0;
  spec.priority = 5;
  const auto by_hand = priority_group(cluster.submit(spec));
  EXPECT_NE(by_hand, plain);
  spec.nice = 7;  // counts nothing then
  EXPECT_EQ(priority_group(cluster.submit(spec)), by_hand);
}

}  // namespace
}  // namespace spur::sched
