// SPDX-License-Identifier: Apache-2.0
// Which smaller or different wish would start a job sooner. Each candidate is asked about before it is named; for
// numbers the largest that helps is found by halving.
#pragma once

#include <vector>

#include "sched/explain.h"
#include "sched/question.h"

namespace spur::sched {

// Those that start it now, then the others; the cheapest first: the one that gives up the smallest part of what was
// asked for. When they start it is what the planner expects.
std::vector<Change> find_changes(Question& question, const Answer& as_it_is);

// What the planner expects gives way to what was seen.
void correct(const Seen& seen, Time* start, Certainty* certainty);

// At most `most` of them, with the starts that a play forward gives; only those that are sooner than `start` (not
// set: never).
std::vector<Change> tried_out(std::vector<Change> changes, Outlook& outlook, JobId job, Time start, Time now,
                              std::size_t most);

}  // namespace spur::sched
