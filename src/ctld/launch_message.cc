// SPDX-License-Identifier: Apache-2.0
#include "ctld/launch_message.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "text/hostlist.h"
#include "text/repeat.h"

namespace spur::ctld {
namespace {

void describe_array(model::ControllerLaunch& out, const model::Job& job) {
  out.array_job = job.array_job;
  out.array_task = job.array_task;
  if (!job.spec->array) return;
  const IndexSet& tasks = job.spec->array->tasks;
  out.array_count = static_cast<std::uint32_t>(tasks.size());
  out.array_min = tasks.lowest().value_or(0);
  out.array_max = tasks.highest().value_or(0);
  // Slurm shows the distance of the first two tasks as the step.
  const auto second = tasks.next_after(out.array_min);
  out.array_step = second ? *second - out.array_min : 1;
}

void add_part(model::ControllerLaunch& out, const model::View& view, const model::NodeGrant& grant) {
  const auto* node = view.nodes.find(grant.node.value);
  SPUR_CHECK(node != nullptr);
  const model::NodeHardware& hardware = (*node)->hardware;
  // A declared number of CPUs that does not go with the rest: each counts as a core.
  const bool regular = hardware.cpus == hardware.sockets * hardware.cores_per_socket * hardware.threads_per_core;
  out.parts.push_back({.node = (*node)->name,
                       .cpus = grant.cpus,
                       .memory_mib = grant.memory_mib,
                       .tasks = grant.tasks,
                       .devices = grant.devices,
                       .sockets = regular ? hardware.sockets : 1,
                       .cores_per_socket = regular ? hardware.cores_per_socket : hardware.cpus,
                       .threads_per_core = regular ? hardware.threads_per_core : 1});
  out.addresses.push_back((*node)->address);
}

// What the script is told of all components.
void describe_components(model::ControllerLaunch& out, const model::View& view, const model::Job& leader) {
  for (std::uint32_t i = 0; i < leader.het_size; ++i) {
    const model::Job* job = model::find_job(view, JobId{leader.het_job.value + i});
    if (!job || job->het_job != leader.het_job || !job->allocation) continue;
    const model::JobSpec& spec = *job->spec;
    auto& one = out.het.emplace_back();
    one.job = job->id;
    one.name = spec.name;
    one.partition = job->allocation->partition;
    std::vector<std::string> names;
    std::vector<std::uint32_t> cpus, tasks;
    for (const auto& grant : job->allocation->nodes) {
      names.push_back((*view.nodes.find(grant.node.value))->name);
      cpus.push_back(static_cast<std::uint32_t>(grant.cpus.size()));
      tasks.push_back(grant.tasks);
    }
    one.nodes = text::compress_hostlist(names);
    one.node_count = static_cast<std::uint32_t>(names.size());
    one.cpus_per_node = text::repeat_text(cpus);
    one.tasks_per_node = text::repeat_text(tasks);
    if (spec.tasks || spec.tasks_per_node > 0) one.tasks = model::task_count(spec);
    if (spec.cpus_per_task_given) one.cpus_per_task = spec.cpus_per_task;
    one.memory_per_node_mib = spec.memory_per_node_mib;
    one.memory_per_cpu_mib = spec.memory_per_cpu_mib;
  }
}

}  // namespace

void LaunchMessages::remember(const model::View& view, const model::Job& job) {
  if (of_ == job.allocation && spec_ == job.spec) return;
  of_ = job.allocation;
  spec_ = job.spec;
  std::vector<std::string> names;
  std::vector<std::uint32_t> cpus;
  for (const auto& grant : of_->nodes) {
    const auto* node = view.nodes.find(grant.node.value);
    SPUR_CHECK(node != nullptr);
    names.push_back((*node)->name);
    cpus.push_back(static_cast<std::uint32_t>(grant.cpus.size()));
  }
  whole_ = {.nodes = text::compress_hostlist(names),
            .node_count = static_cast<std::uint32_t>(names.size()),
            .cpus_per_node = text::repeat_text(cpus)};
  auto bare = std::make_shared<model::JobSpec>(*job.spec);
  bare->script = nullptr;
  bare->environment = nullptr;
  bare_ = std::move(bare);
}

model::ControllerLaunch LaunchMessages::make(const model::View& view, const model::Job& job, std::uint32_t part) {
  SPUR_CHECK(job.allocation && part < job.allocation->nodes.size());
  model::ControllerLaunch out;
  out.run = {job.id, job.epoch};
  describe_array(out, job);
  out.partition = job.allocation->partition;
  out.cluster_name = view.config->cluster_name;
  out.restarts = job.restarts;
  out.time_limit = job.time_limit;
  out.started = job.started;
  out.this_part = part;
  out.kill_wait = view.config->kill_wait;
  out.het_offset = job.het_offset;
  if (part == 0) {
    out.spec = job.spec;
    if (job.het_job && job.het_offset == 0) describe_components(out, view, job);
    for (const auto& grant : job.allocation->nodes) add_part(out, view, grant);
  } else {
    remember(view, job);
    out.spec = bare_;
    out.whole = whole_;
    add_part(out, view, job.allocation->nodes[part]);
  }
  add_address(view, out);
  return out;
}

// Of the receiver alone: each node knows where it is itself.
void LaunchMessages::add_address(const model::View& view, model::ControllerLaunch& launch) {
  const model::Partition* partition = model::find_partition(view, launch.partition);
  const model::TopologyConfig& topology =
      partition ? model::topology_of(*view.config, partition->config) : view.config->topology;
  if (topology.kind == model::TopologyKind::Flat) return;
  model::LaunchPart& own = launch.parts.front();
  const auto& addresses = addresses_.try_emplace(topology.name, topology).first->second;
  auto address = addresses.of(own.node);
  own.topology_address = std::move(address.address);
  own.topology_pattern = std::move(address.pattern);
}

}  // namespace spur::ctld
