// SPDX-License-Identifier: Apache-2.0
#include "state/job_target.h"

#include <gtest/gtest.h>

namespace spur::state {
namespace {

IndexSet tasks(std::uint32_t first, std::uint32_t last) {
  IndexSet set;
  set.insert_range(first, last);
  return set;
}

TEST(JobTarget, MeansJobsArraysAndComponents) {
  model::Job plain, task, rest, component;
  plain.id = JobId(7);
  task.id = JobId(9), task.array_job = JobId(8), task.array_task = 3;
  rest.id = JobId(8), rest.array_job = JobId(8), rest.array_pending = std::make_shared<IndexSet>(tasks(5, 9));
  component.id = JobId(12), component.het_job = JobId(11), component.het_offset = 1;

  EXPECT_TRUE(means({JobId(7), std::nullopt}, plain));
  EXPECT_FALSE(means({JobId(8), std::nullopt}, plain));
  EXPECT_TRUE(means({JobId(8), std::nullopt}, task));
  EXPECT_TRUE(means({JobId(9), std::nullopt}, task));  // by its own number
  EXPECT_TRUE(means({JobId(8), std::nullopt}, rest));
  EXPECT_TRUE(means({JobId(8), tasks(3, 3)}, task));
  EXPECT_FALSE(means({JobId(8), tasks(4, 4)}, task));
  EXPECT_FALSE(means({JobId(8), tasks(3, 3)}, rest));
  EXPECT_TRUE(means({JobId(8), tasks(3, 5)}, rest));
  EXPECT_FALSE(means({JobId(7), tasks(3, 5)}, plain));
  EXPECT_TRUE(means({JobId(11), std::nullopt}, component));
  EXPECT_TRUE(means({JobId(11), std::nullopt, 1}, component));
  EXPECT_FALSE(means({JobId(11), std::nullopt, 0}, component));
  EXPECT_FALSE(means({JobId(7), std::nullopt, 0}, plain));
}

}  // namespace
}  // namespace spur::state
