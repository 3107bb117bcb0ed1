// SPDX-License-Identifier: Apache-2.0
// SlurmSchedLogFile: a log of what the scheduler does, in Slurm's look ("sched: [2026-11-15T19:20:18.123] JobId=6
// allocated resources: ..."), beside the controller's own. Any thread may write.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/clock.h"
#include "os/log.h"
#include "os/unique_fd.h"

namespace spur::main {

class SchedulerLog {
 public:
  explicit SchedulerLog(io::Clock& clock) : clock_(clock) {}

  // As the configuration says. A file that cannot be opened leaves everything as it was. No file: nothing is written.
  Status configure(const std::string& file, bool on, os::LogTime time);
  // For whoever renamed the file (logrotate).
  Status reopen();
  // scontrol schedloglevel: until the configuration is read again. Fails where there is no file.
  Status turn(bool on);
  bool is_on() const { return on_; }
  // One line; nothing if it is off.
  void write(std::string_view text);

 private:
  static Result<os::UniqueFd> open(const std::string& file);

  io::Clock& clock_;
  std::atomic<bool> on_{false};
  std::mutex mutex_;
  std::string file_;
  os::LogTime time_ = os::LogTime::IsoMs;
  os::UniqueFd fd_;
};

}  // namespace spur::main
