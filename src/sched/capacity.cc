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
  const std::size_t count = view.nodes.size();
  nodes_.reserve(count);
  usable_.reserve(count);
  weight_.reserve(count);
  kind_.reserve(count);
  unit_.reserve(count);
  total_.reserve(count * width());
  free_.reserve(count * width());
  view.nodes.for_each([&](std::uint32_t n, const model::NodePtr& node) {
    SPUR_CHECK_MSG(n == nodes_.size(), "node numbers are dense");
    add_node(view, *node);
  });
  for (std::size_t p = 0; p < view.partitions->size(); ++p)
    if (const auto column = columns_.partition_limit(p))
      limited_partitions_.emplace_back((*view.partitions)[p].config.name, column);
  if (!limited_partitions_.empty()) take_partition_cpus(view);
}

void Capacity::add_node(const model::View& view, const model::Node& node) {
  const auto n = static_cast<NodeNumber>(nodes_.size());
  nodes_.push_back(&node);
  usable_.push_back(node.usable());
  weight_.push_back(node.weight);
  if (weight_[n] != weight_[0]) one_weight_ = false;
  unit_.push_back(unit_of(node, view.config->cores_whole));
  total_.resize(total_.size() + width());
  free_.resize(free_.size() + width());
  Amount* total = &total_[n * width()];
  Amount* free = &free_[n * width()];

  total[Columns::kCpu] = node.hardware.cpus;
  free[Columns::kCpu] = free_cpus(node, unit_[n]);
  total[Columns::kMemory] = free[Columns::kMemory] = static_cast<Amount>(node.hardware.memory_mib);
  if (memory_is_consumable_)
    free[Columns::kMemory] =
        std::max<Amount>(0, free[Columns::kMemory] - static_cast<Amount>(node.memory_allocated_mib));
  if (!node.hardware.gres.empty()) {
    for (const auto& range : device_ranges(node, columns_)) {
      total[range.column] += range.count;
      free[range.column] += range.count;
      for (const auto& used : node.devices_in_use) {
        if (used.gres != columns_.gres_name(range.column)) continue;
        for (std::uint32_t d = 0; d < range.count; ++d) free[range.column] -= bit(used.bits, range.first + d);
      }
    }
  }
  for (std::size_t p = 0; p < view.partitions->size(); ++p)
    if (const auto column = columns_.partition_limit(p))
      total[column] = free[column] = *(*view.partitions)[p].config.max_cpus_per_node;

  const std::uint32_t kind = find_kind(n);
  if (kind == kinds()) kind_example_.push_back(n);
  kind_.push_back(kind);
}

std::uint32_t Capacity::find_kind(NodeNumber n) const {
  const auto same = [&](NodeNumber other) {
    return unit_[n] == unit_[other] && std::equal(total(n), total(n) + width(), total(other)) &&
           node(n).hardware.tmp_disk_mib == node(other).hardware.tmp_disk_mib &&
           node(n).active_features == node(other).active_features;
  };
  if (n > 0 && same(n - 1)) return kind_[n - 1];  // nodes of a kind mostly stand together
  // Clusters have few kinds. Where all nodes differ, not finding a kind costs less than looking for it.
  constexpr std::uint32_t kLookAt = 64;
  for (std::uint32_t kind = 0; kind < std::min(kinds(), kLookAt); ++kind)
    if (same(kind_example_[kind])) return kind;
  return kinds();
}

void Capacity::take_partition_cpus(const model::View& view) {
  view.active.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (!job->allocation || is_set(job->suspended_at)) return;
    for (const auto& [name, column] : limited_partitions_) {
      if (name != job->allocation->partition) continue;
      for (const auto& grant : job->allocation->nodes)
        if (std::ranges::binary_search(node(grant.node.value).jobs, job->id))
          free_[grant.node.value * width() + column] -= static_cast<Amount>(grant.cpus.size());
    }
  });
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
