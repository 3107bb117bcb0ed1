// SPDX-License-Identifier: Apache-2.0
#include "sched/priority.h"

#include <gtest/gtest.h>

#include "sched/plan.h"
#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

TEST(Priority, OfAJob) {
  TestCluster cluster;
  cluster.config->age_weight = 1000;
  cluster.config->age_full = hours(10);
  const auto at = [&](const model::Job& job, int hour) {
    return priority_at(job, *cluster.config, at_minute(60 * hour));
  };

  const auto& plain = cluster.submit({});
  EXPECT_EQ(at(plain, 0), kBasePriority);
  EXPECT_EQ(at(plain, 1), kBasePriority + 100);
  EXPECT_EQ(at(plain, 10), kBasePriority + 1000);
  EXPECT_EQ(at(plain, 1000), kBasePriority + 1000);

  model::JobSpec nice;
  nice.nice = 30;
  EXPECT_EQ(at(cluster.submit(nice), 1), kBasePriority + 70);
  nice.nice = 2'000'000'000;
  EXPECT_EQ(at(cluster.submit(nice), 1), 1u);  // never 0: that is held
  nice.nice = -2'000'000'000;
  EXPECT_EQ(at(cluster.submit(nice), 1), 2'000'000'000 + kBasePriority + 100);

  model::JobSpec by_hand;
  by_hand.priority = 7;
  EXPECT_EQ(at(cluster.submit(by_hand), 5), 7u);

  auto& held = cluster.submit({});
  held.hold = model::Hold::User;
  EXPECT_EQ(at(held, 5), 0u);

  auto& not_yet = cluster.submit({});
  not_yet.eligible = not_yet.accrue = {};  // a dependency: it does not age
  EXPECT_EQ(at(not_yet, 5), kBasePriority);
}

TEST(Priority, LargeNumbersDoNotOverflow) {
  TestCluster cluster;
  cluster.config->age_weight = 0xffffffffu;
  cluster.config->age_full = seconds(1);
  EXPECT_EQ(priority_at(cluster.submit({}), *cluster.config, at_minute(100)), kMaxPriority);
  cluster.config->age_full = seconds(0);
  EXPECT_EQ(priority_at(cluster.submit({}), *cluster.config, at_minute(100)), kBasePriority);
}

}  // namespace
}  // namespace spur::sched
