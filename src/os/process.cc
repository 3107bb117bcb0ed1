// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "base/check.h"
#include "os/files.h"

namespace spur::os {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const auto& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

// What posix_spawn is to do with descriptors, and the copies it needs for that.
struct SpawnFiles {
  posix_spawn_file_actions_t actions;
  std::vector<UniqueFd> copies;
  SpawnFiles() { ::posix_spawn_file_actions_init(&actions); }
  ~SpawnFiles() { ::posix_spawn_file_actions_destroy(&actions); }

  Status arrange(const std::vector<int>& fds) {
    const int count = static_cast<int>(fds.size());
    for (int target = 0; target < count; ++target) {
      int source = fds[static_cast<std::size_t>(target)];
      if (source < count) {  // could be overwritten before its turn
        copies.emplace_back(::fcntl(source, F_DUPFD_CLOEXEC, count));
        if (!copies.back()) return fail_errno("cannot copy a descriptor", errno);
        source = copies.back().get();
      }
      ::posix_spawn_file_actions_adddup2(&actions, source, target);
    }
    ::posix_spawn_file_actions_addclosefrom_np(&actions, count);
    return {};
  }
};

std::optional<std::string> read_small(const char* path) {
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<Spawned> spawn(const SpawnRequest& request) {
  SpawnFiles files;
  SPUR_TRY(files.arrange(request.fds));
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (request.new_session) flags |= POSIX_SPAWN_SETSID;
  ::posix_spawnattr_setflags(&attributes, flags);
  const auto argv = pointers_to(request.arguments), env = pointers_to(request.environment);
  Spawned out;
  const int rc = ::posix_spawn(&out.pid, request.path.c_str(), &files.actions, &attributes, argv.data(), env.data());
  ::posix_spawnattr_destroy(&attributes);
  if (rc != 0) return fail_errno("cannot start " + request.path, rc);
  out.pidfd = open_pidfd(out.pid);  // cannot name another process: ours stays a zombie until we reap it
  if (!out.pidfd) {
    const int error = errno;
    ::kill(out.pid, SIGKILL);
    ::waitpid(out.pid, nullptr, 0);
    return fail_errno("cannot watch " + request.path, error);
  }
  return out;
}

UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

std::optional<model::ExitStatus> reap(const UniqueFd& pidfd) {
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0)
    return std::nullopt;
  model::ExitStatus status;
  if (info.si_code == CLD_EXITED)
    status.code = static_cast<std::uint16_t>(info.si_status);
  else
    status.signal = static_cast<std::uint16_t>(info.si_status);
  return status;
}

model::ExitStatus exit_status_of(int wait_status) {
  model::ExitStatus status;
  if (WIFEXITED(wait_status)) status.code = static_cast<std::uint16_t>(WEXITSTATUS(wait_status));
  if (WIFSIGNALED(wait_status)) status.signal = static_cast<std::uint16_t>(WTERMSIG(wait_status));
  return status;
}

std::optional<ProcessStat> process_stat(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const auto text = read_small(path);
  if (!text) return std::nullopt;
  // The name is in parentheses and may hold anything, parentheses too: the fields start after the last one.
  const auto end = text->rfind(')');
  if (end == std::string::npos) return std::nullopt;
  ProcessStat stat{.pid = pid};
  if (std::sscanf(text->c_str() + end + 1, " %c %d %d %d", &stat.state, &stat.parent, &stat.group, &stat.session) !=
      4)
    return std::nullopt;
  return stat;
}

std::vector<ProcessStat> all_processes() {
  std::vector<ProcessStat> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir("/proc"), ::closedir);
  if (!dir) return out;
  while (const dirent* entry = ::readdir(dir.get())) {
    pid_t pid = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    if (const auto [stop, error] = std::from_chars(entry->d_name, end, pid); error != std::errc{} || stop != end)
      continue;
    if (const auto stat = process_stat(pid)) out.push_back(*stat);
  }
  return out;
}

std::vector<pid_t> descendants_of(pid_t root) {
  std::unordered_multimap<pid_t, ProcessStat> children;
  for (const auto& stat : all_processes()) children.emplace(stat.parent, stat);
  std::vector<pid_t> out, parents{root};
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto it = first; it != last; ++it) {
      parents.push_back(it->second.pid);
      if (it->second.state != 'Z') out.push_back(it->second.pid);
    }
  }
  std::ranges::sort(out);
  return out;
}

bool has_environment_entry(pid_t pid, std::string_view entry) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/environ", pid);
  const auto text = read_small(path);
  const std::string wanted = std::string(1, '\0') + std::string(entry) + '\0';
  return text && (std::string(1, '\0') + *text + '\0').find(wanted) != std::string::npos;
}

std::vector<pid_t> processes_of(pid_t session, std::string_view entry) {
  std::vector<pid_t> out;
  for (const auto& stat : all_processes()) {
    if (stat.state == 'Z') continue;
    const bool ours = session > 0 && stat.session == session;
    if (ours || (!entry.empty() && has_environment_entry(stat.pid, entry))) out.push_back(stat.pid);
  }
  return out;
}

}  // namespace spur::os
