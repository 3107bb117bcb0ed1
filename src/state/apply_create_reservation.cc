// SPDX-License-Identifier: Apache-2.0
// CreateReservation. A reservation that starts now begins in the same breath, so that nobody sees it waiting.
#include <fmt/format.h>

#include "state/apply.h"
#include "state/reservations.h"

namespace spur::state {

Outcome Applier::apply(const CreateReservation& command) {
  model::Reservation reservation = command.reservation;
  if (reservation.name.empty()) reservation.name = made_up_name(view, reservation);
  if (model::find_reservation(view, reservation.name))
    return refused(ErrorCode::ReservationNameTaken, fmt::format("there is a reservation {}", reservation.name));
  reservation.active = false;
  reservation.idle_since = {};
  if (auto ok = check_reservation(reservation); !ok) return refused(ok.error());
  Outcome outcome;
  outcome.name = reservation.name;
  put_reservation(std::move(reservation));
  (void)apply(ReservationsDue{});
  return outcome;
}

}  // namespace spur::state
