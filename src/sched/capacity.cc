// SPDX-License-Identifier: Apache-2.0
#include "sched/capacity.h"

#include <algorithm>

#include "base/check.h"

namespace spur::sched {

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
    kind_[n] = last_kind_;
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
  weight_[n] = node.placement_weight();
  ++nodes_by_weight_[weight_[n]];
  if (kind_[n] >= kinds() || !kinds_[kind_[n]].is_of(node)) kind_[n] = kind_of(view, node);
  const Kind& kind = kinds_[kind_[n]];
  Amount* free = &free_[n * width()];
  std::ranges::copy(kind.total, free);
  subtract_used(kind.layout, node, memory_is_consumable_, free);
  if (limited_partitions_.empty()) return;
  for_each_job_on(view, n, [&](const model::Job& job, const model::NodeGrant& grant) {
    if (is_set(job.suspended_at)) return;
    for (const auto& [name, column] : limited_partitions_)
      if (name == job.allocation->partition) free[column] -= static_cast<Amount>(grant.cpus.size());
  });
}

std::uint32_t Capacity::kind_of(const model::View& view, const model::Node& node) {
  // Nodes of a kind mostly stand together.
  if (last_kind_ < kinds() && kinds_[last_kind_].is_of(node)) return last_kind_;
  const auto& hardware = node.hardware;
  std::uint64_t hash = hardware.tmp_disk_mib << 8;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15u; };
  mix(hardware.cpus);
  mix(std::uint64_t{hardware.sockets} << 32 | hardware.threads_per_core);
  mix(hardware.memory_mib);
  for (const auto& gres : hardware.gres) mix(gres.count << 8 ^ gres.name.size() << 4 ^ gres.type.size());
  for (const auto& feature : node.active_features)
    for (const char c : feature) mix(static_cast<unsigned char>(c));
  const auto [first, last] = kind_by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (kinds_[at->second].is_of(node)) return last_kind_ = at->second;
  last_kind_ = kinds();
  kind_by_hash_.emplace(hash, last_kind_);
  Kind& kind = kinds_.emplace_back();
  kind.hardware = hardware;
  kind.features = node.active_features;
  kind.layout = make_layout(hardware, columns_, view.config->cores_whole);
  kind.total.resize(width());
  fill_total(kind.layout, hardware, kind.total.data());
  for (const auto& [name, column] : limited_partitions_)
    kind.total[column] = *model::find_partition(view, name)->config.max_cpus_per_node;
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
  row_of(job.allocation->partition, grant, is_set(job.suspended_at) ? Part::AllButCpus : Part::All, row);
}

void Capacity::row_of(const model::Job& job, const model::NodeGrant& grant, std::span<const model::CpuNumber> cpus,
                      std::span<Amount> row) const {
  row_of(job, grant, row);
  if (is_set(job.suspended_at)) return;
  const NodeLayout& layout = this->layout(grant.node.value);
  row[Columns::kCpu] = 0;
  for (std::uint32_t s = 0; layout.first_socket && s < layout.sockets; ++s) row[layout.first_socket + s] = 0;
  add_cpus(layout, cpus, row.data());
}

void Capacity::row_of(std::string_view partition, const model::NodeGrant& grant, Part part,
                      std::span<Amount> row) const {
  std::ranges::fill(row, 0);
  const NodeLayout& layout = this->layout(grant.node.value);
  if (part != Part::AllButCpus) {
    add_cpus(layout, grant.cpus, row.data());
    add_cpus(layout, grant.kept_cpus, row.data());
    for (const auto& [name, column] : limited_partitions_)
      if (name == partition) row[column] = static_cast<Amount>(grant.cpus.size());
  }
  if (part == Part::Cpus) return;
  if (memory_is_consumable_) row[Columns::kMemory] = static_cast<Amount>(grant.memory_mib);
  if (!grant.devices.empty()) add_devices(layout, grant.devices, row.data());
}

}  // namespace spur::sched
