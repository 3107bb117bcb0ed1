// SPDX-License-Identifier: Apache-2.0
#include "replay/gpu_engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace spur::replay {
namespace {

constexpr std::uint32_t kMostCpus = 60'000;  // of a node: they are numbered in 16 bits
const Time kNow = from_micros(1'000'000'000);

std::uint32_t unit_of(const std::vector<OpenbNode>& nodes, const std::vector<OpenbPod>& pods) {
  std::uint32_t unit = 0, most = 1;
  for (const OpenbNode& node : nodes) {
    unit = std::gcd(unit, node.cpu_milli);
    most = std::max(most, node.cpu_milli);
  }
  for (const OpenbPod& pod : pods) unit = std::gcd(unit, pod.cpu_milli);
  return std::max({1u, unit, (most + kMostCpus - 1) / kMostCpus});
}

model::View view_of(const std::vector<OpenbNode>& nodes, std::uint32_t cpu_unit) {
  model::View view;
  auto config = std::make_shared<model::ClusterConfig>();
  config->memory_as = model::MemoryAs::Consumable;
  view.config = std::move(config);
  auto names = std::make_shared<std::map<std::string, NodeIndex, std::less<>>>();
  model::Partition partition;
  partition.config.name = "all";
  partition.config.is_default = true;
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    auto node = std::make_shared<model::Node>();
    node->index = NodeIndex(n);
    node->name = fmt::format("n{}", n + 1);  // the trace's may be anything
    auto& hardware = node->hardware;
    hardware.cpus = hardware.cores_per_socket = std::max(1u, nodes[n].cpu_milli / cpu_unit);
    hardware.memory_mib = nodes[n].memory_mib;
    if (nodes[n].gpus > 0) {
      hardware.gres.push_back({"gpu", nodes[n].model, nodes[n].gpus, ""});
      hardware.gres.push_back({"shard", "", std::uint64_t{nodes[n].gpus} * kMilliPerGpu, ""});
    }
    node->features = node->active_features = {nodes[n].model};
    node->registered = true;
    node->cpus_in_use.resize((hardware.cpus + 63) / 64);
    names->emplace(node->name, node->index);
    partition.nodes.push_back(node->index);
    view.nodes.set(n, std::move(node));
  }
  view.node_by_name = std::move(names);
  view.partitions = std::make_shared<std::vector<model::Partition>>(1, std::move(partition));
  return view;
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
