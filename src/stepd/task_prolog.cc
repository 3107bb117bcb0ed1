// SPDX-License-Identifier: Apache-2.0
#include "stepd/task_prolog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/files.h"
#include "os/unique_fd.h"
#include "stepd/job_environment.h"

namespace spur::stepd {
namespace {

constexpr std::size_t kMostOutput = std::size_t{1} << 20;

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(word.size());
  return word;
}

[[noreturn]] void execute(const std::string& path, const std::vector<std::string>& environment, int out) {
  ::dup2(out, STDOUT_FILENO);
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
    std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(line.size() + 1, output.size()));
    const std::string_view verb = next_word(line);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const auto equals = line.find('=');
    if (verb == "print") {
      printed.append(line).push_back('\n');
    } else if (verb == "export" && equals != std::string_view::npos && equals > 0) {
      std::string_view value = line.substr(equals + 1);
      if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
      set_entry(environment, line.substr(0, equals), value);
    } else if (verb == "unset") {
      const std::string start = fmt::format("{}=", line.substr(0, line.find_last_not_of(" \t") + 1));
      std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(start); });
    }
  }
  return printed;
}

Status run_task_prolog(const std::string& path, std::vector<std::string>& environment) {
  const auto failed = [&](std::string_view why) {
    return fail(ErrorCode::NotFound, fmt::format("Could not run task_prolog [{}]: {}", path, why));
  };
  if (::access(path.c_str(), R_OK | X_OK) != 0) return failed(std::strerror(errno));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed(std::strerror(errno));
  const os::UniqueFd in(ends[0]);
  os::UniqueFd out(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) execute(path, environment, out.get());
  out.reset();
  if (child < 0) return failed(std::strerror(errno));
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
  if (status != 0) return fail(ErrorCode::NotFound, fmt::format("TaskProlog failed status={}", status));
  return {};
}

}  // namespace spur::stepd
