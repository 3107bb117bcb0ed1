// SPDX-License-Identifier: Apache-2.0
#include "sched/socket_choice.h"

#include <algorithm>
#include <bit>

namespace spur::sched {
namespace {

// All sets are looked at up to here; beyond it only single sockets, neighbours from the first on, and all.
constexpr std::uint32_t kFewSockets = 8;

std::uint64_t all_sockets(const NodeLayout& layout) {
  return layout.sockets >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << layout.sockets) - 1;
}

bool is_of(const GresNeed& need, const Device& device) {
  return std::ranges::find(need.gres, device.gres) != need.gres.end();
}

// Leaves just the need's devices for each of the sockets: those near it alone first, then those that are near
// others, too.
bool keep_for_each(const GresNeed& need, const NodeLayout& layout, std::uint64_t sockets, const Amount* total,
                   std::vector<Amount>& row) {
  std::vector<std::size_t> kept;
  const auto is_kept = [&](std::size_t column) { return std::ranges::find(kept, column) != kept.end(); };
  std::vector<Amount> missing(layout.sockets, need.per_socket);
  for (const bool of_one : {true, false})
    for (std::uint32_t s = 0; s < layout.sockets; ++s) {
      if ((sockets >> s & 1) == 0) continue;
      for (const auto& group : layout.groups)
        for (const auto& device : group.devices) {
          const bool one = std::has_single_bit(device.sockets & all_sockets(layout));
          if (missing[s] == 0 || !is_of(need, device) || (device.sockets >> s & 1) == 0 || one != of_one) continue;
          if (row[device.column] < total[device.column] || is_kept(device.column)) continue;
          kept.push_back(device.column);
          --missing[s];
        }
    }
  for (std::uint32_t s = 0; s < layout.sockets; ++s)
    if ((sockets >> s & 1) != 0 && missing[s] > 0) return false;
  for (const auto& group : layout.groups)
    for (const auto& device : group.devices)
      if (is_of(need, device) && !is_kept(device.column)) row[device.column] = 0;
  return true;
}

}  // namespace

bool is_bound_to_sockets(const Request& request, const NodeLayout& layout) {
  if (!layout.first_socket || layout.groups.empty() || request.exclusive) return false;
  const auto per_socket = [](const GresNeed& need) { return need.per_socket > 0; };
  return (request.bind_to_gres && request.wants_gres()) || std::ranges::any_of(request.gres_per_node, per_socket);
}

bool cut_to_sockets(const Request& request, const NodeLayout& layout, std::uint64_t sockets, const Amount* total,
                    std::vector<Amount>& row) {
  Amount cpus = 0;
  for (std::uint32_t s = 0; s < layout.sockets; ++s) {
    Amount& here = row[layout.first_socket + s];
    if ((sockets >> s & 1) == 0) here = 0;
    cpus += std::max<Amount>(0, here);
  }
  row[Columns::kCpu] = std::min(row[Columns::kCpu], cpus);
  if (request.bind_to_gres)
    for (const auto& group : layout.groups)
      for (const auto& device : group.devices)
        if ((device.sockets & sockets) == 0) row[device.column] = 0;
  for (const auto& need : request.gres_per_node)
    if (need.per_socket > 0 && !keep_for_each(need, layout, sockets, total, row)) return false;
  return true;
}

Amount gpus_wanted(const Request& request, Amount tasks, const JobGres& job_gres) {
  Amount gpus = 0;
  const auto add = [&](const GresNeed& need, Amount count, Amount lots) {
    if (need.is_shares()) gpus += count > 0 ? lots : 0;
    if (need.is_gpu) gpus += count * lots;
  };
  for (const auto& need : request.gres_per_node) add(need, need.count, 1);
  for (const auto& need : request.gres_per_task) add(need, need.count, std::max<Amount>(1, tasks));
  for (std::size_t i = 0; i < request.gres_per_job.size(); ++i) add(request.gres_per_job[i], job_gres[i], 1);
  return gpus;
}

bool cover_sockets(const Request& request, const NodeLayout& layout, std::uint64_t sockets, Amount gpus,
                   const Amount* total, std::vector<Amount>& row) {
  if (!request.bind_to_gres || std::has_single_bit(sockets)) return true;
  if (gpus < std::popcount(sockets)) return false;
  const GresNeed* only = nullptr;
  std::size_t needs = 0;
  for (const auto* list : {&request.gres_per_node, &request.gres_per_task, &request.gres_per_job})
    for (const auto& need : *list)
      if (need.is_gpu || need.is_shares()) only = &need, ++needs;
  if (needs != 1 || only->is_shares()) return true;  // of several types any will do
  std::vector<std::size_t> kept;
  const auto keep_one = [&](std::uint64_t near) {
    for (const auto& group : layout.groups)
      for (const auto& device : group.devices) {
        if (!is_of(*only, device) || (device.sockets & near) == 0) continue;
        if (row[device.column] < total[device.column]) continue;
        if (std::ranges::find(kept, device.column) != kept.end()) continue;
        kept.push_back(device.column);
        return true;
      }
    return false;
  };
  for (std::uint32_t s = 0; s < layout.sockets; ++s)
    if ((sockets >> s & 1) != 0 && !keep_one(std::uint64_t{1} << s)) return false;
  while (static_cast<Amount>(kept.size()) < gpus)
    if (!keep_one(sockets)) return false;
  for (const auto& group : layout.groups)
    for (const auto& device : group.devices)
      if (is_of(*only, device) && std::ranges::find(kept, device.column) == kept.end()) row[device.column] = 0;
  return true;
}

std::vector<std::uint64_t> socket_sets(const Request& request, const NodeLayout& layout) {
  std::vector<std::uint64_t> sets;
  const std::uint64_t all = all_sockets(layout);
  if (layout.sockets <= kFewSockets) {
    for (std::uint64_t set = 1; set <= all; ++set) sets.push_back(set);
  } else {
    for (std::uint32_t s = 0; s < layout.sockets; ++s) sets.push_back(std::uint64_t{1} << s);
    for (std::uint32_t count = 2; count < layout.sockets && count < 64; ++count)
      sets.push_back((std::uint64_t{1} << count) - 1);
    sets.push_back(all);
  }
  for (const auto& need : request.gres_per_node)
    if (need.per_socket > 0)
      std::erase_if(sets, [&](std::uint64_t set) { return std::popcount(set) != need.count / need.per_socket; });
  std::ranges::stable_sort(sets, {}, [](std::uint64_t set) { return std::popcount(set); });
  return sets;
}

}  // namespace spur::sched
