// SPDX-License-Identifier: Apache-2.0
#include "model/job_spec.h"

#include <gtest/gtest.h>

namespace spur::model {
namespace {

TEST(JobSpec, TasksAndCpus) {
  struct Row {
    std::uint32_t nodes;
    std::optional<std::uint32_t> tasks;
    std::uint32_t per_node, per_task;
    std::optional<std::uint32_t> mincpus;
    bool overcommit;
    std::uint32_t expected_tasks, expected_cpus;
  };
  const Row rows[] = {
      {1, {}, 0, 1, {}, false, 1, 1},
      {1, 7, 0, 2, {}, false, 7, 14},
      {3, {}, 0, 1, {}, false, 3, 3},
      {3, {}, 4, 2, {}, false, 12, 24},
      {2, 1, 0, 1, {}, false, 1, 2},
      {2, {}, 0, 1, 8, false, 2, 16},
      {1, 0, 0, 0, {}, false, 1, 1},
      {2, 64, 0, 1, {}, true, 64, 2},
      {4'000'000'000u, {}, 4'000'000'000u, 1, {}, false, 0xffffffffu, 0xffffffffu},
      {1, 0xffffffffu, 0, 0xffffffffu, {}, false, 0xffffffffu, 0xffffffffu},
  };
  for (const Row& row : rows) {
    JobSpec spec;
    spec.min_nodes = row.nodes;
    spec.tasks = row.tasks;
    spec.tasks_per_node = row.per_node;
    spec.cpus_per_task = row.per_task;
    spec.min_cpus_per_node = row.mincpus;
    spec.overcommit = row.overcommit;
    EXPECT_EQ(task_count(spec), row.expected_tasks);
    EXPECT_EQ(min_cpus(spec), row.expected_cpus);
  }
}

TEST(JobSpec, DependencyText) {
  using Kind = Dependency::Kind;
  JobSpec spec;
  EXPECT_EQ(dependency_text(spec), "");
  spec.dependencies = {{Kind::AfterOk, JobId{12}, {}, false, 0}, {Kind::After, JobId{13}, {}, false, 5}};
  EXPECT_EQ(dependency_text(spec), "afterok:12,after:13+5");
  spec.dependencies_any = true;
  EXPECT_EQ(dependency_text(spec), "afterok:12?after:13+5");
  spec.dependencies = {{Kind::AfterCorr, JobId{7}, {}, true, 0},
                       {Kind::AfterAny, JobId{7}, 4, false, 0},
                       {Kind::Singleton, {}, {}, false, 0},
                       {Kind::AfterNotOk, JobId{1}, {}, false, 0},
                       {Kind::AfterBurstBuffer, JobId{2}, {}, false, 0},
                       {Kind::Expand, JobId{3}, {}, false, 0}};
  spec.dependencies_any = false;
  EXPECT_EQ(dependency_text(spec), "aftercorr:7_*,afterany:7_4,singleton,afternotok:1,afterburstbuffer:2,expand:3");
}

}  // namespace
}  // namespace spur::model
