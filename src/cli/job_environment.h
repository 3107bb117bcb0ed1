// SPDX-License-Identifier: Apache-2.0
// What a job takes along from the process that submits it: environment, limits, umask, host, session. Shared by
// sbatch and srun.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/job_options.h"

namespace spur::cli {

// The variables for the job after --export and --export-file, with those that describe the submission
// (SLURM_SUBMIT_DIR ...). Variables that describe a job around the submitting process are left out: they would lie
// about the new one.
OptionStatus capture_environment(Context& context, JobRequest& request);
// What a job, or the command in an allocation, is told of how its tasks lie on cores: names and values.
std::vector<std::pair<std::string, std::string>> told_of_layout(const model::JobSpec& spec);
// Limits (--propagate), umask, host, session and the command line as typed.
OptionStatus capture_process(Context& context, JobRequest& request);

// Whether Slurm or Spur sets this variable in jobs to describe the job itself.
bool describes_a_job(std::string_view name);

// 32 random hexadecimal digits: the same submission sent twice makes one job.
std::string make_token();
std::string current_directory();

}  // namespace spur::cli
