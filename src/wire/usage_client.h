// SPDX-License-Identifier: Apache-2.0
// Asks one agent what the steps of a job use on its node, as sstat does. The ticket is the one that steps are run
// with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/usage.h"

namespace spur::wire {

struct NodeUsage {
  struct Task {
    std::uint32_t rank = 0, pid = 0;
    model::Usage usage;
  };
  struct Step {
    std::string name;  // "batch", "0"
    std::vector<Task> tasks;
  };
  std::string node;
  std::vector<Step> steps;
};

Result<NodeUsage> ask_usage(const std::string& address, const std::string& ticket, Duration timeout);

}  // namespace spur::wire
