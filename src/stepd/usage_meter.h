// SPDX-License-Identifier: Apache-2.0
// Samples what the tasks of a step use, every so often, and leaves the samples in a file for the agent, which answers
// sstat from it. Tasks that end before the first sample cost nothing; their sum is known at the end all the same.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/usage.h"
#include "os/event_loop.h"
#include "os/usage_sample.h"
#include "stepd/process_set.h"

namespace spur::stepd {

class UsageMeter {
 public:
  struct Task {
    std::uint32_t rank = 0;
    pid_t pid = 0;
  };
  UsageMeter(os::EventLoop& loop, const ProcessSet& processes) : loop_(loop), processes_(processes) {}
  ~UsageMeter();
  UsageMeter(const UsageMeter&) = delete;
  UsageMeter& operator=(const UsageMeter&) = delete;

  // `every` 0: only at the end. `file` is made with the first sample.
  void start(std::string step, std::vector<Task> tasks, Duration every, std::string file);
  // Of all tasks, with what the kernel counted of ended ones. Call when none is left.
  model::Usage finish();

 private:
  void sample();
  model::Usage usage_of(const Task& task) const;

  os::EventLoop& loop_;
  const ProcessSet& processes_;
  std::vector<Task> tasks_;
  std::map<std::uint32_t, model::Usage> peaks_;
  std::string step_, file_;
  Duration every_{0};
  os::EventLoop::TimerId timer_;
  bool wrote_ = false;
};

}  // namespace spur::stepd
