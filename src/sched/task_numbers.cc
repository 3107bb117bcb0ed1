// SPDX-License-Identifier: Apache-2.0
#include "sched/task_numbers.h"

#include <algorithm>

#include "model/distribution.h"

namespace spur::sched {
namespace {

// -m arbitrary, for every task the position of its node; tasks of a lot stay together.
std::vector<std::uint32_t> listed_nodes(const Request& request, const std::vector<model::NodeGrant>& nodes) {
  std::vector<std::uint32_t> of_task;
  for (const NodeNumber node : request.task_nodes) {
    const auto at = std::ranges::lower_bound(nodes, NodeIndex(node), {}, &model::NodeGrant::node);
    of_task.insert(of_task.end(), request.lot, static_cast<std::uint32_t>(at - nodes.begin()));
  }
  return of_task;
}

}  // namespace

void number_tasks(const Request& request, std::vector<model::NodeGrant>& nodes) {
  if (nodes.size() < 2) return;
  std::vector<std::vector<std::uint32_t>> numbers;
  if (!request.task_nodes.empty()) {
    numbers = model::task_numbers(listed_nodes(request, nodes), nodes.size());
  } else {
    std::vector<std::uint32_t> tasks;
    tasks.reserve(nodes.size());
    for (const auto& node : nodes) tasks.push_back(node.tasks);
    numbers = model::task_numbers(request.distribution, tasks);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) nodes[i].task_ids = std::move(numbers[i]);
}

}  // namespace spur::sched
