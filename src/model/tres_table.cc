// SPDX-License-Identifier: Apache-2.0
#include "model/tres_table.h"

#include <algorithm>

namespace spur::model {
namespace {

std::uint64_t times(const GresRequest& request, const JobSpec& spec) {
  switch (request.per) {
    case GresRequest::Per::Node:
      return std::max(spec.min_nodes, 1u);
    case GresRequest::Per::Task:
      return task_count(spec);
    case GresRequest::Per::Socket:
      return std::uint64_t{std::max(spec.min_nodes, 1u)} * std::max(1u, spec.sockets_per_node);
    case GresRequest::Per::Job:
      return 1;
  }
  return 1;
}

std::uint64_t memory_wanted(const JobSpec& spec, const PartitionConfig& partition, const ClusterConfig& config) {
  const std::uint64_t nodes = std::max(spec.min_nodes, 1u);
  if (spec.memory_per_node_mib) return *spec.memory_per_node_mib * nodes;
  if (spec.memory_per_cpu_mib) return *spec.memory_per_cpu_mib * min_cpus(spec);
  if (partition.default_memory_per_node_mib) return *partition.default_memory_per_node_mib * nodes;
  if (partition.default_memory_per_cpu_mib) return *partition.default_memory_per_cpu_mib * min_cpus(spec);
  if (config.default_memory_per_node_mib) return *config.default_memory_per_node_mib * nodes;
  if (config.default_memory_per_cpu_mib) return *config.default_memory_per_cpu_mib * min_cpus(spec);
  return 0;
}

}  // namespace

TresTable::TresTable(const ClusterConfig& config)
    : names_{"cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"} {
  const auto add = [this](const std::string& name) {
    if (!name.empty() && std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
  };
  // GPUs are what clusters are bought for: they count unasked.
  if (std::ranges::find(config.gres_types, "gpu") != config.gres_types.end()) add("gres/gpu");
  for (const std::string& name : config.accounting.tres) add(name);
}

std::size_t TresTable::find(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
}

void TresTable::add_gres(TresRow& row, std::string_view name, std::string_view type, std::uint64_t count) const {
  std::string column = "gres/";
  column.append(name);
  if (const std::size_t at = find(column); at < size()) row[at] += count;
  if (type.empty()) return;
  column.append(":").append(type);
  if (const std::size_t at = find(column); at < size()) row[at] += count;
}

// Slurm's rule: the sum of all weighted amounts, or with MAX_TRES the largest of those of nodes plus those of the
// cluster (licenses), and with MAX_TRES_GRES of devices, too. Without weights a CPU is one.
void TresTable::bill(TresRow& row, const PartitionConfig* partition, const ClusterConfig& config) const {
  if (!partition || partition->billing_weights.empty()) {
    row[kBilling] = row[kCpu];
    return;
  }
  const auto has = [&](std::string_view flag) {
    return std::ranges::find(config.priority.flags, flag) != config.priority.flags.end();
  };
  const bool but_gres = has("MAX_TRES_GRES"), highest = but_gres || has("MAX_TRES");
  std::uint64_t sum = 0, most = 0;
  for (const TresWeight& weight : partition->billing_weights) {
    const std::size_t at = find(weight.tres);
    if (at >= size() || weight.thousandths <= 0) continue;
    const std::uint64_t part = row[at] * static_cast<std::uint64_t>(weight.thousandths) / std::max(weight.per, 1u);
    const bool added = weight.tres.starts_with("license/") || (but_gres && weight.tres.starts_with("gres/"));
    if (highest && !added) {
      most = std::max(most, part);
    } else {
      sum += part;
    }
  }
  row[kBilling] = (sum + most) / 1000;
}

TresRow TresTable::held(const JobSpec& spec, const Allocation& allocation, const ClusterConfig& config) const {
  TresRow row(size(), 0);
  for (const NodeGrant& grant : allocation.nodes) {
    row[kCpu] += cpus_held(grant);
    row[kMemory] += grant.memory_mib;
    ++row[kNode];
    for (const DeviceGrant& devices : grant.devices) {
      std::uint64_t count = devices.indices.size();
      if (!devices.shares.empty()) {
        count = 0;
        for (const std::uint32_t share : devices.shares) count += share;
      }
      add_gres(row, devices.gres, devices.type, count);
    }
  }
  for (const LicenseRequest& license : spec.licenses)
    if (const std::size_t at = find("license/" + license.name); at < size()) row[at] += license.count;
  const auto partition = std::ranges::find(config.partitions, allocation.partition, &PartitionConfig::name);
  bill(row, partition == config.partitions.end() ? nullptr : &*partition, config);
  return row;
}

TresRow TresTable::wanted(const JobSpec& spec, const PartitionConfig& partition, const ClusterConfig& config) const {
  TresRow row(size(), 0);
  row[kCpu] = min_cpus(spec);
  row[kNode] = std::max(spec.min_nodes, 1u);
  row[kMemory] = memory_wanted(spec, partition, config);
  for (const GresRequest& request : spec.gres)
    add_gres(row, request.name, request.type, request.count * times(request, spec));
  for (const LicenseRequest& license : spec.licenses)
    if (const std::size_t at = find("license/" + license.name); at < size()) row[at] += license.count;
  bill(row, &partition, config);
  return row;
}

}  // namespace spur::model
