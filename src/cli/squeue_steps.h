// SPDX-License-Identifier: Apache-2.0
// squeue -s: steps instead of jobs. Their columns are one table, as those of jobs are (squeue_columns.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/document.h"
#include "cli/steps.h"

namespace spur::cli {

struct StepList {
  std::vector<StepPick> picks;
  std::optional<std::string> format, long_format, sort;
  bool no_header = false, with_date = false;
};

// Complains about what is no column, and goes on without it. Returns the exit status.
int show_steps(Context& context, Controller& controller, const wire::JobFilter& filter, const StepList& list);

// The same as JSON or YAML.
int show_steps_document(Context& context, Controller& controller, const wire::JobFilter& filter,
                        const std::vector<StepPick>& picks, DocumentStyle style);

}  // namespace spur::cli
