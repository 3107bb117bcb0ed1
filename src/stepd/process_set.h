// SPDX-License-Identifier: Apache-2.0
// All processes of a step on this node, however they forked: the members of its cgroup, or, where there is none,
// everything below the step daemon in the process tree (it adopts orphans: see adopt_orphans).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/cgroup.h"

namespace spur::stepd {

// From now on, processes whose parent ends become children of the caller instead of init's.
void adopt_orphans();

class ProcessSet {
 public:
  // `job_cgroup` is the path of the job's group (made if missing), or empty: no cgroups. Limits that the kernel has
  // no means for are left out (the agent has warned of that).
  static Result<ProcessSet> make(const std::string& job_cgroup, const std::string& step_name,
                                 const os::CgroupLimits& job_limits, const os::CgroupLimits& step_limits = {});

  // Where to put a process of the step: its own group of the step's, or the step's itself. -1: no cgroups.
  int cgroup_fd() const { return step_ ? step_->fd() : -1; }
  Result<int> task_fd(std::uint32_t rank);
  void signal(int signal) const;
  void kill() const;
  bool any_left() const;
  void freeze(bool frozen) const;
  // The whole job, other steps included: for the end of the batch script. Without cgroups: this step.
  void kill_job() const;
  bool any_left_of_job() const;
  // Removes the groups once they are empty. The job's only if `whole_job`.
  void remove(bool whole_job) const;
  std::uint64_t oom_kills() const;  // in the step
  bool out_of_memory() const { return oom_kills() > 0; }

  const std::optional<os::Cgroup>& step() const { return step_; }
  const os::Cgroup* task(std::uint32_t rank) const;

 private:
  std::optional<os::Cgroup> job_, step_;
  std::map<std::uint32_t, os::Cgroup> tasks_;
};

}  // namespace spur::stepd
