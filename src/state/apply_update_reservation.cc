// SPDX-License-Identifier: Apache-2.0
// UpdateReservation: a whole new record under the old name. Whether it has begun follows from its times.
#include <fmt/format.h>

#include "state/apply.h"

namespace spur::state {

Outcome Applier::apply(const UpdateReservation& command) {
  model::Reservation reservation = command.reservation;
  const model::Reservation* old = model::find_reservation(view, reservation.name);
  if (!old)
    return refused(ErrorCode::InvalidReservation, fmt::format("there is no reservation {}", reservation.name));
  const bool skips = reservation.start > now && old->has(model::kResvRecurring) &&
                     reservation.start == model::next_occurrence(*old, {old->start, old->end}).start;
  if (old->active && reservation.start != old->start && !skips)
    return refused(ErrorCode::ReservationStarted, fmt::format("reservation {} has begun", reservation.name));
  if (auto ok = check_reservation(reservation); !ok) return refused(ok.error());
  reservation.active = old->active && !skips;
  reservation.idle_since = skips ? Time{} : old->idle_since;
  reservation.created_by = old->created_by;
  put_reservation(std::move(reservation));
  (void)apply(ReservationsDue{});
  mark_reserved_nodes();
  return {};
}

}  // namespace spur::state
