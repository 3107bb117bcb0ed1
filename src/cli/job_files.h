// SPDX-License-Identifier: Apache-2.0
// Where a batch job's standard streams go, as scontrol and squeue show it: patterns filled in with what is known of
// the job, relative names below its working directory.
#pragma once

#include <string>

#include "model/job.h"

namespace spur::cli {

std::string stdout_path(const model::Job& job);
std::string stderr_path(const model::Job& job);  // the output file where no other was asked for
std::string stdin_path(const model::Job& job);

}  // namespace spur::cli
