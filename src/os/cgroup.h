// SPDX-License-Identifier: Apache-2.0
// Control groups, version 2 only; version 1 hierarchies are never touched. A job's processes live in
//   <base>/job_<id>[.<epoch>]/step_<name>[/task_<rank>]
// so that all of them can be found, frozen and killed whatever they fork. Limits of a job are set on its group, those
// of a step, where it has less, on the step's; tasks have groups for what they used. Where the kernel gives a
// hierarchy without controllers (hybrid set-ups) all of that still works and only limits are missing; where there is
// no usable hierarchy at all, CgroupBase::problem says why and callers fall back to the process tree.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/agent_message.h"
#include "os/confinement.h"
#include "os/unique_fd.h"

namespace spur::os {

struct CgroupBase {
  UniqueFd lock;        // held while the agent lives: its groups are not left over
  std::string path;     // empty: not usable
  std::string problem;  // one sentence: why nothing is usable, or which limits cannot be enforced; empty: all is well
};
// Makes (or finds) the directory `name` below the calling process's own cgroup, with the controllers on that jobs are
// limited by, where they can be had. A cgroup that holds processes cannot hand controllers on: if all of its
// processes are the caller's own they move into a group `daemon` beside. Needs to be done once per agent.
CgroupBase open_cgroup_base(std::string_view name);
// Removes what agents that are gone have left beside `base` under names that begin with `prefix`: groups in which
// there is no process, which nobody holds the lock of and which did not change for a while (their agent may be about
// to lock them). How many.
std::size_t remove_left_groups(const CgroupBase& base, std::string_view prefix, seconds older_than);
std::string job_cgroup_path(std::string_view base, model::JobRun run);

class Cgroup {
 public:
  // Creates the directory, or opens the one that is there.
  static Result<Cgroup> create(std::string path);
  // One that exists; NotFound otherwise.
  static Result<Cgroup> open(std::string path);

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }   // for clone3(CLONE_INTO_CGROUP)
  std::vector<pid_t> processes() const;  // of this group and those below
  bool populated() const;                // some process is left here or below
  // SIGKILL to every process here and below, also to those being forked.
  Status kill() const;
  Status freeze(bool frozen) const;
  // Removes this group and those below; false while processes are left.
  bool remove() const;

  // What the kernel offers no control for is left out: the agent has warned of that. Anything else that cannot be set
  // is an error. Devices: see os/device_filter.h.
  Status limit(const CgroupLimits& limits) const;
  void delegate(
      bool cpus = false) const;  // lets groups below have limits and counts of their own; where it can be had
  // How many processes here and below were killed for want of memory; 0 where that is not counted.
  std::uint64_t oom_kills() const;
  std::uint64_t peak_memory_bytes() const;  // 0 where not counted
  struct CpuTime {
    std::uint64_t user_us = 0, system_us = 0;
  };
  CpuTime cpu_time() const;  // of all that ever ran here or below; counted without any controller

 private:
  Cgroup(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  UniqueFd fd_;
};

}  // namespace spur::os
