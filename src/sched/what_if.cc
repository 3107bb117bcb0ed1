// SPDX-License-Identifier: Apache-2.0
#include "sched/what_if.h"

#include <algorithm>

#include "base/check.h"
#include "sched/world.h"

namespace spur::sched {

void WhatIf::put(model::Job job) {
  const auto kept = std::make_shared<const model::Job>(std::move(job));
  view_.jobs.set(kept->id.value, kept);
  if (view_.pending.contains(kept->id.value)) view_.pending.set(kept->id.value, kept);
  if (view_.active.contains(kept->id.value)) view_.active.set(kept->id.value, kept);
}

void WhatIf::remove(JobId id) {
  const model::JobPtr* found = view_.jobs.find(id.value);
  SPUR_CHECK(found);
  const model::JobPtr job = *found;
  if (view_.active.contains(id.value) && job->allocation) {
    for (const auto& grant : job->allocation->nodes) {
      if (std::ranges::find(job->nodes_left, grant.node) == job->nodes_left.end()) continue;
      auto node = std::make_shared<model::Node>(**view_.nodes.find(grant.node.value));
      give_back(view_, *node, *job, grant);
      view_.nodes.set(grant.node.value, std::move(node));
    }
  }
  view_.active.erase(id.value);
  view_.pending.erase(id.value);
  view_.jobs.erase(id.value);
}

void WhatIf::ask(JobId id, std::shared_ptr<const model::JobSpec> spec, TimeLimit limit) {
  model::Job job = **view_.jobs.find(id.value);
  job.spec = std::move(spec);
  job.time_limit = limit;
  put(std::move(job));
}

void WhatIf::without_hold(JobId id) {
  model::Job job = **view_.jobs.find(id.value);
  if (job.hold == model::Hold::None) return;
  job.hold = model::Hold::None;
  job.reason = model::Reason::None;
  if (job.priority == 0) job.priority = 1;
  put(std::move(job));
}

void WhatIf::without_dependencies(JobId id, Time now) {
  model::Job job = **view_.jobs.find(id.value);
  if (job.dependencies_left.empty() && !job.dependency_never) return;
  job.dependencies_left.clear();
  job.dependency_never = false;
  if (!is_set(job.eligible)) job.eligible = now;
  put(std::move(job));
}

void WhatIf::without_begin_time(JobId id, Time now) {
  model::Job job = **view_.jobs.find(id.value);
  if (job.eligible > now) job.eligible = now;
  if (job.spec->begin > now) {
    auto spec = std::make_shared<model::JobSpec>(*job.spec);
    spec->begin = {};
    job.spec = std::move(spec);
  }
  put(std::move(job));
}

void WhatIf::free_of_own_reasons(JobId id, Time now) {
  without_hold(id);
  without_dependencies(id, now);
  without_begin_time(id, now);
}

void WhatIf::make_usable(NodeIndex index) {
  auto node = std::make_shared<model::Node>(**view_.nodes.find(index.value));
  node->registered = true;
  node->down = false;
  node->flags &= ~(model::kNodeDrain | model::kNodeFail | model::kNodeNoResponse | model::kNodeInvalidRegistration |
                   model::kNodePoweringDown);
  view_.nodes.set(index.value, std::move(node));
}

model::PartitionConfig* WhatIf::edit_partition(const std::string& name) {
  auto partitions = std::make_shared<std::vector<model::Partition>>(*view_.partitions);
  model::PartitionConfig* found = nullptr;
  for (auto& partition : *partitions)
    if (partition.config.name == name) found = &partition.config;
  view_.partitions = std::move(partitions);
  return found;
}

void WhatIf::open_partition(const std::string& name) {
  if (auto* partition = edit_partition(name)) partition->state = model::PartitionState::Up;
}

void WhatIf::without_reservation(JobId job, const std::string& name, Time now) {
  const auto* asker = view_.pending.find(job.value);
  const bool asks = asker && model::names_reservation((*asker)->spec->reservation, name);
  auto list = *view_.reservations;
  const auto at = std::ranges::find(list, name, &model::Reservation::name);
  if (at == list.end()) return;
  if (!asks) {
    list.erase(at);
  } else if (at->start > now || at->has(model::kResvTimeFloat)) {
    at->flags &= ~std::uint64_t{model::kResvTimeFloat};
    at->end = now + (at->end - at->start);
    at->start = now;
  }
  view_.reservations = std::make_shared<const std::vector<model::Reservation>>(std::move(list));
}

void WhatIf::without_partition_limits(const std::string& name) {
  auto* partition = edit_partition(name);
  if (!partition) return;
  partition->max_time = TimeLimit::unlimited();
  partition->min_nodes = 0;
  partition->max_nodes.reset();
}

}  // namespace spur::sched
