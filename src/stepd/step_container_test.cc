// SPDX-License-Identifier: Apache-2.0
#include "stepd/step_container.h"

#include <gtest/gtest.h>

#include "stepd/job_environment.h"

namespace spur::stepd {
namespace {

using Texts = std::vector<std::string>;

TEST(StepContainer, WhoseVariableWins) {
  Container container;
  container.env = {"PATH=/image", "KEPT=image", "NEW=image", "SLURM_JOB_ID=9", "CUDA_VISIBLE_DEVICES=all",
                   "PMI_RANK=7",  "GPU=image"};
  container.device_env = {"GPU=device"};
  model::ContainerRequest request;
  request.environment = {"KEPT", "NEW", "SET=1"};
  Texts environment{"PATH=/job", "KEPT=job", "SLURM_JOB_ID=1", "CUDA_VISIBLE_DEVICES=0", "MINE=1"};
  merge_environment(container, request, environment);
  const struct {
    const char *name, *value;
  } table[] = {
      {"PATH", "/image"}, {"KEPT", "job"}, {"NEW", "image"}, {"SLURM_JOB_ID", "1"}, {"CUDA_VISIBLE_DEVICES", "0"},
      {"GPU", "device"},  {"SET", "1"},    {"MINE", "1"}};
  for (const auto& row : table) {
    const char* value = find_entry(environment, row.name);
    ASSERT_NE(value, nullptr) << row.name;
    EXPECT_STREQ(value, row.value) << row.name;
  }
  EXPECT_EQ(find_entry(environment, "PMI_RANK"), nullptr);
  EXPECT_EQ(find_entry(environment, "HOME"), nullptr);
  request.remap_root = true;
  merge_environment(container, request, environment);
  EXPECT_STREQ(find_entry(environment, "HOME"), "/root");
}

TEST(StepContainer, EntryPointsComeFirst) {
  auto container = std::make_shared<Container>();
  container->entrypoint = {"/entry", "-x"};
  container->work_dir = "/w";
  TaskPlan task;
  task.program = "prog";
  task.arguments = {"prog", "a"};
  put_into(container, {}, task);
  EXPECT_EQ(task.program, "/entry");
  EXPECT_EQ(task.arguments, (Texts{"/entry", "-x", "prog", "a"}));
  EXPECT_EQ(task.inner_work_dir, "/w");
}

TEST(StepContainer, FindsWhatMpiServersShare) {
  EXPECT_EQ(mpi_directories({"A=/tmp/x", "PMIX_TMP=/tmp/spur-pmix.abc/deep", "PMIX_OTHER=/tmp/spur-pmix.abc", "B"}),
            Texts{"/tmp/spur-pmix.abc"});
}

}  // namespace
}  // namespace spur::stepd
