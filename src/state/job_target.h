// SPDX-License-Identifier: Apache-2.0
// Which records of jobs a target means.
#pragma once

#include "model/job.h"
#include "state/command.h"

namespace spur::state {

// A job, all of an array or of a heterogeneous job, or some of their tasks or components.
bool means(const JobTarget& target, const model::Job& job);

}  // namespace spur::state
