// SPDX-License-Identifier: Apache-2.0
// What the commands about reservations share: the list in the view, the flags of nodes, the jobs of a reservation.
#include "state/reservations.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "state/apply.h"
#include "text/words.h"

namespace spur::state {

using model::Job;
using model::JobPtr;
using model::Reservation;

namespace {

using ReservationList = std::vector<Reservation>;

bool runs_in(const Job& job, const Reservation& reservation) {
  return model::is_active(job.state) && !(job.flags & model::kCompleting) && job.allocation &&
         job.allocation->reservation == reservation.name;
}

std::uint32_t cores_of(const model::Node& node) {
  return node.hardware.sockets * node.hardware.cores_per_socket;
}

Status check_nodes(const model::View& view, const Reservation& reservation) {
  const auto invalid = [](std::string what) { return fail(ErrorCode::InvalidNode, std::move(what)); };
  const model::ReservedNode* last = nullptr;
  for (const model::ReservedNode& row : reservation.nodes) {
    const model::NodePtr* node = view.nodes.find(row.node.value);
    if (!node) return invalid(fmt::format("there is no node {}", row.node.value));
    if (last && last->node >= row.node) return invalid("the nodes of a reservation must be in order");
    last = &row;
    for (const std::uint16_t core : row.cores)
      if (core >= std::max(1u, cores_of(**node)))
        return invalid(fmt::format("node {} has no core {}", (*node)->name, core));
  }
  return {};
}

// "root" for users=root,me; "a1" for accounts=a1.
std::string_view first_name(const Reservation& r) {
  for (const auto* list : {&r.accounts, &r.users, &r.groups, &r.qos})
    if (!list->names.empty()) return list->names.front();
  return "resv";
}

}  // namespace

std::string made_up_name(const model::View& view, const Reservation& reservation) {
  for (std::uint64_t i = 1;; ++i)
    if (std::string name = fmt::format("{}_{}", first_name(reservation), i); !model::find_reservation(view, name))
      return name;
}

Time reservations_due(const model::View& view) {
  Time due;
  const auto at = [&due](Time t) {
    if (!is_set(due) || t < due) due = t;
  };
  for (const Reservation& r : *view.reservations) {
    if (r.has(model::kResvTimeFloat)) continue;
    if (r.end <= view.as_of) {
      bool running = false;
      if (!r.has(model::kResvFlex))
        view.active.for_each([&](std::uint32_t, const JobPtr& job) { return !(running = runs_in(*job, r)); });
      const seconds overrun = view.config->reservation_overrun;
      if (!running) {
        at(r.end);
      } else if (overrun < kOverrunForEver) {
        at(r.end + overrun);
      }
      continue;
    }
    at(r.active ? r.end : r.start);
    if (r.active && r.has(model::kResvPurgeComp)) at(r.idle_since + r.purge_after);
  }
  return due;
}

std::vector<bool> reserved_nodes(const model::View& view, bool maintenance) {
  std::vector<bool> out(view.nodes.size());
  for (const Reservation& r : *view.reservations) {
    if (!r.active || (maintenance && !r.has(model::kResvMaint))) continue;
    for (const model::ReservedNode& row : r.nodes)
      if (row.node.value < out.size()) out[row.node.value] = true;
  }
  return out;
}

Status Applier::check_reservation(const Reservation& r) const {
  if (r.name.empty() || r.name.find_first_of(", \t\n") != std::string::npos)
    return fail(ErrorCode::InvalidReservation, fmt::format("'{}' is no name for a reservation", r.name));
  if (r.end <= r.start) return fail(ErrorCode::InvalidTime, "a reservation must end after it starts");
  if (r.end <= now && !r.has(model::kResvTimeFloat))
    return fail(ErrorCode::InvalidTime, "a reservation must end in the future");
  if (!r.users.names.empty() && !r.groups.names.empty())
    return fail(ErrorCode::ReservationUserGroup, "a reservation is for users or for groups, not for both");
  if (r.users.names.empty() && r.groups.names.empty() && r.accounts.names.empty() && r.qos.names.empty())
    return fail(ErrorCode::ReservationEmpty, "a reservation must be for somebody");
  if (r.nodes.empty() && !(r.has(model::kResvAnyNodes) && (!r.licenses.empty() || !r.burst_buffer.empty())))
    return fail(ErrorCode::InvalidNode, "a reservation must have nodes, or licenses and the flag ANY_NODES");
  for (const model::LicenseRequest& license : r.licenses)
    if (std::ranges::find(config().licenses, license.name, &model::LicenseConfig::name) == config().licenses.end())
      return fail(ErrorCode::InvalidLicense, fmt::format("there is no license {}", license.name));
  SPUR_TRY(check_nodes(view, r));
  if (r.has(model::kResvMaint | model::kResvOverlap)) return {};
  for (const Reservation& other : *view.reservations)
    if (other.name != r.name && model::collide(r, other, now))
      return fail(ErrorCode::ReservationOverlap, fmt::format("it overlaps with reservation {}", other.name));
  return {};
}

void Applier::put_reservation(Reservation reservation) {
  note_reservation(reservation, false);
  ReservationList list = *view.reservations;
  const auto at = std::ranges::find(list, reservation.name, &Reservation::name);
  if (at != list.end()) {
    *at = std::move(reservation);
  } else {
    list.push_back(std::move(reservation));
  }
  view.reservations = std::make_shared<const ReservationList>(std::move(list));
  cluster.changes_.reservations = true;
}

void Applier::erase_reservation(const std::string& name) {
  ReservationList list = *view.reservations;
  for (const Reservation& r : list)
    if (r.name == name) note_reservation(r, true);
  std::erase_if(list, [&](const Reservation& r) { return r.name == name; });
  view.reservations = std::make_shared<const ReservationList>(std::move(list));
  cluster.changes_.reservations = true;
}

void Applier::mark_reserved_nodes() {
  const auto reserved = reserved_nodes(view, false), maintained = reserved_nodes(view, true);
  std::vector<model::Node> changed;
  view.nodes.for_each([&](std::uint32_t at, const model::NodePtr& node) {
    const std::uint32_t wanted = (reserved[at] ? std::uint32_t{model::kNodeReserved} : 0u) |
                                 (maintained[at] ? std::uint32_t{model::kNodeMaintenance} : 0u);
    const std::uint32_t both = model::kNodeReserved | model::kNodeMaintenance;
    if ((node->flags & both) == wanted) return;
    changed.push_back(*node);
    changed.back().flags = (node->flags & ~both) | wanted;
  });
  for (model::Node& node : changed) put_node(std::move(node));
}

Applier::ReservationJobs Applier::jobs_of(const Reservation& reservation) const {
  ReservationJobs jobs;
  view.pending.for_each([&](std::uint32_t, const JobPtr& job) {
    if (!job->spec->reservation.empty() && model::names_reservation(job->spec->reservation, reservation.name))
      jobs.waiting.push_back(job->id);
  });
  view.active.for_each([&](std::uint32_t, const JobPtr& job) {
    if (runs_in(*job, reservation)) jobs.running.push_back(job->id);
  });
  return jobs;
}

void Applier::leave_reservation(const Reservation& reservation, const std::vector<JobId>& waiting) {
  for (const JobId id : waiting) {
    Job job = *model::find_job(view, id);
    auto spec = std::make_shared<model::JobSpec>(*job.spec);
    std::string left;
    for (const std::string_view name : text::split(job.spec->reservation, ','))
      if (name != reservation.name) left += (left.empty() ? "" : ",") + std::string(name);
    const bool hold = left.empty() && !reservation.has(model::kResvNoHoldJobs);
    spec->reservation = std::move(left);
    job.spec = cluster.interner_.intern(std::move(spec));
    if (hold) {
      if (job.hold == model::Hold::None) job.hold = model::Hold::User;
      job.priority = 0;
      job.flags |= model::kResvDelHold;
      job.reason = model::Reason::ReservationDeleted;
    }
    settle_pending(job);
    put(std::move(job));
  }
}

void Applier::refit_reservations(const std::vector<std::optional<NodeIndex>>* moved,
                                 std::vector<std::string>& notes) {
  ReservationList list = *view.reservations;
  for (Reservation& r : list) {
    std::vector<model::ReservedNode> nodes;
    for (model::ReservedNode& row : r.nodes) {
      if (moved && (row.node.value >= moved->size() || !(*moved)[row.node.value])) continue;
      if (moved) row.node = *(*moved)[row.node.value];
      const std::uint32_t cores = std::max(1u, cores_of(**view.nodes.find(row.node.value)));
      const bool whole = row.whole();
      std::erase_if(row.cores, [cores](std::uint16_t core) { return core >= cores; });
      if (whole || !row.whole()) nodes.push_back(std::move(row));
    }
    const std::size_t before = r.nodes.size(), left = nodes.size();
    if (left < before)
      notes.push_back(fmt::format("reservation {} loses {} of its {} nodes", r.name, before - left, before));
    const auto take_all = [&nodes](const std::vector<NodeIndex>& all) {
      nodes.clear();
      for (const NodeIndex at : all) nodes.push_back({.node = at});
    };
    // These follow their partition, or the cluster.
    const model::Partition* partition = model::find_partition(view, r.partition);
    if (r.has(model::kResvPartNodes) && partition) {
      take_all(partition->nodes);
    } else if (r.has(model::kResvAllNodes) && r.core_counts.empty()) {
      std::vector<NodeIndex> all;
      view.nodes.for_each([&](std::uint32_t at, const model::NodePtr&) { all.push_back(NodeIndex{at}); });
      take_all(all);
    }
    r.nodes = std::move(nodes);
  }
  if (list != *view.reservations) {
    view.reservations = std::make_shared<const ReservationList>(std::move(list));
    cluster.changes_.reservations = true;
  }
  mark_reserved_nodes();
}

void Applier::note_idle_reservations(const Job& job) {
  for (const Reservation& r : *view.reservations) {
    if (!r.active || !r.has(model::kResvPurgeComp) || !model::names_reservation(job.spec->reservation, r.name))
      continue;
    Reservation copy = r;
    copy.idle_since = now;
    return put_reservation(std::move(copy));  // the list has changed; a job in two such reservations is rare
  }
}

}  // namespace spur::state
