// SPDX-License-Identifier: Apache-2.0
// The file of jobs that are over (ctld/job_completion.h): lines are put behind it, one write each.
#pragma once

#include <string>
#include <vector>

#include "io/controller_hooks.h"

namespace spur::os {

// Lines of a batch may go to several files. What is `unless_there` is looked for in what the file had before, as far back
// as 16 MiB. The first error; the lines behind it are written all the same.
Status append_completions(const std::vector<io::ControllerHooks::Completion>& lines);

}  // namespace spur::os
