// SPDX-License-Identifier: Apache-2.0
// When a request that cannot start now can start at the earliest, and where. Walks forward through the moments at which
// availability grows on any of its nodes, and asks the placement at each whether it is enough.
#pragma once

#include <optional>
#include <span>

#include "sched/profile.h"

namespace spur::sched {

// The hold to be made, starting at `from` or later; none if it cannot be done before the request's deadline. `nodes` are the
// candidates in ascending order; on them, empty, the request can run.
std::optional<Hold> earliest_start(const Request& request, std::span<const NodeNumber> nodes, const Capacity& capacity,
                                   Profile& profile, Time from);

// Whether a run that starts then is over by the request's deadline (or it has none).
bool in_time(const Request& request, Time start);

}  // namespace spur::sched
