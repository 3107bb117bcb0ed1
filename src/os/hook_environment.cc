// SPDX-License-Identifier: Apache-2.0
#include "os/hook_environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace spur::os {

std::vector<std::string> hook_environment(const model::ControllerLaunch& launch, const Identity& user,
                                          std::string_view context, const model::ExitStatus* exit,
                                          const std::vector<std::string>& of_node) {
  std::vector<std::string> out = of_node;
  const auto set = [&out](std::string_view name, const auto& value) {
    out.push_back(fmt::format("{}={}", name, value));
  };
  const model::JobSpec& spec = *launch.spec;
  const model::LaunchPart& part = launch.parts.front();
  set("SLURM_CLUSTER_NAME", launch.cluster_name);
  set("SLURM_SCRIPT_CONTEXT", context);
  set("SLURMD_NODENAME", part.node);
  set("SLURM_JOB_ID", launch.run.job.value);
  set("SLURM_JOBID", launch.run.job.value);
  set("SLURM_JOB_UID", spec.uid.value);
  set("SLURM_UID", spec.uid.value);
  set("SLURM_JOB_GID", spec.gid.value);
  set("SLURM_JOB_USER", user.name);
  set("SLURM_JOB_PARTITION", launch.partition);
  set("SLURM_JOB_ACCOUNT", spec.account);
  set("SLURM_JOB_NAME", spec.name);
  set("SLURM_JOB_WORK_DIR", spec.work_dir);
  set("SLURM_RESTART_COUNT", launch.restarts);
  if (!spec.comment.empty()) set("SLURM_JOB_COMMENT", spec.comment);
  if (!spec.features.empty()) set("SLURM_JOB_CONSTRAINTS", spec.features);
  if (launch.array_job) set("SLURM_ARRAY_JOB_ID", launch.array_job.value);
  if (launch.array_task) set("SLURM_ARRAY_TASK_ID", *launch.array_task);
  for (const auto& grant : part.devices)
    if (grant.gres == "gpu") {
      set("SLURM_JOB_GPUS", fmt::format("{}", fmt::join(grant.indices, ",")));
      set("CUDA_VISIBLE_DEVICES", fmt::format("{}", fmt::join(grant.indices, ",")));
      break;
    }
  if (exit) {
    set("SLURM_JOB_EXIT_CODE", exit->code << 8 | exit->signal);
    set("SLURM_JOB_EXIT_CODE2", fmt::format("{}:{}", exit->code, exit->signal));
  }
  return out;
}

}  // namespace spur::os
