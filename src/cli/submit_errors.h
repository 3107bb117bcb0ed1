// SPDX-License-Identifier: Apache-2.0
// What sbatch and srun print when the controller refuses a job, and --test-only.
#pragma once

#include <string_view>
#include <vector>

#include "cli/context.h"
#include "model/job_spec.h"

namespace spur::cli {

// `failed`: "Batch job submission failed" or "Unable to allocate resources". Returns the exit status, 1.
int report_refusal(Context& context, std::string_view failed, const std::vector<model::JobSpec>& components,
                   const Error& error);

// --test-only: when and where the job would start, on stderr. Returns the exit status.
int report_forecast(Context& context, Controller& controller, const std::vector<model::JobSpec>& components);

}  // namespace spur::cli
