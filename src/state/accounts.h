// SPDX-License-Identifier: Apache-2.0
// Inside of state/: usage of associations and QOS in snapshots, and whether the tallies are what the jobs add up to.
#pragma once

#include <vector>

#include "base/result.h"
#include "model/view.h"

namespace spur::state {

std::vector<model::PastUsage> usages(const model::View& view);
// Fills the past of the tallies; what is of an association, a QOS or a resource that is no more is forgotten.
Status load_usages(const std::vector<model::PastUsage>& usages, model::View& view);
Status check_tallies(const model::View& view);

}  // namespace spur::state
