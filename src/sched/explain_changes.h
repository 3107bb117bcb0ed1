// SPDX-License-Identifier: Apache-2.0
// Which smaller or different wish would start a job sooner. Each candidate is asked about before it is named; for
// numbers the largest that helps is found by halving.
#pragma once

#include <vector>

#include "sched/explain.h"
#include "sched/question.h"

namespace spur::sched {

// At most `most`, the cheapest first: the one that gives up the smallest part of what was asked for.
std::vector<Change> find_changes(Question& question, const Answer& as_it_is, std::size_t most);

}  // namespace spur::sched
