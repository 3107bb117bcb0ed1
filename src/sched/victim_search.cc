// SPDX-License-Identifier: Apache-2.0
#include "sched/victim_search.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace spur::sched {

bool VictimSearch::fits() {
  ++tries_;
  return !room_.place().empty();
}

void VictimSearch::set_all(const std::vector<std::uint32_t>& numbers, bool gone) {
  for (const std::uint32_t number : numbers) room_.set_gone(number, gone);
}

// What each node costs, if its cheapest jobs go until it takes its part of the request.
std::vector<VictimSearch::CheapNode> VictimSearch::cheap_nodes() {
  std::map<NodeNumber, std::vector<std::uint32_t>> on_node;
  for (std::uint32_t number = 0; number < room_.size(); ++number)
    for (const NodeNumber n : room_.nodes_of(number)) on_node[n].push_back(number);
  const auto cheaper = [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(cost(a), a) < std::tuple(cost(b), b);
  };
  std::vector<CheapNode> nodes;
  for (auto& [n, numbers] : on_node) {
    std::ranges::sort(numbers, cheaper);
    nodes.push_back({n, std::move(numbers), 0});
  }
  if (nodes.size() > kNodes) {
    std::ranges::nth_element(nodes, nodes.begin() + kNodes, [&](const CheapNode& a, const CheapNode& b) {
      return std::tuple(cost(a.victims.front()), a.node) < std::tuple(cost(b.victims.front()), b.node);
    });
    nodes.resize(kNodes);
  }
  const std::uint32_t wanted =
      request_.tasks_fixed ? (request_.tasks + request_.min_nodes - 1) / std::max(1u, request_.min_nodes) : 1;
  std::erase_if(nodes, [&](CheapNode& node) {
    std::size_t used = 0;
    std::uint32_t tasks = room_.tasks_on(node.node);
    PreemptCost all;
    while (tasks < wanted && used < node.victims.size()) {
      all = all + cost(node.victims[used]);
      room_.set_gone(node.victims[used++], true);
      tasks = room_.tasks_on(node.node);
    }
    set_all(node.victims, false);
    node.victims.resize(used);
    if (tasks > 0) node.per_task = all.cpu_milliseconds / std::min(tasks, std::max(1u, wanted));
    return tasks == 0 || used == 0;
  });
  std::ranges::sort(nodes, [](const CheapNode& a, const CheapNode& b) {
    return std::tuple(a.per_task, a.victims.size(), a.node) < std::tuple(b.per_task, b.victims.size(), b.node);
  });
  return nodes;
}

// The candidates to search through, all of them gone; false if that is not enough.
bool VictimSearch::choose_pool() {
  if (room_.size() <= kExact) {
    for (std::uint32_t number = 0; number < room_.size(); ++number) pool_.push_back(number);
    set_all(pool_, true);
    return fits();
  }
  limit_ = kTriesOfMany;
  const auto nodes = cheap_nodes();
  if (nodes.empty()) return false;
  const auto set_first = [&](std::size_t from, std::size_t to, bool gone) {
    for (std::size_t i = from; i < to; ++i) set_all(nodes[i].victims, gone);
  };
  std::size_t enough = 0, at = 0;  // the first `at` nodes are cleared
  for (std::size_t next = 1; enough == 0; next *= 2) {
    next = std::min(next, nodes.size());
    set_first(at, next, true);
    at = next;
    if (room_.may_suffice() && fits())
      enough = at;
    else if (at == nodes.size())
      return false;
  }
  std::size_t too_few = enough / 2;
  while (too_few + 1 < enough) {
    const std::size_t middle = (too_few + enough) / 2;
    set_first(0, nodes.size(), false);  // jobs on several nodes are in several lists
    set_first(0, middle, true);
    (fits() ? enough : too_few) = middle;
  }
  set_first(0, nodes.size(), false);
  set_first(0, enough, true);
  for (std::size_t i = enough; i < nodes.size(); ++i) {
    std::size_t gone = 0;
    for (std::uint32_t number = 0; number < room_.size(); ++number) gone += room_.is_gone(number);
    if (gone >= kExact) break;
    set_all(nodes[i].victims, true);
  }
  for (std::uint32_t number = 0; number < room_.size(); ++number)
    if (room_.is_gone(number)) pool_.push_back(number);
  return fits();
}

// Those before `at` are decided, and cost `sure`; the others are gone, and it fits.
void VictimSearch::descend(std::size_t at, PreemptCost sure) {
  if (best_cost_ && (sure >= *best_cost_ || tries_ >= limit_)) return;
  if (at == pool_.size()) {
    best_cost_ = sure;
    best_.clear();
    for (const std::uint32_t number : pool_)
      if (room_.is_gone(number)) best_.push_back(number);
    return;
  }
  room_.set_gone(pool_[at], false);
  if (fits()) descend(at + 1, sure);
  room_.set_gone(pool_[at], true);
  descend(at + 1, sure + cost(pool_[at]));
}

std::optional<std::vector<std::uint32_t>> VictimSearch::find(std::size_t most) {
  if (!choose_pool()) return std::nullopt;
  std::ranges::sort(
      pool_, [&](std::uint32_t a, std::uint32_t b) { return std::tuple(cost(b), a) < std::tuple(cost(a), b); });
  descend(0, {});
  std::ranges::sort(best_);
  too_many_ = best_.size() > most;
  if (best_.empty() || too_many_) return std::nullopt;
  set_all(pool_, false);
  set_all(best_, true);
  return best_;
}

}  // namespace spur::sched
