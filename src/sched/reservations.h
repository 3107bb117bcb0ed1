// SPDX-License-Identifier: Apache-2.0
// What reservations by administrators mean for a job: in which of them it may run, and when parts of nodes and
// licenses are closed to it. The planner asks once for each class of equal jobs and clips its profile with the
// answer.
//
// A job runs in one reservation or in none ("entry" below). In one, it may use only what that has reserved, and only
// start while it lasts; a FLEX one leaves it both. Whatever other reservations hold is closed to it for the time they
// hold it, so that it must be over before they begin; a reservation with MAINT looks at no other, one with OVERLAP
// only at those with MAINT.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/view.h"

namespace spur::sched {

// From `from` until `to` these parts of a node are not there. Neither cores nor devices: all of it.
struct ClosedSpan {
  Time from, to;
  std::vector<std::uint16_t> cores;  // in the node's abstract numbering: core c is CPUs c*threads ... (c+1)*threads-1
  std::vector<model::DeviceGrant> devices;
  const model::Reservation* by = nullptr;  // lives in the view
  bool whole() const { return cores.empty() && devices.empty(); }
  friend bool operator==(const ClosedSpan& a, const ClosedSpan& b) {
    return a.from == b.from && a.to == b.to && a.cores == b.cores && a.devices == b.devices;
  }
};
struct ClosedLicenses {
  Time from, to;
  std::string name;
  std::uint32_t count = 0;
  const model::Reservation* by = nullptr;
  friend bool operator==(const ClosedLicenses& a, const ClosedLicenses& b) {
    return a.from == b.from && a.to == b.to && a.name == b.name && a.count == b.count;
  }
};
struct StartWindow {
  Time from, to;  // a job may start at `from` and must have started before `to`
  friend bool operator==(const StartWindow&, const StartWindow&) = default;
};

class Reservations {
 public:
  // Recurring reservations are looked at up to `horizon`. The view must outlive it.
  Reservations(const model::View& view, Time now, Time horizon);

  bool none() const { return view_.reservations->empty(); }

  // The reservations that a job may run in, in the order they are to be tried; null stands for none of them. A job
  // that names some may use those; another one may use magnetic ones, and does without if that is not possible
  // sooner. Empty: the job waits with `reason`.
  struct Entries {
    std::vector<const model::Reservation*> list;
    model::Reason reason = model::Reason::None;
  };
  Entries entries(const model::JobSpec& spec) const;
  // Those of them in which it may start now, and until when it must have.
  struct Open {
    const model::Reservation* entry = nullptr;
    Time until = Time::max();
  };
  std::vector<Open> open_now(const model::JobSpec& spec) const;

  // When a job may start that runs in `entry`; ascending, up to the horizon. In none: always.
  std::vector<StartWindow> windows(const model::Reservation* entry) const;
  // Whether what `other` has reserved is closed to a job that runs in `entry`.
  static bool matters(const model::Reservation& other, const model::Reservation* entry);
  // Only what the entry has reserved may be used.
  static bool confined(const model::Reservation* entry);
  // What of `node` the entry has reserved; null: nothing of it.
  static const model::ReservedNode* reserved_part(const model::Reservation* entry, NodeIndex node);

  // When parts of the node are closed to a job that runs in `entry`; ascending by `from`.
  std::vector<ClosedSpan> closed(NodeIndex node, const model::Reservation* entry) const;
  // Nodes of which closed() may say something, ascending: the others need not be asked about.
  std::vector<NodeIndex> nodes() const;
  std::vector<ClosedLicenses> closed_licenses(const model::Reservation* entry) const;

 private:
  std::vector<model::Occurrence> occurrences(const model::Reservation& reservation) const;

  const model::View& view_;
  Time now_, horizon_;
  struct OnNode {
    NodeIndex node;
    std::uint32_t reservation;  // position in the view's list
    std::uint32_t row;          // ... in its list of nodes
  };
  const std::vector<OnNode>& on_nodes() const;
  mutable std::vector<OnNode> on_nodes_;  // by node, then reservation; made when first asked for
};

// Whether jobs may come to run in a reservation that they did not name.
bool any_magnetic(const model::View& view);

// What a submit is refused for: a reservation that does not exist, or is not for this user.
Status check_reservation_access(const model::View& view, const model::JobSpec& spec);
// Also one that has begun and has not the nodes that the job names, or too few of its partitions' nodes. Of a list of reservations
// nothing is known yet.
Status check_reservation_room(const model::View& view, const model::JobSpec& spec,
                              const std::vector<const model::Partition*>& partitions);

}  // namespace spur::sched
