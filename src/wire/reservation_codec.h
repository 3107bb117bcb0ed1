// SPDX-License-Identifier: Apache-2.0
// Reservations, QOS and shares as messages.
#pragma once

#include "base/result.h"
#include "model/fair_share.h"
#include "model/qos.h"
#include "model/reservation.h"
#include "model/reservation_change.h"

namespace spur::v1 {
class FairShare;
class Qos;
class Reservation;
class ReservationChange;
class TresCount;
}  // namespace spur::v1

namespace spur::wire {

void to_proto(const model::TresCount& from, v1::TresCount* to);
Status from_proto(const v1::TresCount& from, model::TresCount* to);
void to_proto(const model::Reservation& from, v1::Reservation* to);
Status from_proto(const v1::Reservation& from, model::Reservation* to);
void to_proto(const model::ReservationChange& from, v1::ReservationChange* to);
Status from_proto(const v1::ReservationChange& from, model::ReservationChange* to);
void to_proto(const model::Qos& from, v1::Qos* to);
Status from_proto(const v1::Qos& from, model::Qos* to);
void to_proto(const model::FairShare& from, v1::FairShare* to);
Status from_proto(const v1::FairShare& from, model::FairShare* to);

}  // namespace spur::wire
