// SPDX-License-Identifier: Apache-2.0
// Lines of a long queue mostly say what the one above says. What they have in common is seen at a glance, so that most
// of their texts need not be made to be found the same.
#pragma once

#include "cli/squeue_columns.h"

namespace spur::cli {

// Fields of which `line` has what `above` has; there may be more of them. Nothing, if the lines are about more than two
// jobs that differ by their numbers (tasks of arrays, components, parts of a list).
wire::JobFields fields_in_common(const JobLine& above, const JobLine& line);

// Whether the column then shows the same for both.
bool is_alike(const JobColumn& column, const wire::JobFields& in_common);

}  // namespace spur::cli
