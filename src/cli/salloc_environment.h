// SPDX-License-Identifier: Apache-2.0
// What a command in an allocation of salloc's reads of it.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/job_options.h"

namespace spur::cli {

// A job, or one of the components of a heterogeneous one.
struct HeldJob {
  const JobRequest& request;
  const model::Job& job;
  wire::ControllerClient::StepTicket ticket;
};
// The caller's own variables without what an outer job left behind, and those of the allocation. With several
// components theirs have names of their own (SLURM_JOB_ID_HET_GROUP_1), as in Slurm.
std::vector<std::string> allocation_environment(const Context& context, const std::vector<HeldJob>& held,
                                                std::string_view cluster);

}  // namespace spur::cli
