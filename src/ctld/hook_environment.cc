// SPDX-License-Identifier: Apache-2.0
#include "ctld/hook_environment.h"

#include <fmt/format.h>

#include "text/hostlist.h"

namespace spur::ctld {

std::vector<std::string> hook_environment(const model::View& view, const model::Job& job, bool epilog) {
  std::vector<std::string> out;
  const auto set = [&out](std::string_view name, const auto& value) {
    out.push_back(fmt::format("{}={}", name, value));
  };
  const model::JobSpec& spec = *job.spec;
  set("SLURM_SCRIPT_CONTEXT", epilog ? "epilog_slurmctld" : "prolog_slurmctld");
  set("SLURM_CLUSTER_NAME", view.config->cluster_name);
  set("SLURM_JOB_ID", job.id.value);
  set("SLURM_JOBID", job.id.value);
  set("SLURM_JOB_NAME", spec.name);
  set("SLURM_JOB_UID", spec.uid.value);
  set("SLURM_JOB_GID", spec.gid.value);
  set("SLURM_JOB_ACCOUNT", spec.account);
  if (!spec.comment.empty()) set("SLURM_JOB_COMMENT", spec.comment);
  if (!spec.features.empty()) set("SLURM_JOB_CONSTRAINTS", spec.features);
  set("SLURM_RESTART_COUNT", job.restarts);
  std::string nodes = job.last_nodes;
  if (job.allocation) {
    set("SLURM_JOB_PARTITION", job.allocation->partition);
    if (nodes.empty()) {
      std::vector<std::string> names;
      for (const auto& grant : job.allocation->nodes)
        if (const auto* node = view.nodes.find(grant.node.value)) names.push_back((*node)->name);
      nodes = text::compress_hostlist(names);
    }
  }
  set("SLURM_JOB_NODELIST", nodes);
  if (job.array_job && job.array_task) {
    set("SLURM_ARRAY_JOB_ID", job.array_job.value);
    set("SLURM_ARRAY_TASK_ID", *job.array_task);
  }
  if (epilog) {
    set("SLURM_JOB_EXIT_CODE", job.exit.code << 8 | job.exit.signal);
    set("SLURM_JOB_EXIT_CODE2", fmt::format("{}:{}", job.exit.code, job.exit.signal));
    set("SLURM_JOB_DERIVED_EC", job.derived_exit.code);
  }
  return out;
}

}  // namespace spur::ctld
