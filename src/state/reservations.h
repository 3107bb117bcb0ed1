// SPDX-License-Identifier: Apache-2.0
// What can be told about reservations from a view alone.
#pragma once

#include <string>
#include <vector>

#include "model/view.h"

namespace spur::state {

// ResvOverRun=UNLIMITED: jobs may stay after the end of their reservation.
inline constexpr seconds kOverrunForEver{365LL * 24 * 3600 * 100};

// When the next ReservationsDue has something to do; not set: never. May lie in the past.
Time reservations_due(const model::View& view);

// By node index: a reservation that has begun has the node, or a part of it. `maintenance`: of those for it only.
std::vector<bool> reserved_nodes(const model::View& view, bool maintenance);

// "root_1": a free name for a reservation that was given none.
std::string made_up_name(const model::View& view, const model::Reservation& reservation);

}  // namespace spur::state
