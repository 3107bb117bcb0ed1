// SPDX-License-Identifier: Apache-2.0
// The profile as seen by jobs that run in a reservation; and nodes of which only a part is reserved, for everybody.
// What a reservation closes to others is what its own jobs leave of it, so that nothing is counted twice; what is
// open to its jobs is what they leave of it, too. Both are worked out moment by moment.
#include <algorithm>
#include <limits>
#include <optional>

#include "sched/profile.h"
#include "sched/reservations.h"

namespace spur::sched {

void Profile::enter(const model::Reservation* reservation) {
  entry_ = reservation;
  confined_ = Reservations::confined(reservation);
  entry_timelines_.clear();
  entry_licenses_ = {};
}

bool Profile::lets_use(NodeNumber n) const {
  return !confined_ || Reservations::reserved_part(entry_, NodeIndex(n)) != nullptr;
}

bool Profile::keeps_out(const Hold& closure) const {
  const model::Reservation* by = model::find_reservation(view_, closure.reservation);
  return !by || Reservations::matters(*by, entry_);
}

// What is left of a reservation's part of the node, whatever else happens there.
Timeline Profile::left_of_part(NodeNumber node, const HeldNode& held, const Hold& closure, std::vector<Amount> part) {
  const std::string& name = closure.reservation;
  Timeline left(capacity_.width(), part.data(), now_);
  std::optional<LastLeavers> last;
  capacity_.for_each_job_on(view_, node, [&](const model::Job& job, const model::NodeGrant& grant) {
    if (job.allocation->reservation != name) return;
    std::vector<Amount> row(capacity_.width());
    if (job.flags & model::kSharesCores) {
      if (!last) last.emplace(view_, capacity_, node);
      capacity_.row_of(job, grant, last->cpus_of(job, grant), row);
    } else {
      capacity_.row_of(job, grant, row);
    }
    left.take(now_, not_before_soon(raw_end(job), now_), row.data());
  });
  for (const ReservedStart& start : reserved_starts_)
    if (start.node == node && start.reservation == name) left.take(start.use.from, start.use.to, start.use.row.data());
  for (const auto& [hold, share] : held.holds)
    if (!hold->closes && hold != lifted_ && hold->reservation == name)
      left.take(std::max(hold->start, now_), hold->end, &hold->rows[share * capacity_.width()]);
  return left;
}

Timeline Profile::part_by_part(NodeNumber node, const HeldNode& held) {
  const std::size_t width = capacity_.width();
  Timeline timeline = steps_of(node);
  std::vector<Amount> row(width);
  for (const auto& [hold, share] : held.holds) {
    const Amount* amounts = &hold->rows[share * width];
    const Time from = std::max(hold->start, now_);
    if (!hold->closes) {
      if (hold != lifted_) timeline.take(from, hold->end, amounts);
      continue;
    }
    if (!keeps_out(*hold)) continue;
    const Timeline left = left_of_part(node, held, *hold, {amounts, amounts + width});
    for (std::size_t step = 0; step < left.steps(); ++step) {
      const Time end = step + 1 < left.steps() ? left.begin_of(step + 1) : Time::max();
      for (std::size_t c = 0; c < width; ++c) row[c] = std::max<Amount>(0, left.row(step)[c]);
      timeline.take(std::max(from, left.begin_of(step)), std::min(hold->end, end), row.data());
    }
  }
  if (confined_) confine(node, held, timeline);
  return timeline;
}

// A job in a reservation gets no more CPUs, or devices of a kind, than the reservation has of the node.
void Profile::confine(NodeNumber node, const HeldNode& held, Timeline& timeline) {
  const model::ReservedNode* reserved = Reservations::reserved_part(entry_, NodeIndex(node));
  if (!reserved || reserved->whole()) return;
  const auto own = std::ranges::find_if(
      held.holds, [&](const auto& one) { return one.first->closes && one.first->reservation == entry_->name; });
  if (own == held.holds.end()) return;
  const std::size_t width = capacity_.width();
  const NodeLayout& layout = capacity_.layout(node);
  std::vector<Amount> part(width, std::numeric_limits<Amount>::max() / 2);
  const Amount* amounts = &own->first->rows[own->second * width];
  const auto limit = [&](std::size_t column) { part[column] = amounts[column]; };
  if (!reserved->cores.empty()) {
    limit(Columns::kCpu);
    for (std::uint32_t s = 0; layout.first_socket && s < layout.sockets; ++s) limit(layout.first_socket + s);
  }
  for (const auto& devices : reserved->devices) {
    if (const DeviceGroup* group = layout.group(devices.gres))
      for (const Device& device : group->devices) limit(device.column);
    for (const CountedGres& counted : layout.counted)
      if (counted.name == devices.gres) limit(counted.column);
  }
  const Timeline left = left_of_part(node, held, *own->first, std::move(part));
  for (std::size_t step = 0; step < left.steps(); ++step)
    timeline.lower(left.begin_of(step), step + 1 < left.steps() ? left.begin_of(step + 1) : Time::max(),
                   left.row(step));
}

}  // namespace spur::sched
