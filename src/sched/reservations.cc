// SPDX-License-Identifier: Apache-2.0
#include "sched/reservations.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "text/hostlist.h"
#include "text/words.h"

namespace spur::sched {

using model::Occurrence;
using model::Reservation;

namespace {

bool lets_in(const Reservation& r, const model::JobSpec& spec) {
  return model::lets_in(r, spec.uid, spec.account, spec.qos);
}

}  // namespace

Reservations::Reservations(const model::View& view, Time now, Time horizon)
    : view_(view), now_(now), horizon_(horizon) {}

const std::vector<Reservations::OnNode>& Reservations::on_nodes() const {
  if (!on_nodes_.empty()) return on_nodes_;
  for (std::uint32_t i = 0; i < view_.reservations->size(); ++i)
    for (std::uint32_t row = 0; row < (*view_.reservations)[i].nodes.size(); ++row)
      on_nodes_.push_back({(*view_.reservations)[i].nodes[row].node, i, row});
  std::ranges::stable_sort(on_nodes_, {}, &OnNode::node);
  return on_nodes_;
}

std::vector<NodeIndex> Reservations::nodes() const {
  std::vector<NodeIndex> out;
  for (const OnNode& one : on_nodes())
    if (out.empty() || out.back() != one.node) out.push_back(one.node);
  return out;
}

Reservations::Entries Reservations::entries(const model::JobSpec& spec) const {
  Entries out;
  if (spec.reservation.empty()) {
    for (const Reservation& r : *view_.reservations)
      if (r.has(model::kResvMagnetic) && lets_in(r, spec)) out.list.push_back(&r);
    out.list.push_back(nullptr);
    return out;
  }
  for (const std::string_view name : text::split(spec.reservation, ','))
    if (const Reservation* r = model::find_reservation(view_, name); r && lets_in(*r, spec)) out.list.push_back(r);
  // The one that begins first is tried first.
  std::ranges::stable_sort(out.list, {}, [this](const Reservation* r) { return model::occurrence(*r, now_).start; });
  if (out.list.empty()) out.reason = model::Reason::Reservation;
  return out;
}

std::vector<Reservations::Open> Reservations::open_now(const model::JobSpec& spec) const {
  std::vector<Open> out;
  for (const Reservation* entry : entries(spec).list)
    if (const auto at = windows(entry); !at.empty() && at.front().from <= now_ && now_ < at.front().to)
      out.push_back({entry, at.front().to});
  return out;
}

std::vector<Occurrence> Reservations::occurrences(const Reservation& reservation) const {
  std::vector<Occurrence> out;
  for (Occurrence at = model::occurrence_after(reservation, now_); is_set(at.end) && at.start < horizon_;
       at = model::next_occurrence(reservation, at))
    out.push_back(at);
  return out;
}

std::vector<StartWindow> Reservations::windows(const Reservation* entry) const {
  if (!entry) return {{now_, Time::max()}};
  std::vector<StartWindow> out;
  for (const Occurrence& at : occurrences(*entry)) {
    // Nobody starts in a floating reservation: it is always still to come.
    if (entry->has(model::kResvTimeFloat)) break;
    Time from = std::max(now_, at.start);
    if (entry->has(model::kResvFlex)) from = out.empty() ? now_ : out.back().to;
    out.push_back({from, at.end});
  }
  // One that is far away has no occurrence yet, but its jobs need not wait for it.
  const Occurrence first = model::occurrence_after(*entry, now_);
  if (out.empty() && is_set(first.end) && entry->has(model::kResvFlex) && !entry->has(model::kResvTimeFloat))
    out.push_back({now_, first.end});
  return out;
}

bool Reservations::confined(const Reservation* entry) {
  return entry && !entry->has(model::kResvFlex | model::kResvAnyNodes);
}

const model::ReservedNode* Reservations::reserved_part(const Reservation* entry, NodeIndex node) {
  if (!entry) return nullptr;
  const auto at = std::ranges::lower_bound(entry->nodes, node, {}, &model::ReservedNode::node);
  return at != entry->nodes.end() && at->node == node ? &*at : nullptr;
}

bool Reservations::matters(const Reservation& other, const Reservation* entry) {
  if (&other == entry) return false;
  if (!entry) return true;
  if (entry->has(model::kResvMaint)) return false;
  return !entry->has(model::kResvOverlap) || other.has(model::kResvMaint);
}

std::vector<ClosedSpan> Reservations::closed(NodeIndex node, const Reservation* entry) const {
  std::vector<ClosedSpan> out;
  const auto [first, last] = std::ranges::equal_range(on_nodes(), node, {}, &OnNode::node);
  for (auto at = first; at != last; ++at) {
    const Reservation& r = (*view_.reservations)[at->reservation];
    if (!matters(r, entry)) continue;
    const model::ReservedNode& part = r.nodes[at->row];
    for (const Occurrence& when : occurrences(r))
      out.push_back({std::max(now_, when.start), when.end, part.cores, part.devices, &r});
  }
  std::ranges::stable_sort(out, {}, &ClosedSpan::from);
  return out;
}

std::vector<ClosedLicenses> Reservations::closed_licenses(const Reservation* entry) const {
  std::vector<ClosedLicenses> out;
  for (const Reservation& r : *view_.reservations) {
    if (r.licenses.empty() || &r == entry) continue;
    for (const Occurrence& when : occurrences(r))
      for (const model::LicenseRequest& license : r.licenses)
        out.push_back({std::max(now_, when.start), when.end, license.name, license.count, &r});
  }
  std::ranges::stable_sort(out, {}, &ClosedLicenses::from);
  return out;
}

bool any_magnetic(const model::View& view) {
  return std::ranges::any_of(*view.reservations, [](const Reservation& r) { return r.has(model::kResvMagnetic); });
}

Status check_reservation_access(const model::View& view, const model::JobSpec& spec) {
  if (spec.reservation.empty()) return {};
  for (const std::string_view name : text::split(spec.reservation, ',')) {
    const Reservation* r = model::find_reservation(view, name);
    if (!r) return fail(ErrorCode::InvalidReservation, fmt::format("there is no reservation {}", name));
    if (!lets_in(*r, spec))
      return fail(ErrorCode::ReservationDenied, fmt::format("reservation {} is not for this user and account", name));
  }
  return {};
}

Status check_reservation_room(const model::View& view, const model::JobSpec& spec,
                              const std::vector<const model::Partition*>& partitions) {
  const Reservation* r = spec.reservation.empty() ? nullptr : model::find_reservation(view, spec.reservation);
  if (!r || !r->active || r->nodes.empty() || r->has(model::kResvFlex | model::kResvAnyNodes)) return {};
  const auto index_of = [&](const std::string& name) -> std::optional<NodeIndex> {
    const model::Node* node = model::find_node(view, name);
    return node ? std::optional(node->index) : std::nullopt;
  };
  if (const auto wanted = text::expand_hostlist(spec.required_nodes))
    for (const std::string& name : *wanted)
      if (const auto node = index_of(name); node && std::ranges::find(r->nodes, *node, &model::ReservedNode::node) == r->nodes.end())
        return fail(ErrorCode::NodeConfigUnavailable, "Problem using reservation");
  std::set<NodeIndex> left;
  for (const model::ReservedNode& row : r->nodes)
    if (std::ranges::any_of(partitions, [&](const model::Partition* p) { return std::ranges::binary_search(p->nodes, row.node); }))
      left.insert(row.node);
  if (const auto excluded = text::expand_hostlist(spec.excluded_nodes))
    for (const std::string& name : *excluded)
      if (const auto node = index_of(name)) left.erase(*node);
  if (left.size() < std::max(1u, spec.min_nodes))
    return fail(ErrorCode::NodeConfigUnavailable, fmt::format("reservation {} has only {} such nodes", r->name, left.size()));
  return {};
}

}  // namespace spur::sched
