// SPDX-License-Identifier: Apache-2.0
// What reservations by administrators keep from jobs that are not in them, as holds of the profile. A reservation may
// be of nodes that somebody uses: such rows go below nothing, and offer nothing.
#pragma once

#include <deque>

#include "model/view.h"
#include "sched/profile.h"

namespace spur::sched {

// How far ahead dates that recur are looked at.
inline constexpr Duration kReservationHorizon = hours(24 * 30);

std::deque<Hold> closures(const model::View& view, const Capacity& capacity, Time now);

}  // namespace spur::sched
