// SPDX-License-Identifier: Apache-2.0
#include "stepd/task_prolog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "os/files.h"
#include "os/unique_fd.h"
#include "stepd/job_environment.h"

namespace spur::stepd {
namespace {

constexpr std::size_t kMostOutput = std::size_t{1} << 20;

// What follows the verb; nothing if the line does not begin with it.
std::optional<std::string_view> behind(std::string_view line, std::string_view verb) {
  if (!line.starts_with(verb) || line.size() == verb.size()) return std::nullopt;
  line.remove_prefix(verb.size());
  if (line.front() != ' ' && line.front() != '\t') return std::nullopt;
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line;
}

[[noreturn]] void execute(const std::string& path, const std::vector<std::string>& environment, int out) {
  ::dup2(out, STDOUT_FILENO);
  // The task's input is not for it, and what it complains of nobody hears, as in Slurm.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDERR_FILENO);
  std::vector<char*> env;
  for (const auto& entry : environment) env.push_back(const_cast<char*>(entry.c_str()));
  env.push_back(nullptr);
  char* argv[] = {const_cast<char*>(path.c_str()), nullptr};
  ::execve(path.c_str(), argv, env.data());
  ::_exit(127);
}

}  // namespace

std::string apply_prolog_output(std::string_view output, std::vector<std::string>& environment) {
  std::string printed;
  while (!output.empty()) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(line.size() + 1, output.size()));
    if (const auto text = behind(line, "print")) {
      printed.append(*text).push_back('\n');
    } else if (const auto entry = behind(line, "export")) {
      const auto equals = entry->find('=');
      if (equals == std::string_view::npos || equals == 0) continue;
      set_entry(environment, entry->substr(0, equals), entry->substr(equals + 1));
    } else if (const auto name = behind(line, "unset")) {
      const std::string start = fmt::format("{}=", name->substr(0, name->find_last_not_of(" \t") + 1));
      std::erase_if(environment, [&](const std::string& e) { return e.starts_with(start); });
    }
  }
  return printed;
}

PrologEnd run_task_prolog(const std::string& path, HookOf of, std::vector<std::string>& environment) {
  const std::string_view whose = of == HookOf::Site ? "slurm" : "user";
  const std::string_view option = of == HookOf::Site ? "TaskProlog" : "--task-prolog";
  const auto failed = [&](int exit, std::vector<std::string> lines) {
    lines.push_back(fmt::format("{} failed status={}", option, exit));
    return PrologEnd{exit, std::move(lines)};
  };
  const std::string config_error =
      fmt::format("{} task_prolog did not exit normally. reason: Run command failed - configuration error", whose);
  const auto cannot = [&](int error) {
    return failed(1, {fmt::format("run_command: {} task_prolog can not be executed ({}) {}", whose, path,
                                  std::strerror(error)),
                      config_error});
  };
  if (!path.starts_with('/'))
    return failed(1, {fmt::format("run_command: {} task_prolog is not fully qualified pathname ({})", whose, path),
                      config_error});
  if (::access(path.c_str(), R_OK | X_OK) != 0) return cannot(errno);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return cannot(errno);
  const os::UniqueFd in(ends[0]);
  os::UniqueFd out(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<std::string> told = environment;
    set_entry(told, "SLURM_SCRIPT_CONTEXT", "prolog_task");
    execute(path, told, out.get());
  }
  out.reset();
  if (child < 0) return cannot(errno);
  std::string output;
  char buffer[4096];
  for (ssize_t n; (n = ::read(in.get(), buffer, sizeof buffer)) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    if (output.size() < kMostOutput) output.append(buffer, static_cast<std::size_t>(n));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string printed = apply_prolog_output(output, environment);
  [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, printed.data(), printed.size());
  if (WIFSIGNALED(status)) return failed(1, {fmt::format("{} task_prolog did not exit normally. reason: ", whose)});
  if (status != 0) return failed(WEXITSTATUS(status), {});
  return {};
}

std::string epilog_denied(const std::string& path, HookOf of) {
  return fmt::format("Could not run {} task_epilog [{}]: access denied", of == HookOf::Site ? "slurm" : "user",
                     path);
}

// Slurm names the option where it was the site's, and the other way round.
std::string epilog_failed(int wait_status, HookOf of) {
  return fmt::format("{} failed status={}", of == HookOf::Site ? "--task-epilog" : "TaskEpilog", wait_status);
}

}  // namespace spur::stepd
