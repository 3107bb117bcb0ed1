// SPDX-License-Identifier: Apache-2.0
// What reservations by administrators keep from jobs that are not in them, as holds of the profile. A reservation may
// be of nodes that somebody uses: such rows go below nothing, and offer nothing.
#pragma once

#include <deque>

#include "model/view.h"
#include "sched/profile.h"

namespace spur::sched {

// How far ahead dates that recur are looked at: whole days, so that it stays the same for a while.
inline Time reservation_horizon(Time now) {
  return std::chrono::floor<std::chrono::days>(now) + std::chrono::days(8);
}

std::deque<Hold> closures(const model::View& view, const Capacity& capacity, Time now);

}  // namespace spur::sched
