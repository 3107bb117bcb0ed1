// SPDX-License-Identifier: Apache-2.0
// Tasks of an array that wait are one line of squeue, also those that have records of their own by now because they were changed,
// held or run before, as long as they have the array's name and partition.
#pragma once

#include "wire/controller_client.h"

namespace spur::cli {

// Whether some might go with others.
bool has_split_tasks(const wire::JobTable& table);

// They go with what is left of their array; its limit of tasks that run is not shown any more then, and its reasons are all of theirs.
wire::JobTable with_tasks_combined(wire::JobTable table);

}  // namespace spur::cli
