// SPDX-License-Identifier: Apache-2.0
// Becoming a daemon so that the exit status of the command that started it tells the truth: the parent waits until
// the daemon is ready or has failed. Also the pid file and the limit on open files.
//
//   main:  SPUR_ASSIGN(StartReport report, daemonise());       // before any thread, socket or file
//          ... open everything; on an error: report.failed("fatal: ..."); return 1;
//          report.ready();                                     // the command line gets its prompt back, with status
//          0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/unique_fd.h"

namespace spur::os {

// The daemon's end of the pipe on which the starting process waits. Gone without ready(), it counts as failed.
class StartReport {
 public:
  StartReport() = default;  // in the foreground: nobody waits
  explicit StartReport(UniqueFd pipe) : pipe_(std::move(pipe)) {}
  StartReport(StartReport&&) noexcept = default;
  StartReport& operator=(StartReport&&) noexcept = default;

  // All is open and served. A daemon now lets go of the terminal and of the working directory.
  Status ready();
  // The starting process prints `message` on stderr and exits with status 1; in the foreground it is printed here.
  void failed(std::string_view message);

 private:
  UniqueFd pipe_;
};

// Returns only in the daemon: a new session without terminal, umask 022. The process that called it exits with 0
// after ready(), else with 1. One thread only may exist.
Result<StartReport> daemonise();

// A file with the daemon's pid, locked for as long as it lives, so that a stale one is never mistaken for a living
// one.
class PidFile {
 public:
  PidFile() = default;
  PidFile(PidFile&& other) noexcept = default;
  PidFile& operator=(PidFile&& other) noexcept;
  ~PidFile();  // removes the file
  // Busy, with the pid in the message, if another process holds it.
  static Result<PidFile> create(const std::string& path);

 private:
  PidFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string path_;
};

// As many open files as the kernel lets us have. `before` is what jobs should get back.
struct OpenFileLimit {
  std::uint64_t before = 0, now = 0;
};
OpenFileLimit raise_open_file_limit();

}  // namespace spur::os
