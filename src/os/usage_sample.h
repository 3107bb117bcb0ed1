// SPDX-License-Identifier: Apache-2.0
// What processes use right now, from /proc and their cgroup. Peaks are kept by whoever samples (UsagePeaks): the
// kernel only tells those of single processes, and of a cgroup that has the memory controller.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/usage.h"
#include "os/cgroup.h"

namespace spur::os {

// Of living processes together: memory as it is now, CPU time and bytes as they are counted so far. `root` is "", or
// where a test keeps a proc/.
model::Usage usage_of_processes(const std::vector<pid_t>& pids, const std::string& root = {});
// Of a cgroup: its processes, and the CPU time also of those that have ended.
model::Usage usage_of_cgroup(const Cgroup& group);

// Keeps the highest of each, so that what ended processes used is not lost.
void keep_peaks(model::Usage& peaks, const model::Usage& now);

// Samples of one step on one node, as its daemon leaves them for the agent.
struct StepSample {
  struct Task {
    std::uint32_t rank = 0;
    pid_t pid = 0;
    model::Usage usage;
    friend bool operator==(const Task&, const Task&) = default;
  };
  std::string step;  // "batch", "0"
  std::vector<Task> tasks;
  friend bool operator==(const StepSample&, const StepSample&) = default;
};
std::string encode_sample(const StepSample& sample);
Result<StepSample> decode_sample(std::string_view text);

}  // namespace spur::os
