// SPDX-License-Identifier: Apache-2.0
// How many tasks of a step go to which nodes of the job. Pure; whether they fit is the step manager's to decide.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace spur::cli {

struct StepSize {
  std::optional<std::uint32_t> tasks, nodes;   // -n, -N as given for the step
  std::uint32_t tasks_per_node = 0;            // 0: not given
  std::vector<std::string> required, excluded; // -w, -x
};

struct StepLayout {
  std::vector<std::size_t> nodes;              // positions in the job's node list
  std::vector<std::uint32_t> tasks_per_node;   // parallel; each at least 1
  std::uint32_t tasks = 0;
  bool fewer_nodes = false;                    // -N was larger than -n and has been cut
  bool ignored_tasks_per_node = false;         // it did not go with -n and -N
  friend bool operator==(const StepLayout&, const StepLayout&) = default;
};

// `slots`: tasks per node of the job's own layout. Fills nodes one after the other (block distribution).
Result<StepLayout> lay_out_step(const std::vector<std::string>& nodes, const std::vector<std::uint32_t>& slots, const StepSize& size);

}  // namespace spur::cli
