// SPDX-License-Identifier: Apache-2.0
// What programs on the controller's host are told of a job, in Slurm's variables: PrologSlurmctld, EpilogSlurmctld
// and MailProg. Pure; the user's name is added by the door.
#pragma once

#include <string>
#include <vector>

#include "model/view.h"

namespace spur::ctld {

// What all of them get; `ended`: also how it ended.
std::vector<std::string> job_variables(const model::View& view, const model::Job& job, bool ended);

std::vector<std::string> hook_environment(const model::View& view, const model::Job& job, bool epilog);

}  // namespace spur::ctld
