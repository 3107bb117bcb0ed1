// SPDX-License-Identifier: Apache-2.0
// DeleteReservation. Slurm refuses it while a job waits for the reservation or runs in it; jobs that let go of it by
// themselves (NO_HOLD_JOBS) may wait.
#include <fmt/format.h>

#include "state/apply.h"

namespace spur::state {

Outcome Applier::apply(const DeleteReservation& command) {
  const model::Reservation* found = model::find_reservation(view, command.name);
  if (!found) return refused(ErrorCode::InvalidReservation, fmt::format("there is no reservation {}", command.name));
  const model::Reservation reservation = *found;
  const ReservationJobs jobs = jobs_of(reservation);
  if (!jobs.running.empty() || (!jobs.waiting.empty() && !reservation.has(model::kResvNoHoldJobs)))
    return refused(ErrorCode::ReservationBusy, fmt::format("{} jobs run in reservation {}, {} wait for it",
                                                           jobs.running.size(), command.name, jobs.waiting.size()));
  erase_reservation(command.name);
  leave_reservation(reservation, jobs.waiting);
  mark_reserved_nodes();
  return {};
}

}  // namespace spur::state
