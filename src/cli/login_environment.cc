// SPDX-License-Identifier: Apache-2.0
#include "cli/login_environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace spur::cli {
namespace {

// What start-up files print themselves comes before it.
constexpr std::string_view kMark = "=spur-login-environment=";
constexpr std::size_t kMost = 4u << 20;

std::string shell_of(const passwd& user) {
  return user.pw_shell && *user.pw_shell ? user.pw_shell : "/bin/sh";
}

// What every login begins with.
std::vector<std::string> first_variables(const passwd& user) {
  return {fmt::format("HOME={}", user.pw_dir), fmt::format("USER={}", user.pw_name),
          fmt::format("LOGNAME={}", user.pw_name), "SHELL=" + shell_of(user), "PATH=/usr/local/bin:/usr/bin:/bin"};
}

struct Child {
  pid_t pid = -1;
  int out = -1;
};

Result<Child> start(const passwd& user) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorCode::Internal, "no pipe for the login shell");
  const std::string command = fmt::format("printf '%s' '{}'; exec /usr/bin/env -0", kMark);
  std::vector<std::string> words = {shell_of(user), "-l", "-c", command};
  if (::geteuid() == 0) words = {"/bin/su", "-", user.pw_name, "-c", command};
  std::vector<std::string> variables = first_variables(user);
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : variables) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // so that all of it can be ended
  Child child{.pid = -1, .out = ends[0]};
  const int failed = ::posix_spawn(&child.pid, argv[0], &actions, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(ends[1]);
  if (failed == 0) return child;
  ::close(ends[0]);
  return fail(ErrorCode::Internal, fmt::format("{} cannot be run", words[0]));
}

// All that it writes until it ends; false: not in time, or too much.
bool read_all(int from, seconds limit, std::string* text) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd waits{.fd = from, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&waits, 1, static_cast<int>(left.count())) == 0) return false;
    char piece[65536];
    const ssize_t got = ::read(from, piece, sizeof piece);
    if (got <= 0) return true;
    text->append(piece, static_cast<std::size_t>(got));
    if (text->size() > kMost) return false;
  }
}

}  // namespace

std::vector<std::string> bare_environment(Uid uid) {
  const passwd* user = ::getpwuid(uid.value);
  return user != nullptr ? first_variables(*user) : std::vector<std::string>{};
}

Result<std::vector<std::string>> login_environment(Uid uid, seconds limit) {
  const passwd* user = ::getpwuid(uid.value);
  if (!user) return fail(ErrorCode::InvalidUser, fmt::format("there is no user {}", uid.value));
  SPUR_ASSIGN(const Child child, start(*user));
  std::string text;
  const bool whole = read_all(child.out, limit, &text);
  ::close(child.out);
  if (!whole) ::kill(-child.pid, SIGKILL);
  ::waitpid(child.pid, nullptr, 0);
  const std::size_t mark = text.find(kMark);
  if (!whole || mark == std::string::npos)
    return fail(ErrorCode::TimedOut,
                fmt::format("the login environment of {} was not told within {} s", user->pw_name, limit.count()));
  std::vector<std::string> entries;
  for (std::size_t at = mark + kMark.size(); at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    if (end > at) entries.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return entries;
}

}  // namespace spur::cli
