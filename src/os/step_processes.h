// SPDX-License-Identifier: Apache-2.0
// Which processes the groups of a job hold, and which of them are its tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spur::os {

struct StepProcess {
  std::string step;  // "batch", "0"
  std::uint32_t pid = 0;
  std::optional<std::uint32_t> rank, local_id;  // of the first process of a task
  friend bool operator==(const StepProcess&, const StepProcess&) = default;
};
// Of the job's group at this path: steps by number, "batch" and the like behind them; then by pid.
std::vector<StepProcess> processes_of_job(const std::string& cgroup);

}  // namespace spur::os
