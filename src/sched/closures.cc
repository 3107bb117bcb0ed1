// SPDX-License-Identifier: Apache-2.0
#include "sched/closures.h"

#include <algorithm>

#include "sched/reservations.h"

namespace spur::sched {
namespace {

std::vector<Amount> row_of(const ClosedSpan& span, const Capacity& capacity, NodeNumber n) {
  if (span.whole()) return {capacity.total(n), capacity.total(n) + capacity.width()};
  std::vector<Amount> row(capacity.width());
  const auto& hardware = capacity.node(n).hardware;
  const std::uint32_t cores = std::max(1u, hardware.sockets * hardware.cores_per_socket);
  const std::uint32_t threads = std::max(1u, hardware.cpus / cores);
  std::vector<model::CpuNumber> cpus;
  for (const std::uint16_t core : span.cores)
    for (std::uint32_t t = 0; t < threads && core * threads + t < hardware.cpus; ++t)
      cpus.push_back(core * threads + t);
  add_cpus(capacity.layout(n), cpus, row.data());
  if (!span.devices.empty()) add_devices(capacity.layout(n), span.devices, row.data());
  return row;
}

// What has begun counts from the beginning of time: then the same closure stays the same as time goes on.
Time begin_of(Time from, Time now) {
  return from <= now ? Time{} : from;
}

}  // namespace

std::deque<Hold> closures(const model::View& view, const Capacity& capacity, Time now) {
  std::deque<Hold> holds;
  if (view.reservations->empty()) return holds;
  const Reservations reservations(view, now, reservation_horizon(now));
  for (const NodeIndex node : reservations.nodes()) {
    const NodeNumber n = node.value;
    if (n >= capacity.size()) continue;
    for (const ClosedSpan& span : reservations.closed(node, nullptr))
      if (span.to > now)
        holds.push_back({begin_of(span.from, now),
                         span.to,
                         {Share{n, 0, {}}},
                         row_of(span, capacity, n),
                         {},
                         span.by->name,
                         true});
  }
  const auto& licenses = view.config->licenses;
  for (const ClosedLicenses& span : reservations.closed_licenses(nullptr)) {
    const auto at = std::ranges::find(licenses, span.name, &model::LicenseConfig::name);
    if (at == licenses.end() || span.to <= now) continue;
    Hold hold{begin_of(span.from, now), span.to, {}, {}, std::vector<Amount>(licenses.size()), span.by->name, true};
    hold.licenses[static_cast<std::size_t>(at - licenses.begin())] = span.count;
    holds.push_back(std::move(hold));
  }
  return holds;
}

}  // namespace spur::sched
