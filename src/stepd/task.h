// SPDX-License-Identifier: Apache-2.0
// Starting one process of a job: cloned into the job's cgroup, turned into the user for good, and only then given the
// user's files. Whatever the user named (symbolic links, other people's files, /proc) is thus opened with his rights
// and by a process that is wholly his. Anything that fails before the program is executed is reported; nothing of the
// job has run then.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/job_spec.h"
#include "os/privileges.h"
#include "os/unique_fd.h"
#include "stepd/task_prolog.h"

namespace spur::stepd {

struct Container;  // stepd/step_container.h

struct TaskPlan {
  os::Identity identity;
  std::string program;                   // with a '/': a path, relative to work_dir; without: looked for in PATH
  std::vector<std::string> arguments;    // argv
  std::vector<std::string> environment;  // without what is set per task
  std::string work_dir;                  // when it cannot be entered, /tmp is
  std::uint32_t umask = 022;
  std::vector<model::ResourceLimit> rlimits;
  int propagate_nice = 0;  // 1: the nice value in SLURM_PRIO_PROCESS; 2: that, but more than ours
  std::uint32_t rank = 0, local_id = 0;
  std::uint32_t told_rank = 0;  // what the task is told: of steps that run as one, counted over all
  std::string message_prefix;

  // A descriptor to use, or the path to open; err: neither means "as out".
  int in_fd = -1, out_fd = -1, err_fd = -1;
  std::string in_path = "/dev/null", out_path, err_path;
  bool append = false;       // to the files, instead of emptying them
  bool is_terminal = false;  // in_fd is the slave side of a pty: it becomes the controlling terminal
  int cgroup_fd = -1;
  int kept_fd = -1;          // stays open, with the same number
  bool may_outlive = false;  // us; else it ends with us

  std::string node;
  std::vector<std::uint32_t> cpus{};                  // the kernel's numbers, to be bound to; empty: as the daemon
  std::vector<std::uint32_t> memory_nodes{};          // the same of memory
  bool memory_preferred = false;                      // rather than bound
  std::string_view cpu_bind_word{}, mem_bind_word{};  // for a line that tells of it; empty: none
  std::vector<std::pair<HookOf, std::string>> task_prologs{};  // run in order; their output changes the environment
  std::optional<HookOf> epilog_of{};                           // this is an epilog: if it cannot be run, a report
  std::vector<std::string> own_environment{};         // of this task alone

  std::shared_ptr<const Container> container{};  // entered after the files are open and the task prolog has run
  std::string inner_work_dir{};                  // with it: instead of work_dir
  std::vector<std::string> notes{};              // lines for the user, before the program starts
  std::string refusal{};                         // instead of running anything: why, and exit status 1
};

// The plan of a program that runs after the task, in its place: the site's or the user's epilog.
TaskPlan epilog_plan(const TaskPlan& task, const std::string& program, HookOf of);

struct StartedTask {
  pid_t pid = -1;
  os::UniqueFd reports;  // see next_report
};
// SIGCHLD tells of the task's end; the caller reaps it.
Result<StartedTask> start_task(const TaskPlan& plan);

struct TaskReport {
  bool launch_failed = false;
  bool by_user = false;  // because of a file that the user named: trying again elsewhere helps nobody
  std::string error;
  os::UniqueFd error_output;  // unless it failed: the task's standard error, for messages of ours
};
// The report that waits on the descriptor; nullopt when there is none (end of file after the program was executed).
std::optional<TaskReport> next_report(int fd);

}  // namespace spur::stepd
