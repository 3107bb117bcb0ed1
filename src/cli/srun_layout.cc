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

Result<StepLayout> lay_out_step(const std::vector<std::string>& nodes, const std::vector<std::uint32_t>& slots, const StepSize& size) {
  SPUR_ASSIGN(std::vector<std::size_t> usable, usable_nodes(nodes, size));
  const auto slot = [&](std::size_t node) { return node < slots.size() ? std::max(slots[node], 1u) : 1u; };

  // How many nodes: as asked; else those named; else all, but no more than there are tasks.
  std::size_t count = size.nodes.value_or(size.required.empty() ? 0 : static_cast<std::uint32_t>(size.required.size()));
  if (count > usable.size()) return fail(ErrorCode::InvalidNodeCount, fmt::format("Only allocated {} nodes asked for {}", usable.size(), count));
  StepLayout layout;
  if (count == 0) count = size.tasks ? std::min<std::size_t>(usable.size(), *size.tasks) : usable.size();
  if (size.tasks && count > *size.tasks) {
    count = *size.tasks;
    layout.fewer_nodes = size.nodes.has_value();
  }
  usable.resize(count);
  std::ranges::sort(usable);

  layout.nodes = usable;
  layout.tasks_per_node.assign(count, 1);
  const bool fits = !size.tasks || static_cast<std::uint64_t>(size.tasks_per_node) * count >= *size.tasks;
  const std::uint32_t per_node = fits ? size.tasks_per_node : 0;
  layout.ignored_tasks_per_node = !fits && size.tasks_per_node > 0;
  if (size.tasks) {
    layout.tasks = *size.tasks;
  } else if (per_node > 0) {
    layout.tasks = per_node * static_cast<std::uint32_t>(count);
  } else if (size.nodes) {
    layout.tasks = static_cast<std::uint32_t>(count);
  } else {
    for (const std::size_t node : usable) layout.tasks += slot(node);
  }
  // One for each node first, then node by node up to what the job itself would put there, then evenly.
  std::uint32_t left = layout.tasks - static_cast<std::uint32_t>(count);
  for (std::size_t i = 0; i < count && left > 0; ++i) {
    const std::uint32_t most = per_node > 0 ? per_node : slot(usable[i]);
    const std::uint32_t more = std::min(left, most - 1);
    layout.tasks_per_node[i] += more;
    left -= more;
  }
  for (std::size_t i = 0; left > 0; ++i) {
    const auto share = (left + static_cast<std::uint32_t>(count - i) - 1) / static_cast<std::uint32_t>(count - i);
    layout.tasks_per_node[i] += share;
    left -= share;
  }
  return layout;
}

}  // namespace spur::cli
