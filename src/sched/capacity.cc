// SPDX-License-Identifier: Apache-2.0
#include "sched/capacity.h"

#include <algorithm>

#include "base/check.h"

namespace spur::sched {

Capacity::Capacity(const model::View& view) : columns_(view) {
  memory_is_consumable_ = view.config->memory_as == model::MemoryAs::Consumable;
  const std::size_t count = view.nodes.size();
  nodes_.reserve(count);
  usable_.reserve(count);
  weight_.reserve(count);
  kind_.reserve(count);
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
  const std::uint32_t kind = find_kind(n);
  if (kind == kinds()) {
    kind_example_.push_back(n);
    layouts_.push_back(make_layout(node.hardware, columns_, view.config->cores_whole));
  }
  kind_.push_back(kind);
  total_.resize(total_.size() + width());
  Amount* total = &total_[n * width()];
  if (kind_example_[kind] == n) {
    fill_total(layouts_[kind], node.hardware, total);
    for (std::size_t p = 0; p < view.partitions->size(); ++p)
      if (const auto column = columns_.partition_limit(p))
        total[column] = *(*view.partitions)[p].config.max_cpus_per_node;
  } else {
    std::copy_n(this->total(kind_example_[kind]), width(), total);
  }
  free_.insert(free_.end(), total, total + width());
  subtract_used(layouts_[kind], node, memory_is_consumable_, &free_[n * width()]);
}

std::uint32_t Capacity::find_kind(NodeNumber n) const {
  const auto same = [&](NodeNumber other) {
    return node(n).hardware == node(other).hardware && node(n).active_features == node(other).active_features;
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
  const NodeLayout& layout = this->layout(grant.node.value);
  if (!is_set(job.suspended_at)) {
    add_cpus(layout, grant.cpus, row.data());
    for (const auto& [name, column] : limited_partitions_)
      if (name == job.allocation->partition) row[column] = static_cast<Amount>(grant.cpus.size());
  }
  if (memory_is_consumable_) row[Columns::kMemory] = static_cast<Amount>(grant.memory_mib);
  if (!grant.devices.empty()) add_devices(layout, grant.devices, row.data());
}

}  // namespace spur::sched
