// SPDX-License-Identifier: Apache-2.0
// What PrologSlurmctld and EpilogSlurmctld are told of a job, in Slurm's variables. Pure; the user's name is added by
// the door.
#pragma once

#include <string>
#include <vector>

#include "model/view.h"

namespace spur::ctld {

std::vector<std::string> hook_environment(const model::View& view, const model::Job& job, bool epilog);

}  // namespace spur::ctld
