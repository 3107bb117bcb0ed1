// SPDX-License-Identifier: Apache-2.0
// SLURM_TASKS_PER_NODE and SLURM_JOB_CPUS_PER_NODE of scripts and of commands in an allocation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "model/distribution.h"
#include "model/job_spec.h"

namespace spur::model {

// CPUs of a node that tasks may use: with --threads-per-core or a hint that forbids threads not all of a core.
inline std::uint32_t told_cpus(const JobSpec& spec, std::size_t cpus, std::uint32_t threads_per_core) {
  const bool one =
      spec.hint == Hint::NoMultithread || spec.hint == Hint::ComputeBound || spec.hint == Hint::MemoryBound;
  const std::uint32_t used = one ? 1 : spec.threads_per_core;
  const auto all = static_cast<std::uint32_t>(cpus);
  if (used == 0 || used >= threads_per_core || all % threads_per_core != 0) return all;
  return all / threads_per_core * used;
}

// Of nodes with so many CPUs and tasks of the job each. As measured with Slurm 22.05: where no number of tasks was
// asked for, as many as the CPUs can run; else they are dealt out evenly as far as there are CPUs, whatever the CPUs
// were given for.
inline std::vector<std::uint32_t> told_tasks(const JobSpec& spec, const std::vector<std::uint32_t>& cpus,
                                             std::vector<std::uint32_t> tasks) {
  std::vector<std::uint32_t> room;
  for (const std::uint32_t here : cpus) room.push_back(here / std::max(1u, spec.cpus_per_task));
  if (!spec.tasks && spec.tasks_per_node == 0) {
    for (std::size_t i = 0; i < std::min(room.size(), tasks.size()); ++i) tasks[i] = std::max(1u, room[i]);
    return tasks;
  }
  const auto all = std::accumulate(tasks.begin(), tasks.end(), std::uint32_t{0});
  const auto space = std::accumulate(room.begin(), room.end(), std::uint64_t{0});
  const bool plain = spec.gres.empty() && !spec.overcommit && spec.tasks_per_node == 0 &&
                     spec.tasks_per_socket == 0 && spec.distribution.nodes != Distribution::Nodes::Arbitrary;
  if (!plain || tasks.size() < 2 || space < all || std::ranges::find(room, 0u) != room.end()) return tasks;
  std::vector<std::uint32_t> dealt = deal_tasks(spec.distribution, all, room);
  // Packed or not, every node has one.
  for (std::uint32_t& here : dealt)
    if (here == 0 && *std::ranges::max_element(dealt) > 1) --*std::ranges::max_element(dealt), ++here;
  return dealt;
}

}  // namespace spur::model
