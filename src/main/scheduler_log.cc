// SPDX-License-Identifier: Apache-2.0
#include "main/scheduler_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace spur::main {

Result<os::UniqueFd> SchedulerLog::open(const std::string& file) {
  if (file.empty()) return os::UniqueFd();
  os::UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd)
    return fail(ErrorCode::Internal,
                fmt::format("cannot open SlurmSchedLogFile {}: {}", file, std::system_category().message(errno)));
  return fd;
}

Status SchedulerLog::configure(const std::string& file, bool on, os::LogTime time) {
  SPUR_ASSIGN(auto fd, open(file));
  const std::lock_guard lock(mutex_);
  fd_ = std::move(fd);
  file_ = file;
  time_ = time;
  on_ = on && !file.empty();
  return {};
}

Status SchedulerLog::reopen() {
  const std::lock_guard lock(mutex_);
  SPUR_ASSIGN(fd_, open(file_));
  return {};
}

Status SchedulerLog::turn(bool on) {
  const std::lock_guard lock(mutex_);
  if (file_.empty())
    return fail(ErrorCode::RequestDisabled, std::string(slurm_message(ErrorCode::RequestDisabled)));
  on_ = on;
  return {};
}

// What cannot be written (a full disk) is lost: the controller's own log says the same in fewer words.
void SchedulerLog::write(std::string_view text) {
  if (!on_) return;
  const std::lock_guard lock(mutex_);
  const std::string line = fmt::format("sched: [{}] {}\n", os::log_time(clock_.now(), time_), os::escape_control(text));
  [[maybe_unused]] const auto written = ::write(fd_.get(), line.data(), line.size());
}

}  // namespace spur::main
