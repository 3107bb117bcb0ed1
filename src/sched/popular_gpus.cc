// SPDX-License-Identifier: Apache-2.0
#include "sched/popular_gpus.h"

#include <algorithm>

namespace spur::sched {
namespace {

using Per = model::GresRequest::Per;

// The only wish for GPUs or shares of them.
const model::GresRequest* only_gpus(const model::JobSpec& spec) {
  const model::GresRequest* only = nullptr;
  for (const auto& wish : spec.gres) {
    if (wish.count == 0 || (wish.name != "gpu" && !is_share_of_gpu(wish.name))) continue;
    if (only) return nullptr;
    only = &wish;
  }
  return only;
}

std::uint64_t models_named(const Columns& columns, const std::string& type) {
  if (type.empty()) return ~std::uint64_t{0};
  std::uint64_t models = 0;
  for (const GresId id : columns.gres_ids("gpu", type)) models |= std::uint64_t{1} << (id % 64);
  return models;
}

}  // namespace

Amount share_unit_of(const model::View& view) {
  Amount unit = 0;
  view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    std::uint64_t gpus = 0, shares = 0;
    for (const auto& gres : node->hardware.gres) {
      if (gres.name == "gpu") gpus += gres.count;
      if (is_share_of_gpu(gres.name)) shares += gres.count;
    }
    if (unit == 0 && gpus > 0) unit = static_cast<Amount>(shares / gpus);
  });
  return unit;
}

std::optional<GpuShape> gpu_shape(const model::ClusterConfig& config, const Columns& columns,
                                  const model::JobSpec& spec, Amount share_unit) {
  const model::GresRequest* wish = only_gpus(spec);
  if (!wish || wish->per == Per::Socket) return std::nullopt;
  const bool shares = wish->name != "gpu";
  if (shares && share_unit <= 0) return std::nullopt;
  const std::uint64_t nodes = std::max(1u, spec.min_nodes);
  const std::uint64_t tasks = spec.tasks ? (*spec.tasks + nodes - 1) / nodes : std::max(1u, spec.tasks_per_node);
  const std::uint64_t each = std::min<std::uint64_t>(wish->count, kMaxDevices);
  const std::uint64_t count = wish->per == Per::Task  ? each * tasks
                              : wish->per == Per::Job ? (each + nodes - 1) / nodes
                                                      : each;
  GpuShape shape;
  shape.gpus = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, kMostGpus));
  shape.share = kWholeGpu;
  if (shares) {
    shape.gpus = static_cast<std::uint32_t>(wish->per == Per::Task ? std::min<std::uint64_t>(tasks, kMostGpus)
                                                                   : std::uint64_t{1});
    const std::uint64_t of_one = wish->per == Per::Task ? each : count;
    shape.share = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(of_one * kWholeGpu / static_cast<std::uint64_t>(share_unit), kWholeGpu));
  }
  shape.models = models_named(columns, wish->type);
  const std::uint64_t cpus =
      std::max({tasks * std::max(1u, spec.cpus_per_task), std::uint64_t{spec.min_cpus_per_node.value_or(1)},
                std::uint64_t{spec.cpus_per_gpu} * shape.gpus});
  shape.cpu = static_cast<std::int64_t>(std::min<std::uint64_t>(cpus, 1u << 30));
  std::uint64_t memory = 0;
  if (config.memory_as == model::MemoryAs::Consumable)
    memory = spec.memory_per_node_mib  ? *spec.memory_per_node_mib
             : spec.memory_per_cpu_mib ? *spec.memory_per_cpu_mib * cpus
             : spec.memory_per_gpu_mib ? *spec.memory_per_gpu_mib * shape.gpus
                                       : 0;
  shape.memory = static_cast<std::int64_t>(std::min<std::uint64_t>(memory, std::uint64_t{1} << 50));
  return shape;
}

PopularGpus::PopularGpus(const model::View& view, const Columns& columns)
    : config_(*view.config), columns_(columns), share_unit_(share_unit_of(view)) {
  for (const auto* jobs : {&view.pending, &view.active})
    jobs->for_each([&](std::uint32_t, const model::JobPtr& job) { count(*job, 1); });
}

void PopularGpus::count(const model::Job& job, int sign) {
  if (job.spec->gres.empty()) return;
  const auto shape = gpu_shape(config_, columns_, *job.spec, share_unit_);
  if (!shape) return;
  const std::uint64_t jobs = job.is_array_rest() ? job.array_pending->size() : 1;
  const auto at = jobs_.try_emplace({shape->cpu, shape->memory, shape->gpus, shape->share, shape->models}, 0).first;
  at->second += sign > 0 ? jobs : ~jobs + 1;
  if (at->second == 0) jobs_.erase(at);
  changed_ = true;
}

std::vector<GpuShape> PopularGpus::shapes() const {
  std::vector<GpuShape> all;
  all.reserve(jobs_.size());
  for (const auto& [key, jobs] : jobs_) {
    const auto& [cpu, memory, gpus, share, models] = key;
    all.push_back({cpu, memory, gpus, share, models, jobs});
  }
  auto popular = popular_shapes(std::move(all));
  if (popular.size() > kMostPopular) popular.resize(kMostPopular);
  return popular;
}

std::optional<GpuNode> gpu_node(const NodeLayout& layout, bool memory_counts, const Amount* row) {
  const DeviceGroup* gpus = layout.group("gpu");
  if (!gpus || gpus->devices.empty() || gpus->devices.size() > kMostGpus) return std::nullopt;
  GpuNode node;
  node.cpu = std::max<Amount>(0, row[Columns::kCpu]);
  node.memory = memory_counts ? std::max<Amount>(0, row[Columns::kMemory]) : 0;
  node.model = gpus->devices.front().gres % 64;
  node.free.reserve(gpus->devices.size());
  for (const Device& device : gpus->devices)
    node.free.push_back(static_cast<std::uint32_t>(std::clamp<Amount>(row[device.column], 0, device.capacity) *
                                                   kWholeGpu / device.capacity));
  return node;
}

std::int64_t growth(const GpuNode& node, const GpuPart& part, const std::vector<GpuShape>& popular) {
  GpuNode after = node;
  after.cpu = std::max<Amount>(0, node.cpu - part.cpus);
  after.memory = std::max<Amount>(0, node.memory - part.memory);
  std::uint32_t whole = part.whole;
  for (std::uint32_t& free : after.free)
    if (whole > 0 && free == kWholeGpu) free = 0, --whole;
  for (const std::uint32_t share : part.shares) {
    std::uint32_t* best = nullptr;
    for (std::uint32_t& free : after.free)
      if (free >= share && (!best || free < *best)) best = &free;
    if (best) *best -= share;
  }
  return fragmentation(after, popular) - fragmentation(node, popular);
}

}  // namespace spur::sched
