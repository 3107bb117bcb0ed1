// SPDX-License-Identifier: Apache-2.0
// How the tasks ended: srun's lines about those that did not end well, several of one node and kind in one line, and
// srun's own exit status, the highest of all (128 + signal for a task that a signal ended).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/index_set.h"
#include "cli/context.h"
#include "cli/step_runner.h"

namespace spur::cli {

class TaskExits {
 public:
  void add(const wire::StepEvents::Exit& exit);
  // Prints what came since the last call.
  // With SLURM_SRUN_REDUCE_TASK_EXIT_MSG each kind of end only once.
  void report(Context& context);
  int status() const { return status_; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(ended_.size()); }
  bool has_unreported() const { return !unreported_.empty(); }
  // "tasks 0-2: running", "task 3: exited": how `tasks` tasks are.
  std::vector<std::string> states(std::uint32_t tasks) const;
  bool any_bad() const { return status_ != 0; }
  bool any_killed() const { return killed_; }  // by TERM or KILL

 private:
  std::map<std::pair<std::string, std::string>, IndexSet> unreported_;  // (node, what happened) -> ranks
  std::set<std::string> told_;
  int status_ = 0;
  IndexSet ended_, bad_;
  bool killed_ = false;
};

}  // namespace spur::cli
