// SPDX-License-Identifier: Apache-2.0
#include "ctld/launch_message.h"

#include "base/check.h"

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

}  // namespace

model::ControllerLaunch launch_message(const model::View& view, const model::Job& job, std::uint32_t part) {
  SPUR_CHECK(job.allocation && part < job.allocation->nodes.size());
  model::ControllerLaunch out;
  out.run = {job.id, job.epoch};
  out.spec = job.spec;
  describe_array(out, job);
  out.partition = job.allocation->partition;
  out.cluster_name = view.config->cluster_name;
  out.restarts = job.restarts;
  out.time_limit = job.time_limit;
  out.started = job.started;
  out.this_part = part;
  out.kill_wait = view.config->kill_wait;
  for (const auto& grant : job.allocation->nodes) {
    const auto* node = view.nodes.find(grant.node.value);
    SPUR_CHECK(node != nullptr);
    out.parts.push_back({.node = (*node)->name,
                         .cpus = grant.cpus,
                         .memory_mib = grant.memory_mib,
                         .tasks = grant.tasks,
                         .devices = grant.devices});
    out.addresses.push_back((*node)->address);
  }
  return out;
}

}  // namespace spur::ctld
