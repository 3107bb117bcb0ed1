// SPDX-License-Identifier: Apache-2.0
#include "replay/gpu_engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "replay/one_partition.h"

namespace spur::replay {
namespace {

constexpr std::uint32_t kMostNodeCpus = 60'000;  // of a node: they are numbered in 16 bits
const Time kNow = from_micros(1'000'000'000);

std::uint32_t unit_of(const std::vector<OpenbNode>& nodes, const std::vector<OpenbPod>& pods) {
  std::uint32_t unit = 0, most = 1;
  for (const OpenbNode& node : nodes) {
    unit = std::gcd(unit, node.cpu_milli);
    most = std::max(most, node.cpu_milli);
  }
  for (const OpenbPod& pod : pods) unit = std::gcd(unit, pod.cpu_milli);
  return std::max({1u, unit, (most + kMostNodeCpus - 1) / kMostNodeCpus});
}

model::View view_of(const std::vector<OpenbNode>& nodes, std::uint32_t cpu_unit) {
  auto config = std::make_shared<model::ClusterConfig>();
  config->memory_as = model::MemoryAs::Consumable;
  std::vector<std::shared_ptr<model::Node>> made;
  for (const OpenbNode& from : nodes) {  // their names may be anything
    auto& node = *made.emplace_back(std::make_shared<model::Node>());
    node.hardware.cpus = node.hardware.cores_per_socket = std::max(1u, from.cpu_milli / cpu_unit);
    node.hardware.memory_mib = from.memory_mib;
    if (from.gpus > 0) {
      node.hardware.gres.push_back({"gpu", from.model, from.gpus, ""});
      node.hardware.gres.push_back({"shard", "", std::uint64_t{from.gpus} * kMilliPerGpu, ""});
    }
    node.features = node.active_features = {from.model};
  }
  return one_partition(std::move(config), std::move(made));
}

}  // namespace

GpuEngine::GpuEngine(const std::vector<OpenbNode>& nodes, const std::vector<OpenbPod>& pods)
    : cpu_unit_(unit_of(nodes, pods)), world_(view_of(nodes, cpu_unit_)), engine_(sched::Params{}) {}

std::shared_ptr<const model::JobSpec> GpuEngine::spec_of(const OpenbPod& pod) {
  const std::string key = fmt::format("{} {} {} {} {}", pod.cpu_milli, pod.memory_mib, pod.gpus, pod.gpu_milli,
                                      fmt::join(pod.gpu_models, "|"));
  auto& known = specs_[key];
  if (known) return known;
  auto spec = std::make_shared<model::JobSpec>();
  spec->time_limit = TimeLimit::unlimited();
  spec->max_nodes = 1;
  spec->tasks = 1;
  spec->cpus_per_task = std::max(1u, (pod.cpu_milli + cpu_unit_ - 1) / cpu_unit_);
  spec->memory_per_node_mib = std::max<std::uint64_t>(1, pod.memory_mib);
  if (pod.gpus > 0 && pod.gpu_milli >= kMilliPerGpu)
    spec->gres = {{"gpu", "", pod.gpus, model::GresRequest::Per::Node}};
  else if (pod.gpus > 0)
    spec->gres = {{"shard", "", pod.gpu_milli, model::GresRequest::Per::Node}};
  spec->features = fmt::format("{}", fmt::join(pod.gpu_models, "|"));
  return known = std::move(spec);
}

std::optional<GpuCluster::Place> GpuEngine::place(const OpenbPod& pod) {
  const JobId id(next_id_++);
  world_.submit(id, spec_of(pod), kNow);
  engine_.see(world_.view());
  const sched::Plan plan = engine_.respond(kNow);
  if (plan.starts.empty()) {
    world_.withdraw(id);
    return std::nullopt;
  }
  world_.start(plan.starts.front(), kNow);
  const model::NodeGrant& grant = plan.starts.front().allocation->nodes.front();
  GpuCluster::Place place{grant.node.value, 0};
  for (const auto& devices : grant.devices)
    for (const std::uint32_t device : devices.indices) place.devices |= std::uint64_t{1} << device;
  return place;
}

}  // namespace spur::replay
