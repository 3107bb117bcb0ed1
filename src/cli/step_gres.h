// SPDX-License-Identifier: Apache-2.0
// What a step takes of its job's generic resources, out of srun's options and of what salloc and sbatch tell it of
// the job.
#pragma once

#include <string>
#include <vector>

#include "cli/job_options.h"

namespace spur::cli {

// Numbers of GPUs come from several options, and from variables such as SLURM_GPUS and SLURM_GPUS_PER_NODE; as
// measured with Slurm 22.05 one of them counts: --gres first, then what is said of tasks, of nodes, of sockets, of
// all.
std::vector<model::GresRequest> step_gres(const JobRequest& request);

// --gpu-bind, or what --ntasks-per-gpu means by itself: so many tasks have a GPU for themselves.
std::string step_gpu_bind(const JobRequest& request);

}  // namespace spur::cli
