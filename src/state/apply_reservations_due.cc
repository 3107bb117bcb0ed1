// SPDX-License-Identifier: Apache-2.0
// ReservationsDue: what time does to reservations, as in the drawing in model/reservation.h. The leader sends it when
// reservations_due() says so; sent at any other time it changes nothing.
#include "state/apply.h"
#include "state/reservations.h"

namespace spur::state {

using model::Reservation;

// Ends the present occurrence if its time has come; false: it goes on.
bool Applier::end_occurrence(Reservation r, std::vector<JobId>& ended_jobs) {
  const bool over = r.end <= now;
  const bool idle_for_long = r.active && r.has(model::kResvPurgeComp) && r.idle_since + r.purge_after <= now;
  if (!over && !idle_for_long) return false;
  const ReservationJobs jobs = jobs_of(r);
  if (!over && !(jobs.running.empty() && jobs.waiting.empty())) {
    r.idle_since = now;  // somebody waits for it, or runs: not idle
    put_reservation(std::move(r));
    return false;
  }
  if (over && !r.has(model::kResvFlex) && !jobs.running.empty()) {
    if (r.end + config().reservation_overrun > now) return false;
    for (const JobId id : jobs.running) {
      model::Job job = *model::find_job(view, id);
      end_run(job, model::JobState::Timeout, model::Reason::TimeLimit);
      ended_jobs.push_back(id);
      close(std::move(job));
    }
  }
  if (!r.has(model::kResvRecurring)) {
    erase_reservation(r.name);
    leave_reservation(r, jobs.waiting);
    return true;
  }
  const model::Occurrence next =
      over ? model::occurrence_after(r, now) : model::next_occurrence(r, model::occurrence(r, now));
  r.start = next.start;
  r.end = next.end;
  r.active = false;
  r.idle_since = {};
  put_reservation(std::move(r));
  return true;
}

Outcome Applier::apply(const ReservationsDue&) {
  Outcome outcome;
  const auto before = view.reservations;  // keeps the list alive while it changes
  bool marks = false;
  for (const Reservation& listed : *before) {
    if (listed.has(model::kResvTimeFloat)) continue;
    marks |= end_occurrence(listed, outcome.jobs);
    const Reservation* found = model::find_reservation(view, listed.name);
    if (!found || found->active || found->start > now) continue;
    Reservation begun = *found;
    begun.active = true;
    begun.idle_since = now;
    put_reservation(std::move(begun));
    marks = true;
  }
  if (marks) mark_reserved_nodes();
  return outcome;
}

}  // namespace spur::state
