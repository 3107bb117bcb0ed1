// SPDX-License-Identifier: Apache-2.0
// Starting, watching and finding processes. spawn() never copies the caller's memory (posix_spawn: the child borrows
// it until exec), so that a daemon of a gigabyte starts programs as fast as a small one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "os/unique_fd.h"

namespace spur::os {

struct SpawnRequest {
  std::string path;
  std::vector<std::string> arguments;    // argv, the name included
  std::vector<std::string> environment;  // NAME=VALUE, all of it
  std::vector<int> fds;  // descriptors of the caller that become 0, 1, 2 ... there; all others are closed
  bool new_session = false;
};
struct Spawned {
  pid_t pid = -1;
  UniqueFd pidfd;
};
// No signal is blocked or ignored in the new process.
Result<Spawned> spawn(const SpawnRequest& request);

// Empty when there is no such process.
UniqueFd open_pidfd(pid_t pid);
// How the process ended, which must be a child; nullopt while it runs or when it is somebody else's child.
std::optional<model::ExitStatus> reap(const UniqueFd& pidfd);
model::ExitStatus exit_status_of(int wait_status);

struct ProcessStat {
  pid_t pid = 0, parent = 0, group = 0, session = 0;
  char state = '?';  // 'Z': ended, not reaped
};
std::optional<ProcessStat> process_stat(pid_t pid);
// Every process there is now.
std::vector<ProcessStat> all_processes();
// Processes below `root` in the tree, without `root` and without ended ones.
std::vector<pid_t> descendants_of(pid_t root);
// Processes of the session, and those that carry `entry` ("NAME=VALUE") in the environment they were started with.
std::vector<pid_t> processes_of(pid_t session, std::string_view entry);
// Whether the process was started with this NAME=VALUE.
bool has_environment_entry(pid_t pid, std::string_view entry);

}  // namespace spur::os
