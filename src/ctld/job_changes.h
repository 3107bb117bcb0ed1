// SPDX-License-Identifier: Apache-2.0
// What an update changed of a job, as users name it: "TimeLimit 60 -> 90, Partition cpu -> gpu". One table.
#pragma once

#include <string>

#include "model/job.h"

namespace spur::ctld {

// Empty: nothing that shows.
std::string changes_of(const model::Job& before, const model::Job& after);

}  // namespace spur::ctld
