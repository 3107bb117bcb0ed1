// SPDX-License-Identifier: Apache-2.0
// Running jobs that must end because minutes are used up: those of their group (GrpTRESMins, GrpWall of an association
// or a QOS), or their own (MaxTRESMins). Groups are looked at first; jobs only if there is one that is through.
#pragma once

#include <vector>

#include "model/view.h"

namespace spur::model {

std::vector<JobId> jobs_out_of_minutes(const View& view, Time now);  // ascending

}  // namespace spur::model
