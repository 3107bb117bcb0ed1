// SPDX-License-Identifier: Apache-2.0
#include "sched/capacity.h"

#include <algorithm>
#include <bit>
#include <set>

#include "base/check.h"

namespace spur::sched {
namespace {

bool bit(const std::vector<std::uint64_t>& words, std::size_t at) {
  return at / 64 < words.size() && (words[at / 64] >> (at % 64) & 1) != 0;
}

// CPUs in cores of `unit` threads none of which is in use.
Amount free_cpus(const model::Node& node, Amount unit) {
  const auto cpus = static_cast<Amount>(node.hardware.cpus);
  Amount used_units = 0;
  if (unit == 1) {
    for (std::size_t w = 0; w < node.cpus_in_use.size(); ++w) used_units += std::popcount(node.cpus_in_use[w]);
  } else {
    for (Amount first = 0; first < cpus; first += unit) {
      bool used = false;
      for (Amount thread = 0; thread < unit; ++thread)
        used |= bit(node.cpus_in_use, static_cast<std::size_t>(first + thread));
      used_units += used;
    }
  }
  return std::max<Amount>(0, cpus - used_units * unit);
}

Amount unit_of(const model::Node& node, bool cores_whole) {
  const auto& hw = node.hardware;
  if (!cores_whole || hw.threads_per_core <= 1 || hw.cpus == 0) return 1;
  // A site may declare one CPU per core on a machine with two threads each: then a CPU is a core already.
  if (std::uint64_t{hw.sockets} * hw.cores_per_socket * hw.threads_per_core > hw.cpus) return 1;
  return hw.cpus % hw.threads_per_core == 0 ? hw.threads_per_core : 1;
}

}  // namespace

Columns::Columns(const model::View& view) {
  std::set<std::pair<std::string, std::string>> kinds;
  view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    for (const auto& gres : node->hardware.gres)
      if (!kinds.contains({gres.name, gres.type})) kinds.emplace(gres.name, gres.type);
  });
  gres_.assign(kinds.begin(), kinds.end());
  width_ = gres_end();
  for (const auto& partition : *view.partitions)
    partition_limit_.push_back(partition.config.max_cpus_per_node ? width_++ : 0);
}

std::size_t Columns::gres_column(std::string_view name, std::string_view type) const {
  for (std::size_t i = 0; i < gres_.size(); ++i)
    if (gres_[i].first == name && gres_[i].second == type) return kFirstGres + i;
  return 0;
}

std::vector<std::size_t> Columns::gres_columns(std::string_view name, std::string_view type) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < gres_.size(); ++i)
    if (gres_[i].first == name && (type.empty() || gres_[i].second == type)) found.push_back(kFirstGres + i);
  return found;
}

std::vector<DeviceRange> device_ranges(const model::Node& node, const Columns& columns) {
  std::vector<DeviceRange> ranges;
  for (const auto& gres : node.hardware.gres) {
    DeviceRange range{columns.gres_column(gres.name, gres.type), 0,
                      static_cast<std::uint32_t>(std::min(gres.count, kMaxDevices))};
    for (const auto& earlier : ranges)
      if (columns.gres_name(earlier.column) == gres.name) range.first = earlier.first + earlier.count;
    range.count = std::min(range.count, static_cast<std::uint32_t>(kMaxDevices) - range.first);
    ranges.push_back(range);
  }
  return ranges;
}

Capacity::Capacity(const model::View& view) : columns_(view) {
  memory_is_consumable_ = view.config->memory_as == model::MemoryAs::Consumable;
  for (std::size_t p = 0; p < view.partitions->size(); ++p)
    if (const auto column = columns_.partition_limit(p))
      limited_partitions_.emplace_back((*view.partitions)[p].config.name, column);
  const std::size_t count = view.nodes.size();
  nodes_.resize(count);
  usable_.resize(count);
  weight_.resize(count);
  kind_.resize(count);
  free_.resize(count * width());
  NodeNumber next = 0;
  view.nodes.for_each([&](std::uint32_t n, const model::NodePtr& node) {
    SPUR_CHECK_MSG(n == next++, "node numbers are dense");
    nodes_[n] = node.get();
    fill(view, n);
  });
}

void Capacity::refresh(const model::View& view, NodeNumber n) {
  const auto at = nodes_by_weight_.find(weight_[n]);
  if (--at->second == 0) nodes_by_weight_.erase(at);
  nodes_[n] = view.nodes.find(n)->get();
  fill(view, n);
}

