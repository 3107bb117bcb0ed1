// SPDX-License-Identifier: Apache-2.0
// Reservations as messages.
#pragma once

#include "base/result.h"
#include "model/reservation.h"
#include "model/reservation_change.h"

namespace spur::v1 {
class Reservation;
class ReservationChange;
}  // namespace spur::v1

namespace spur::wire {

void to_proto(const model::Reservation& from, v1::Reservation* to);
Status from_proto(const v1::Reservation& from, model::Reservation* to);
void to_proto(const model::ReservationChange& from, v1::ReservationChange* to);
Status from_proto(const v1::ReservationChange& from, model::ReservationChange* to);

}  // namespace spur::wire
