// SPDX-License-Identifier: Apache-2.0
#include "sched/grants.h"

#include <algorithm>

#include "base/check.h"

namespace spur::sched {

Grants::Bits& Grants::bits_of(NodeNumber n) {
  const auto [found, added] = slot_.try_emplace(n, static_cast<std::uint32_t>(bits_.size()));
  if (!added) return bits_[found->second];
  const auto& node = capacity_.node(n);
  Bits& bits = bits_.emplace_back();
  bits.cpus = node.cpus_in_use;
  bits.cpus.resize((node.hardware.cpus + 63) / 64);
  bits.ranges = device_ranges(node, capacity_.columns());
  for (const auto& range : bits.ranges) {
    auto& used = bits.devices.emplace_back(range.count);
    for (const auto& in_use : node.devices_in_use) {
      if (in_use.gres != capacity_.columns().gres_name(range.column)) continue;
      for (std::uint32_t d = 0; d < range.count; ++d) {
        const std::size_t at = range.first + d;
        used[d] = at / 64 < in_use.bits.size() && (in_use.bits[at / 64] >> (at % 64) & 1) != 0;
      }
    }
  }
  return bits;
}

std::vector<std::uint16_t> Grants::take_cpus(Bits& bits, NodeNumber n, Amount count) const {
  const auto unit = static_cast<std::uint32_t>(capacity_.unit(n));
  const std::uint32_t cpus = capacity_.node(n).hardware.cpus;
  std::vector<std::uint16_t> taken;
  taken.reserve(static_cast<std::size_t>(count));
  for (std::uint32_t first = 0; first + unit <= cpus && static_cast<Amount>(taken.size()) < count; first += unit) {
    if (unit == 1 && first % 64 == 0 && bits.cpus[first / 64] == ~std::uint64_t{0}) {
      first += 63;  // a full word
      continue;
    }
    bool used = false;
    for (std::uint32_t cpu = first; cpu < first + unit; ++cpu) used |= (bits.cpus[cpu / 64] >> (cpu % 64) & 1) != 0;
    if (used) continue;
    for (std::uint32_t cpu = first; cpu < first + unit; ++cpu) {
      bits.cpus[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
      taken.push_back(static_cast<std::uint16_t>(cpu));
    }
  }
  SPUR_CHECK_MSG(static_cast<Amount>(taken.size()) == count, "the CPUs counted as free are free");
  return taken;
}

std::vector<model::DeviceGrant> Grants::take_devices(Bits& bits, const Amount* take) const {
  const Columns& columns = capacity_.columns();
  std::vector<model::DeviceGrant> grants;
  for (std::size_t c = Columns::kFirstGres; c < columns.gres_end(); ++c) {
    if (take[c] == 0) continue;
    model::DeviceGrant grant{columns.gres_name(c), columns.gres_type(c), {}};
    for (std::size_t r = 0; r < bits.ranges.size(); ++r) {
      if (bits.ranges[r].column != c) continue;
      for (std::uint32_t d = 0; d < bits.ranges[r].count && static_cast<Amount>(grant.indices.size()) < take[c];
           ++d) {
        if (bits.devices[r][d]) continue;
        bits.devices[r][d] = true;
        grant.indices.push_back(bits.ranges[r].first + d);
      }
    }
    SPUR_CHECK_MSG(static_cast<Amount>(grant.indices.size()) == take[c], "the devices counted as free are free");
    grants.push_back(std::move(grant));
  }
  return grants;
}

model::NodeGrant Grants::grant(const Share& share, const Amount* take) {
  Bits& bits = bits_of(share.node);
  model::NodeGrant grant;
  grant.node = NodeIndex(share.node);
  grant.tasks = share.tasks;
  grant.cpus = take_cpus(bits, share.node, take[Columns::kCpu]);
  grant.memory_mib = static_cast<std::uint64_t>(take[Columns::kMemory]);
  if (!bits.ranges.empty()) grant.devices = take_devices(bits, take);
  return grant;
}

}  // namespace spur::sched
