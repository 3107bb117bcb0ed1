// SPDX-License-Identifier: Apache-2.0
#include "cli/step_gres.h"

#include <gtest/gtest.h>

namespace spur::cli {
namespace {

using Per = model::GresRequest::Per;
using Wishes = std::vector<model::GresRequest>;

TEST(StepGres, OneOfSeveralNumbersOfGpusCounts) {
  JobRequest request;
  request.gpus = {{"gpu", "", 4, Per::Job}};
  request.gres = {{"craft", "", 1, Per::Node}};
  request.finish();
  EXPECT_EQ(step_gres(request), (Wishes{{"craft", "", 1, Per::Node}, {"gpu", "", 4, Per::Job}}));
  request.gpus_per_node = {{"gpu", "", 2, Per::Node}};
  request.finish();
  EXPECT_EQ(step_gres(request), (Wishes{{"craft", "", 1, Per::Node}, {"gpu", "", 2, Per::Node}}));
  request.gpus_per_task = {{"gpu", "a", 1, Per::Task}, {"gpu", "b", 1, Per::Task}};
  request.finish();
  EXPECT_EQ(step_gres(request),
            (Wishes{{"craft", "", 1, Per::Node}, {"gpu", "a", 1, Per::Task}, {"gpu", "b", 1, Per::Task}}));
  request.gres.push_back({"gpu", "", 2, Per::Node});
  request.finish();
  EXPECT_EQ(step_gres(request), (Wishes{{"craft", "", 1, Per::Node}, {"gpu", "", 2, Per::Node}}));
}

TEST(StepGres, TasksPerGpuBindThem) {
  JobRequest request;
  EXPECT_EQ(step_gpu_bind(request), "");
  request.spec.tasks_per_gpu = 2;
  EXPECT_EQ(step_gpu_bind(request), "single:2");
  request.gpu_bind = "none";
  EXPECT_EQ(step_gpu_bind(request), "none");
}

}  // namespace
}  // namespace spur::cli
