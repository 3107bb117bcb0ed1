// SPDX-License-Identifier: Apache-2.0
#include "sched/grants.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/check.h"

namespace spur::sched {
namespace {

using Words = std::vector<std::uint64_t>;

bool bit(const Words& words, std::size_t at) {
  return at / 64 < words.size() && (words[at / 64] >> (at % 64) & 1) != 0;
}

// The CPUs near the devices that are taken; empty: no device says, or any will do.
Words near_cpus(const NodeLayout& layout, const Amount* take) {
  Words near;
  for (const auto& group : layout.groups)
    for (const auto& device : group.devices) {
      if (take[device.column] == 0 || device.near_cpus.empty()) continue;
      near.resize(std::max(near.size(), device.near_cpus.size()));
      for (std::size_t w = 0; w < device.near_cpus.size(); ++w) near[w] |= device.near_cpus[w];
    }
  return near;
}

// Takes up to `count` CPUs of free cores in [first, last).
class CoreTaker {
 public:
  CoreTaker(Words& used, std::uint32_t unit, std::vector<model::CpuNumber>& taken)
      : used_(used), unit_(unit), taken_(taken) {}

  // Of the near ones only if `near` is given. Returns what is still missing.
  Amount take(std::uint32_t first, std::uint32_t last, Amount count, const Words* near) {
    if (unit_ == 1 && !near) return take_singles(first, last, count);
    for (; first + unit_ <= last && count > 0; first += unit_) {
      if (near && !bit(*near, first)) continue;
      bool used = false;
      for (std::uint32_t cpu = first; cpu < first + unit_; ++cpu) used |= bit(used_, cpu);
      if (used) continue;
      for (std::uint32_t cpu = first; cpu < first + unit_; ++cpu) {
        used_[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
        taken_.push_back(cpu);
      }
      count -= unit_;
    }
    return count;
  }

 private:
  // Jobs of ten thousands of CPUs are dealt out here: numbers are written without a look at the room for each.
  Amount take_singles(std::uint32_t first, std::uint32_t last, Amount count) {
    const std::size_t had = taken_.size();
    taken_.resize(had + static_cast<std::size_t>(std::clamp<Amount>(count, 0, last - first)));
    model::CpuNumber* out = taken_.data() + had;
    for (std::uint32_t w = first / 64; count > 0 && w * 64 < last; ++w) {
      std::uint64_t free = ~used_[w];
      if (w * 64 < first) free &= ~std::uint64_t{0} << (first - w * 64);
      if ((w + 1) * 64 > last) free &= ~std::uint64_t{0} >> ((w + 1) * 64 - last);
      if (free == ~std::uint64_t{0} && count >= 64) {
        used_[w] = free;
        for (std::uint32_t cpu = 0; cpu < 64; ++cpu) out[cpu] = w * 64 + cpu;
        out += 64;
        count -= 64;
        continue;
      }
      for (; free != 0 && count > 0; free &= free - 1, --count) {
        used_[w] |= free & -free;
        *out++ = w * 64 + static_cast<std::uint32_t>(std::countr_zero(free));
      }
    }
    taken_.resize(static_cast<std::size_t>(out - taken_.data()));
    return count;
  }

  Words& used_;
  std::uint32_t unit_;
  std::vector<model::CpuNumber>& taken_;
};

bool takes_shares(const Request& request, const DeviceGroup& group) {
  if (request.exclusive || group.shared_as.empty()) return false;
  for (const auto* needs : {&request.gres_per_node, &request.gres_per_task, &request.gres_per_job})
    for (const auto& need : *needs)
      if (need.shares_of == group.shared_as) return true;
  return false;
}

// One grant per type of the group, in the order of the types.
void grant_devices(const Request& request, const Columns& columns, const DeviceGroup& group, const Amount* take,
                   std::vector<model::DeviceGrant>& grants) {
  const bool shares = takes_shares(request, group);
  for (const GresId id : columns.gres_ids(group.name, {})) {
    model::DeviceGrant grant{shares ? group.shared_as : group.name, columns.gres_type(id), {}, {}};
    for (std::uint32_t d = 0; d < group.devices.size(); ++d) {
      const Device& device = group.devices[d];
      if (device.gres != id || take[device.column] == 0) continue;
      grant.indices.push_back(d);
      if (shares) grant.shares.push_back(static_cast<std::uint32_t>(take[device.column]));
    }
    if (!grant.indices.empty()) grants.push_back(std::move(grant));
  }
}

void grant_counted(const CountedGres& counted, const Columns& columns, Amount count, std::vector<bool>& used,
                   std::vector<model::DeviceGrant>& grants) {
  if (count == 0) return;
  model::DeviceGrant grant{counted.name, columns.gres_type(counted.gres), {}, {}};
  std::size_t at = 0;
  for (const auto& run : counted.runs)
    for (std::uint32_t d = 0; d < run.count; ++d, ++at) {
      if (used[at] || static_cast<Amount>(grant.indices.size()) == count) continue;
      used[at] = true;
      grant.indices.push_back(run.first + d);
    }
  SPUR_CHECK_MSG(static_cast<Amount>(grant.indices.size()) == count, "the GRES counted as free is free");
  grants.push_back(std::move(grant));
}

}  // namespace

Grants::Bits& Grants::bits_of(NodeNumber n) {
  const auto [found, added] = slot_.try_emplace(n, static_cast<std::uint32_t>(bits_.size()));
  if (!added) return bits_[found->second];
  const auto& node = capacity_.node(n);
  const auto& layout = capacity_.layout(n);
  Bits& bits = bits_.emplace_back();
  bits.cpus = node.cpus_in_use;
  bits.cpus.resize((node.hardware.cpus + 63) / 64);
  for (std::size_t w = 0; w < std::min(bits.cpus.size(), layout.reserved_cpus.size()); ++w)
    bits.cpus[w] |= layout.reserved_cpus[w];
  for (const auto& counted : layout.counted) {
    auto& used = bits.counted.emplace_back();
    const auto books = std::ranges::find(node.devices_in_use, counted.name, &model::Node::DevicesInUse::gres);
    for (const auto& run : counted.runs)
      for (std::uint32_t d = 0; d < run.count; ++d)
        used.push_back(books != node.devices_in_use.end() && bit(books->bits, run.first + d));
  }
  return bits;
}

void Grants::give_back(const model::NodeGrant& grant, Gone what) {
  Bits& bits = bits_of(grant.node.value);
  const Words& kept = capacity_.layout(grant.node.value).reserved_cpus;
  model::for_each_cpu_held(grant, [&](model::CpuNumber cpu) {
    if (!bit(kept, cpu)) bits.cpus[cpu / 64] &= ~(std::uint64_t{1} << (cpu % 64));
  });
  if (what == Gone::Cpus) return;
  const auto& counted = capacity_.layout(grant.node.value).counted;
  for (const model::DeviceGrant& devices : grant.devices)
    for (std::size_t i = 0; i < counted.size(); ++i) {
      if (counted[i].name != devices.gres) continue;
      std::size_t at = 0;
      for (const auto& run : counted[i].runs)
        for (std::uint32_t d = 0; d < run.count; ++d, ++at)
          if (std::ranges::find(devices.indices, run.first + d) != devices.indices.end()) bits.counted[i][at] = false;
    }
}

void Grants::take_cpus(const model::NodeGrant& grant) {
  Bits& bits = bits_of(grant.node.value);
  model::for_each_cpu_held(grant,
                           [&](model::CpuNumber cpu) { bits.cpus[cpu / 64] |= std::uint64_t{1} << (cpu % 64); });
}

bool Grants::is_free(NodeNumber node, model::CpuNumber cpu) {
  return !bit(bits_of(node).cpus, cpu);
}

std::vector<model::CpuNumber> Grants::take_cpus(Bits& bits, NodeNumber n, const Amount* take) const {
  const NodeLayout& layout = capacity_.layout(n);
  const std::uint32_t cpus = capacity_.node(n).hardware.cpus;
  std::vector<model::CpuNumber> taken;
  taken.reserve(static_cast<std::size_t>(take[Columns::kCpu]));
  CoreTaker cores(bits.cpus, static_cast<std::uint32_t>(layout.unit), taken);
  const Words near = layout.groups.empty() ? Words() : near_cpus(layout, take);
  const auto take_from = [&](std::uint32_t first, std::uint32_t last, Amount count) {
    if (!near.empty()) count = cores.take(first, last, count, &near);
    count = cores.take(first, last, count, nullptr);
    SPUR_CHECK_MSG(count == 0, "the CPUs counted as free are free");
  };
  if (layout.first_socket) {
    const auto each = static_cast<std::uint32_t>(layout.cpus_per_socket);
    for (std::uint32_t s = 0; s < layout.sockets; ++s)
      take_from(s * each, (s + 1) * each, take[layout.first_socket + s]);
  } else {
    take_from(0, cpus, take[Columns::kCpu]);
  }
  if (!near.empty()) std::ranges::sort(taken);
  return taken;
}

void Grants::take_node(Bits& bits, NodeNumber n, CoreSpec spec, model::NodeGrant& grant) const {
  const NodeLayout& layout = capacity_.layout(n);
  const auto& hardware = capacity_.node(n).hardware;
  const Words kept = kept_cpus(hardware, spec, layout.unit);
  for (std::uint32_t cpu = 0; cpu < hardware.cpus; ++cpu) {
    bits.cpus[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
    if (!bit(kept, cpu))
      grant.cpus.push_back(cpu);
    else if (!bit(layout.reserved_cpus, cpu))
      grant.kept_cpus.push_back(cpu);
  }
}

model::NodeGrant Grants::grant(const Request& request, const Share& share, const Amount* take) {
  Bits& bits = bits_of(share.node);
  const NodeLayout& layout = capacity_.layout(share.node);
  model::NodeGrant grant;
  grant.node = NodeIndex(share.node);
  grant.tasks = share.tasks * request.lot;
  if (request.core_spec)
    take_node(bits, share.node, *request.core_spec, grant);
  else
    grant.cpus = take_cpus(bits, share.node, take);
  grant.memory_mib = static_cast<std::uint64_t>(take[Columns::kMemory]);
  const Columns& columns = capacity_.columns();
  for (const auto& group : layout.groups) grant_devices(request, columns, group, take, grant.devices);
  for (std::size_t i = 0; i < layout.counted.size(); ++i)
    grant_counted(layout.counted[i], columns, take[layout.counted[i].column], bits.counted[i], grant.devices);
  if (grant.devices.size() > 1)
    std::ranges::sort(grant.devices, [](const model::DeviceGrant& a, const model::DeviceGrant& b) {
      return std::tie(a.gres, a.type) < std::tie(b.gres, b.type);
    });
  return grant;
}

}  // namespace spur::sched
