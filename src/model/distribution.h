// SPDX-License-Identifier: Apache-2.0
// -m: how it is written, and what it means for tasks over nodes. The scheduler, srun and the step manager number
// tasks alike because they all ask here.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"

namespace spur::model {

enum class DistributionFault : std::uint8_t { Unknown, PlaneSize };

// "cyclic", "block:cyclic:fcyclic,Pack", "plane=4", "arbitrary", "*"; words in any case. `plane_size` is what a bare
// "plane" means (SLURM_DIST_PLANESIZE).
std::expected<Distribution, DistributionFault> parse_distribution(std::string_view text,
                                                                  std::optional<std::uint32_t> plane_size);
// As SLURM_DISTRIBUTION has it; empty: nothing was said.
std::string distribution_text(const Distribution& distribution);

// How many of a step's tasks each node gets that has `room` for so many: one at a time in turn (a plane at a time),
// or, packed, as many as fit before the next one. What nobody has room for is dealt out in turn.
std::vector<std::uint32_t> deal_tasks(const Distribution& distribution, std::uint32_t tasks,
                                      std::span<const std::uint32_t> room);

// The numbers of the tasks on each node that has so many. Empty if they just follow each other from node to node.
std::vector<std::vector<std::uint32_t>> task_numbers(const Distribution& distribution,
                                                     std::span<const std::uint32_t> tasks);
// The same where it is said of each task on which of so many nodes it is.
std::vector<std::vector<std::uint32_t>> task_numbers(std::span<const std::uint32_t> node_of_task, std::size_t nodes);

// "(vector,(0,2,4))": which ranks share a node, as MPI libraries want it told; here two nodes of four ranks each,
// from node 0 on. `ranks`: of each node.
std::string process_mapping(const std::vector<std::vector<std::uint32_t>>& ranks);
// The ranks of each node again; nothing if it is no mapping, or one of more than `most` ranks.
std::optional<std::vector<std::vector<std::uint32_t>>> parse_process_mapping(std::string_view text, std::size_t nodes,
                                                                             std::size_t most);

}  // namespace spur::model
