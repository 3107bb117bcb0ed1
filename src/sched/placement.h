// SPDX-License-Identifier: Apache-2.0
// Which nodes a job gets, out of those that offer something, and how its tasks are laid out over them.
//
// The rules, in their order:
//   - nodes of higher weight are looked at only if those of lower weight do not suffice;
//   - as few nodes as the tasks need (as many as allowed where a range of nodes was asked for): the roomiest first,
//   until
//     one node can take all that is left;
//   - that one, and every node where all offers are equally good for the job, is chosen by best fit: the lowest
//   weight, then on
//     nodes with GPUs the least growth of what popular jobs cannot use (popular_gpus.h), then the fewest GRES left
//     over, then the fewest CPUs left over (most, with LLN), then the lowest number.
// So a result depends on the offers alone, not on their order.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "sched/feasibility.h"
#include "sched/request.h"

namespace spur::sched {

// The best-fit order; the smallest wins. Packed, as whole clusters are searched for it.
struct FitKey {
  std::uint32_t weight = ~std::uint32_t{0};
  std::int64_t growth = 0;
  std::uint64_t gres_and_cpus = ~std::uint64_t{0};
  NodeNumber number = ~NodeNumber{0};
  NodeNumber node() const { return number; }
  bool is_none() const { return number == ~NodeNumber{0}; }
  friend auto operator<=>(const FitKey&, const FitKey&) = default;
};
// `tasks` and `job_gres` are what the node would get of the job.
FitKey fit_key(const Request& request, const Offer& offer, std::uint32_t tasks, const JobGres& job_gres);

// Whether the lowest FitKey among the nodes that can take the whole job, if there is one, is what choose would give.
bool prefers_one_node(const Request& request, bool one_weight);

// Shares in ascending order of nodes, or empty if the offers do not suffice. Offers with `tasks` 0 are not allowed;
// the order is ascending by node.
std::vector<Share> choose(const Request& request, std::span<const Offer> offers);

}  // namespace spur::sched
