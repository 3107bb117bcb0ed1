// SPDX-License-Identifier: Apache-2.0
// Which nodes of the job a step uses and how many tasks it has. Pure. Where nothing says how many tasks go to each
// node, that is left to the step manager, who knows the CPUs, as is whether they fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job_spec.h"

namespace spur::cli {

struct StepSize {
  std::optional<std::uint32_t> tasks, nodes;    // -n, -N as given for the step
  std::optional<std::uint32_t> max_nodes = std::nullopt;  // -N 2-4: nodes is 2, this is 4
  std::uint32_t tasks_per_node = 0;             // 0: not given
  std::vector<std::string> required, excluded;  // -w, -x
  std::optional<std::uint32_t> relative{};      // -r: from that node of the job on
  model::Distribution distribution{};           // with an arbitrary one `required` names a node for every task
};

struct StepLayout {
  std::vector<std::size_t> nodes;  // positions in the job's node list
  // Where the step manager may take others because these are busy: all that it may take, the first `required` of
  // which it must.
  std::vector<std::size_t> candidates{};
  std::uint32_t required = 0, max_tasks_per_node = 0;
  std::vector<std::uint32_t> tasks_per_node;  // parallel to nodes; empty: the step manager's choice
  std::vector<std::uint32_t> task_nodes;      // of an arbitrary distribution: by rank, a position in `nodes` here
  std::uint32_t tasks = 0;
  bool fewer_nodes = false;             // -N was larger than -n and has been cut
  bool ignored_tasks_per_node = false;  // it did not go with -n and -N
  friend bool operator==(const StepLayout&, const StepLayout&) = default;
};

// `slots`: tasks per node of the job's own layout.
Result<StepLayout> lay_out_step(const std::vector<std::string>& nodes, const std::vector<std::uint32_t>& slots,
                                const StepSize& size);

}  // namespace spur::cli
