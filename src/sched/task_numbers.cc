// SPDX-License-Identifier: Apache-2.0
#include "sched/task_numbers.h"

#include <algorithm>

namespace spur::sched {

void number_tasks(const model::Distribution& distribution, std::vector<model::NodeGrant>& nodes) {
  using Nodes = model::Distribution::Nodes;
  const bool cyclic = distribution.nodes == Nodes::Cyclic, plane = distribution.nodes == Nodes::Plane;
  if ((!cyclic && !plane) || nodes.size() < 2) return;
  const std::uint32_t at_a_time = cyclic ? 1 : std::max(1u, distribution.plane_size);
  std::uint32_t next = 0;
  for (bool more = true; more;) {
    more = false;
    for (auto& node : nodes) {
      const auto given = static_cast<std::uint32_t>(node.task_ids.size());
      const std::uint32_t here = std::min(at_a_time, node.tasks - given);
      for (std::uint32_t i = 0; i < here; ++i) node.task_ids.push_back(next++);
      more |= given + here < node.tasks;
    }
  }
}

}  // namespace spur::sched
