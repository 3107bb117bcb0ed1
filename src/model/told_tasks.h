// SPDX-License-Identifier: Apache-2.0
// SLURM_TASKS_PER_NODE of scripts and of commands in an allocation.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/job_spec.h"

namespace spur::model {

// Of a node with so many CPUs and tasks of the job. As measured with Slurm 22.05: where no number of tasks was asked for,
// as many as the CPUs can run.
inline std::uint32_t told_tasks(const JobSpec& spec, std::size_t cpus, std::uint32_t tasks) {
  if (spec.tasks || spec.tasks_per_node > 0) return tasks;
  return std::max(1u, static_cast<std::uint32_t>(cpus) / std::max(1u, spec.cpus_per_task));
}

}  // namespace spur::model
