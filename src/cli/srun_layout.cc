// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_layout.h"

#include <fmt/core.h>

#include <algorithm>

#include "model/distribution.h"

namespace spur::cli {
namespace {

// The job's nodes that the step may use, those asked for by name first.
Result<std::vector<std::size_t>> usable_nodes(const std::vector<std::string>& nodes, const StepSize& size) {
  std::vector<std::size_t> usable;
  for (const std::string& name : size.required) {
    const auto found = std::ranges::find(nodes, name);
    if (found == nodes.end()) return fail(ErrorCode::NodeConfigUnavailable, name + " is not one of the job's nodes");
    const auto position = static_cast<std::size_t>(found - nodes.begin());
    if (std::ranges::find(usable, position) == usable.end()) usable.push_back(position);
  }
  std::ranges::sort(usable);
  const std::size_t first = size.relative.value_or(0);
  if (size.relative && first + size.nodes.value_or(1) > nodes.size())
    return fail(ErrorCode::InvalidNodeCount,
                fmt::format("--relative and {} option incompatible with count of allocated nodes ({}+{}>{})",
                            size.nodes ? "--nodes" : "SLURM_JOB_NUM_NODES", first, size.nodes.value_or(1),
                            nodes.size()));
  for (std::size_t i = first; i < nodes.size(); ++i) {
    const bool excluded = std::ranges::find(size.excluded, nodes[i]) != size.excluded.end();
    if (!excluded && std::ranges::find(usable, i) == usable.end()) usable.push_back(i);
  }
  if (usable.empty()) return fail(ErrorCode::InvalidNodeCount, "Hostlist is empty!  Can't run job.");
  return usable;
}

// -m arbitrary: just as listed.
Result<StepLayout> lay_out_as_listed(const std::vector<std::string>& nodes, const StepSize& size) {
  const std::size_t tasks = size.tasks.value_or(static_cast<std::uint32_t>(size.required.size()));
  if (tasks > size.required.size())
    return fail(ErrorCode::InvalidNodeCount,
                fmt::format("You asked for {} tasks but hostlist specified {} nodes", tasks, size.required.size()));
  StepSize used = size;
  used.required.resize(tasks);
  used.excluded = nodes;
  StepLayout layout;
  layout.tasks = static_cast<std::uint32_t>(tasks);
  SPUR_ASSIGN(layout.nodes, usable_nodes(nodes, used));
  layout.tasks_per_node.resize(layout.nodes.size());
  for (const std::string& name : used.required) {
    const auto of_job = static_cast<std::size_t>(std::ranges::find(nodes, name) - nodes.begin());
    const auto at = static_cast<std::size_t>(std::ranges::find(layout.nodes, of_job) - layout.nodes.begin());
    ++layout.tasks_per_node[at];
    layout.task_nodes.push_back(static_cast<std::uint32_t>(at));
  }
  return layout;
}

}  // namespace

Result<StepLayout> lay_out_step(const std::vector<std::string>& nodes, const std::vector<std::uint32_t>& slots,
                                const StepSize& size) {
  if (size.distribution.nodes == model::Distribution::Nodes::Arbitrary) return lay_out_as_listed(nodes, size);
  SPUR_ASSIGN(std::vector<std::size_t> usable, usable_nodes(nodes, size));
  const auto slot = [&](std::size_t node) { return node < slots.size() ? std::max(slots[node], 1u) : 1u; };

  // How many nodes: as asked; else those named; else all, but no more than there are tasks.
  std::size_t count = size.nodes.value_or(static_cast<std::uint32_t>(size.required.size()));
  if (count > usable.size())
    return fail(ErrorCode::InvalidNodeCount,
                fmt::format("Only allocated {} nodes asked for {}", usable.size(), count));
  if (size.nodes && size.max_nodes && *size.max_nodes > count) {  // as many of the range as there are tasks for
    std::size_t most = std::min<std::size_t>(*size.max_nodes, usable.size());
    if (size.tasks) most = std::min<std::size_t>(most, std::max<std::size_t>(count, *size.tasks));
    count = most;
  }
  if (count == 0) count = size.tasks ? std::min<std::size_t>(usable.size(), *size.tasks) : usable.size();
  StepLayout layout;
  if (size.tasks && count > *size.tasks) {
    count = *size.tasks;
    layout.fewer_nodes = size.nodes.has_value();
  }
  if (count < usable.size()) {
    layout.candidates = usable;
    layout.required = static_cast<std::uint32_t>(std::min(count, size.required.size()));
  }
  usable.resize(count);
  std::ranges::sort(usable);
  layout.nodes = usable;

  const auto nodes_used = static_cast<std::uint32_t>(count);
  const bool fits = !size.tasks || static_cast<std::uint64_t>(size.tasks_per_node) * count >= *size.tasks;
  const std::uint32_t per_node = fits ? size.tasks_per_node : 0;
  layout.max_tasks_per_node = per_node;
  layout.ignored_tasks_per_node = !fits && size.tasks_per_node > 0 && size.nodes;
  std::uint32_t job_tasks = 0;
  for (const std::size_t node : usable) job_tasks += slot(node);
  layout.tasks = size.tasks     ? *size.tasks
                 : per_node > 0 ? per_node * nodes_used
                 : size.nodes   ? nodes_used
                                : job_tasks;

  if (per_node > 0) {
    const std::vector<std::uint32_t> room(count, per_node);
    layout.tasks_per_node = model::deal_tasks(size.distribution, layout.tasks, room);
  } else if (layout.tasks == job_tasks && count == nodes.size()) {
    for (const std::size_t node : usable) layout.tasks_per_node.push_back(slot(node));
  }
  return layout;
}

}  // namespace spur::cli
