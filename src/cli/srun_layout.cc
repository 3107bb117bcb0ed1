// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_layout.h"

#include <fmt/core.h>

#include <algorithm>

namespace spur::cli {
namespace {

// The job's nodes that the step may use, those asked for by name first.
Result<std::vector<std::size_t>> usable_nodes(const std::vector<std::string>& nodes, const StepSize& size) {
  std::vector<std::size_t> usable;
  for (const std::string& name : size.required) {
    const auto found = std::ranges::find(nodes, name);
    if (found == nodes.end()) return fail(ErrorCode::NodeConfigUnavailable, name + " is not one of the job's nodes");
    usable.push_back(static_cast<std::size_t>(found - nodes.begin()));
  }
  std::ranges::sort(usable);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool excluded = std::ranges::find(size.excluded, nodes[i]) != size.excluded.end();
    if (!excluded && std::ranges::find(usable, i) == usable.end()) usable.push_back(i);
  }
  if (usable.empty()) return fail(ErrorCode::NodeConfigUnavailable, "no node of the job is left");
  return usable;
}

}  // namespace

Result<StepLayout> lay_out_step(const std::vector<std::string>& nodes, const std::vector<std::uint32_t>& slots,
                                const StepSize& size) {
  SPUR_ASSIGN(std::vector<std::size_t> usable, usable_nodes(nodes, size));
  const auto slot = [&](std::size_t node) { return node < slots.size() ? std::max(slots[node], 1u) : 1u; };

  // How many nodes: as asked; else those named; else all, but no more than there are tasks.
  std::size_t count = size.nodes.value_or(static_cast<std::uint32_t>(size.required.size()));
  if (count > usable.size())
    return fail(ErrorCode::InvalidNodeCount,
                fmt::format("Only allocated {} nodes asked for {}", usable.size(), count));
  if (count == 0) count = size.tasks ? std::min<std::size_t>(usable.size(), *size.tasks) : usable.size();
  StepLayout layout;
  if (size.tasks && count > *size.tasks) {
    count = *size.tasks;
    layout.fewer_nodes = size.nodes.has_value();
  }
  usable.resize(count);
  std::ranges::sort(usable);
  layout.nodes = usable;

  const auto nodes_used = static_cast<std::uint32_t>(count);
  const bool fits = !size.tasks || static_cast<std::uint64_t>(size.tasks_per_node) * count >= *size.tasks;
  const std::uint32_t per_node = fits ? size.tasks_per_node : 0;
  layout.ignored_tasks_per_node = !fits && size.tasks_per_node > 0;
  std::uint32_t job_tasks = 0;
  for (const std::size_t node : usable) job_tasks += slot(node);
  layout.tasks = size.tasks     ? *size.tasks
                 : per_node > 0 ? per_node * nodes_used
                 : size.nodes   ? nodes_used
                                : job_tasks;

  if (per_node > 0) {
    // One for each node first, then node by node.
    layout.tasks_per_node.assign(count, 1);
    std::uint32_t left = layout.tasks - nodes_used;
    for (std::uint32_t& tasks : layout.tasks_per_node) {
      const std::uint32_t more = std::min(left, per_node - 1);
      tasks += more;
      left -= more;
    }
  } else if (layout.tasks == job_tasks && count == nodes.size()) {
    for (const std::size_t node : usable) layout.tasks_per_node.push_back(slot(node));
  }
  return layout;
}

}  // namespace spur::cli
