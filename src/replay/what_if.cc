// SPDX-License-Identifier: Apache-2.0
#include "replay/what_if.h"

#include <fmt/core.h>

#include <algorithm>

#include "sched/forward.h"
#include "sched/world.h"

namespace spur::replay {
namespace {

std::vector<model::NodePtr> without_jobs(const std::vector<model::NodePtr>& nodes) {
  std::vector<model::NodePtr> idle;
  idle.reserve(nodes.size());
  for (const model::NodePtr& node : nodes) {
    auto copy = std::make_shared<model::Node>(*node);
    copy->cpus_allocated = 0;
    copy->memory_allocated_mib = 0;
    copy->jobs_completing = 0;
    copy->jobs.clear();
    copy->devices_in_use.clear();
    copy->cpus_in_use.assign((copy->hardware.cpus + 63) / 64, 0);
    idle.push_back(std::move(copy));
  }
  return idle;
}

}  // namespace

Result<model::View> view_of(const std::vector<model::NodePtr>& nodes, const std::vector<model::Partition>& partitions,
                            const model::ClusterConfig& config, const std::vector<model::JobPtr>& jobs) {
  model::View view;
  view.config = std::make_shared<model::ClusterConfig>(config);
  view.partitions = std::make_shared<std::vector<model::Partition>>(partitions);
  auto names = std::make_shared<std::map<std::string, NodeIndex, std::less<>>>();
  for (const model::NodePtr& node : without_jobs(nodes)) {
    if (node->index.value >= nodes.size()) return fail(ErrorCode::Corrupt, "nodes are not numbered from 0");
    names->emplace(node->name, node->index);
    view.nodes.set(node->index.value, node);
  }
  view.node_by_name = std::move(names);
  for (const model::JobPtr& job : jobs) view.next_job_id = std::max(view.next_job_id, job->id.value + 1);
  sched::World world(std::move(view));
  for (const model::JobPtr& job : jobs) SPUR_TRY(world.adopt(job));
  return world.view();
}

void add_nodes(model::View& view, NodeIndex like, std::uint32_t count) {
  const model::NodePtr model = *view.nodes.find(like.value);
  auto names = std::make_shared<std::map<std::string, NodeIndex, std::less<>>>(*view.node_by_name);
  auto partitions = std::make_shared<std::vector<model::Partition>>(*view.partitions);
  auto next = static_cast<std::uint32_t>(view.nodes.size());
  for (std::uint32_t number = 1; count > 0; ++number) {
    const std::string name = fmt::format("added{}", number);
    if (names->contains(name)) continue;
    auto node = std::make_shared<model::Node>(*without_jobs({model}).front());
    const NodeIndex index(next++);
    node->index = index;
    node->name = name;
    node->registered = true;
    node->down = false;
    node->flags = 0;
    node->reason.clear();
    names->emplace(name, index);
    for (model::Partition& partition : *partitions)
      if (std::ranges::binary_search(partition.nodes, like)) partition.nodes.push_back(index);
    view.nodes.set(index.value, std::move(node));
    --count;
  }
  view.node_by_name = std::move(names);
  view.partitions = std::move(partitions);
}

void drain_node(model::View& view, NodeIndex index) {
  auto node = std::make_shared<model::Node>(**view.nodes.find(index.value));
  node->flags |= model::kNodeDrain;
  view.nodes.set(index.value, std::move(node));
}

WhatIf look_ahead(model::View view, const WhatIfOptions& options) {
  sched::Forward forward(std::move(view), options.params, options.now);
  WhatIf result;
  for (const sched::ForwardRun& run : forward.running()) result.running.push_back({run.job, run.end});
  const auto started = [&](const sched::ForwardRun& run, JobId) {
    result.starts.push_back({run.job, run.end});
    result.cut_off = result.starts.size() >= options.most_starts;
    return !result.cut_off;
  };
  for (Time next = forward.next(); is_set(next); next = forward.next()) {
    if (is_set(options.until) && next > options.until) break;
    result.ended = next;
    if (!forward.play(started)) break;
    if (!options.progress) continue;
    const auto done = static_cast<double>(result.starts.size());
    options.progress(done / (done + static_cast<double>(forward.view().pending.size())));
  }
  forward.view().jobs.for_each([&](std::uint32_t id, const model::JobPtr& job) {
    const bool gave_up = model::is_final(job->state) && !job->allocation;
    if (gave_up || forward.view().pending.contains(id)) result.waiting.push_back(job);
  });
  return result;
}

}  // namespace spur::replay