void Capacity::fill(const model::View& view, NodeNumber n) {
  const model::Node& node = *nodes_[n];
  usable_[n] = node.usable();
  weight_[n] = node.weight;
  ++nodes_by_weight_[node.weight];
  Kind kind{unit_of(node, view.config->cores_whole), std::vector<Amount>(width()), node.hardware.tmp_disk_mib,
            node.active_features};
  Amount* total = kind.total.data();
  Amount* free = &free_[n * width()];

  total[Columns::kCpu] = node.hardware.cpus;
  total[Columns::kMemory] = static_cast<Amount>(node.hardware.memory_mib);
  const auto ranges = node.hardware.gres.empty() ? std::vector<DeviceRange>{} : device_ranges(node, columns_);
  for (const auto& range : ranges) total[range.column] += range.count;
  for (const auto& [name, column] : limited_partitions_)
    total[column] = *model::find_partition(view, name)->config.max_cpus_per_node;

  std::copy(total, total + width(), free);
  free[Columns::kCpu] = free_cpus(node, kind.unit);
  if (memory_is_consumable_)
    free[Columns::kMemory] =
        std::max<Amount>(0, free[Columns::kMemory] - static_cast<Amount>(node.memory_allocated_mib));
  for (const auto& range : ranges) {
    for (const auto& used : node.devices_in_use) {
      if (used.gres != columns_.gres_name(range.column)) continue;
      for (std::uint32_t d = 0; d < range.count; ++d) free[range.column] -= bit(used.bits, range.first + d);
    }
  }
  if (!limited_partitions_.empty()) {
    for_each_job_on(view, n, [&](const model::Job& job, const model::NodeGrant& grant) {
      if (is_set(job.suspended_at)) return;
      for (const auto& [name, column] : limited_partitions_)
        if (name == job.allocation->partition) free[column] -= static_cast<Amount>(grant.cpus.size());
    });
  }
  kind_[n] = kind_of(std::move(kind));
}

std::uint32_t Capacity::kind_of(Kind kind) {
  // Nodes of a kind mostly stand together.
  if (last_kind_ < kinds() && kinds_[last_kind_] == kind) return last_kind_;
  std::uint64_t hash = static_cast<std::uint64_t>(kind.unit) ^ kind.tmp_disk_mib << 8;
  for (const Amount amount : kind.total) hash = (hash ^ static_cast<std::uint64_t>(amount)) * 0x9e3779b97f4a7c15u;
  for (const auto& feature : kind.features)
    for (const char c : feature) hash = (hash ^ static_cast<unsigned char>(c)) * 0xff51afd7ed558ccdu;
  const auto [first, last] = kind_by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (kinds_[at->second] == kind) return last_kind_ = at->second;
  last_kind_ = kinds();
  kind_by_hash_.emplace(hash, last_kind_);
  kinds_.push_back(std::move(kind));
  return last_kind_;
}

const model::NodeGrant* Capacity::grant_on(const model::Job& job, NodeNumber n) {
  const auto& grants = job.allocation->nodes;
  const auto at = std::ranges::lower_bound(grants, NodeIndex(n), {}, &model::NodeGrant::node);
  return at != grants.end() && at->node.value == n ? &*at : nullptr;
}

void Capacity::take(NodeNumber n, const Amount* amounts) {
  Amount* row = &free_[n * width()];
  for (std::size_t c = 0; c < width(); ++c) row[c] -= amounts[c];
}

void Capacity::row_of(const model::Job& job, const model::NodeGrant& grant, std::span<Amount> row) const {
  std::ranges::fill(row, 0);
  const NodeNumber n = grant.node.value;
  if (!is_set(job.suspended_at)) {
    const Amount per_core = unit(n);
    Amount last_core = -1;
    for (const std::uint16_t cpu : grant.cpus) {  // ascending
      if (cpu / per_core == last_core) continue;
      last_core = cpu / per_core;
      row[Columns::kCpu] += per_core;
    }
    for (const auto& [name, column] : limited_partitions_)
      if (name == job.allocation->partition) row[column] = static_cast<Amount>(grant.cpus.size());
  }
  if (memory_is_consumable_) row[Columns::kMemory] = static_cast<Amount>(grant.memory_mib);
  if (!grant.devices.empty()) {
    const auto ranges = device_ranges(node(n), columns_);
    for (const auto& devices : grant.devices)
      for (const std::uint32_t index : devices.indices)
        for (const auto& range : ranges)
          if (columns_.gres_name(range.column) == devices.gres && index - range.first < range.count)
            ++row[range.column];
  }
}

}  // namespace spur::sched
