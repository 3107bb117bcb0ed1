// SPDX-License-Identifier: Apache-2.0
#include "stepd/job_message.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>

#include <cerrno>
#include <cstring>

#include "os/unique_fd.h"

namespace spur::stepd {
namespace {

std::string local_time(Time at) {
  const time_t seconds_since = static_cast<time_t>(to_unix_seconds(at));
  tm parts{};
  ::localtime_r(&seconds_since, &parts);
  char text[32];
  const std::size_t length = ::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return std::string(text, length);
}

std::string_view because(model::JobState why) {
  using model::JobState;
  switch (why) {
    case JobState::Timeout:
    case JobState::Deadline:
      return " DUE TO TIME LIMIT";
    case JobState::Preempted:
      return " DUE TO PREEMPTION";
    case JobState::NodeFail:
      return " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS";
    case JobState::Pending:  // goes back into the queue
      return " DUE TO JOB REQUEUE";
    default:
      return "";
  }
}

// The interpreter that a script's first line names; empty if there is none.
std::string interpreter_of(const std::string& program) {
  const os::UniqueFd fd(::open(program.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char head[256];
  const ssize_t got = fd ? ::read(fd.get(), head, sizeof head) : 0;
  std::string_view line(head, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (!line.starts_with("#!")) return {};
  line.remove_prefix(2);
  line = line.substr(0, line.find('\n'));
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return std::string(line.substr(0, line.find_first_of(" \t")));
}

}  // namespace

std::string message_prefix(std::string_view node_of_step) {
  return node_of_step.empty() ? "slurmstepd: error: " : fmt::format("slurmstepd-{}: error: ", node_of_step);
}

std::string end_message(std::string_view what, std::string_view node, Time at, model::JobState why) {
  if (why == model::JobState::Failed)
    return fmt::format("*** {} ON {} FAILED (non-zero exit code or other failure mode) ***", what, node);
  return fmt::format("*** {} ON {} CANCELLED AT {}{} ***", what, node, local_time(at), because(why));
}

std::string oom_message(std::uint64_t kills, std::string_view step) {
  return fmt::format(
      "Detected {} oom-kill event(s) in StepId={}. Some of your processes may have been killed by the cgroup "
      "out-of-memory handler.",
      kills, step);
}

std::string exec_message(const std::string& program, int error) {
  if (error == ENOENT)
    if (const auto interpreter = interpreter_of(program); !interpreter.empty())
      return fmt::format("execve(): bad interpreter({}): {}", interpreter, std::strerror(error));
  return fmt::format("execve(): {}: {}", program, std::strerror(error));
}

}  // namespace spur::stepd
