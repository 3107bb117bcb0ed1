// SPDX-License-Identifier: Apache-2.0
// TaskProlog and TaskEpilog: programs that run as the user before and after each task, the site's (slurm.conf) and
// the user's own (srun --task-prolog). What a prolog writes changes the task's environment: "export NAME=value",
// "unset NAME", and "print text" for the task's own output. One that fails keeps the task from running.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spur::stepd {

// The site's; empty: none.
struct TaskHooks {
  std::string prolog{}, epilog{};
  int propagate_nice = 0;  // PropagatePrioProcess
};
enum class HookOf : bool { Site, User };

struct PrologEnd {
  int exit = 0;                     // with which the task ends instead of running; 0: it runs
  std::vector<std::string> lines{};  // for the task's standard error, as Slurm words them
};
// Runs it in this process's place and rights, waits, and applies what it wrote; its "print" lines go to standard
// output.
PrologEnd run_task_prolog(const std::string& path, HookOf of, std::vector<std::string>& environment);

// The text that is to be printed. Pure.
std::string apply_prolog_output(std::string_view output, std::vector<std::string>& environment);

// What is said of an epilog that cannot be run, and of one that failed, by its wait(2) status.
std::string epilog_denied(const std::string& path, HookOf of);
std::string epilog_failed(int wait_status, HookOf of);

}  // namespace spur::stepd
