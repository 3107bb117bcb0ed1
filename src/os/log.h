// SPDX-License-Identifier: Apache-2.0
// A daemon's log, in Slurm's words and look, so that what people grep for still matches:
// - file: [2026-11-15T19:20:18.123] error: cannot open /x (local time; fatal, error, warning and debug have a word)
// - stderr: spurctld: error: cannot open /x
// - syslog: error: cannot open /x
// or one JSON object per line. One message is one line: control characters are written as \x1b or \n, so nothing a
// user chooses (a job's name) can forge a line or talk to a terminal. Any thread may write. A line is one write(2) in
// append mode; what cannot be written (disk full) is counted and the count is logged once it works again.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "io/clock.h"
#include "os/unique_fd.h"
#include "text/debug_flags.h"

namespace spur::os {

// As in configuration: Slurm's, with Warning added.
enum class LogLevel : std::uint8_t {
  Quiet,
  Fatal,
  Error,
  Warning,
  Info,
  Verbose,
  Debug,
  Debug2,
  Debug3,
  Debug4,
  Debug5
};

// As in configuration.
enum class LogTime : std::uint8_t { Iso, IsoMs, Rfc5424, Rfc5424Ms, Rfc3339, Clock, Short, ThreadId };

class Log {
 public:
  struct Targets {
    LogLevel level = LogLevel::Info;  // this and what is graver
    bool json = false;                // file and stderr
    LogTime time = LogTime::IsoMs;    // in the file; lines of JSON always have that one
    std::string file;                 // empty: none
    bool to_stderr = true;
    LogLevel stderr_level = LogLevel::Debug5;  // of those, this and what is graver
    bool to_syslog = false;
    std::optional<LogLevel> syslog_level{};  // there, instead of `level`
    friend bool operator==(const Targets&, const Targets&) = default;
  };

  // Writes to stderr until told otherwise.
  Log(std::string program, io::Clock& clock);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // All or nothing: if the file cannot be opened, everything stays as it was. A relative path counts from here.
  Status set_targets(Targets targets);
  // Opens the file anew, for whoever renamed it (logrotate).
  Status reopen();
  // From now on what others write to stderr (libraries, failed checks, child processes) goes to the file, or nowhere
  // if there is none. Our own lines still go where stderr led until set_targets() says otherwise.
  Status capture_stderr();

  bool wants(LogLevel level) const {
    return level <= level_.load(std::memory_order_relaxed) && level != LogLevel::Quiet;
  }
  void write(LogLevel level, std::string_view message);

  // Lines about these (Slurm's DebugFlags) are written as info, about all others as debug.
  void set_subjects(text::DebugFlags subjects) { subjects_ = subjects; }
  text::DebugFlags subjects() const { return subjects_; }
  bool traces(text::DebugFlags subject) const { return (subjects_ & subject) != 0; }
  // "BACKFILL: ...".
  void about(text::DebugFlags subject, std::string_view message);

  template <class... Args>
  void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    if (wants(level)) write(level, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void fatal(fmt::format_string<Args...> format, Args&&... args) {
    log(LogLevel::Fatal, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    log(LogLevel::Error, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) {
    log(LogLevel::Warning, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    log(LogLevel::Info, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) {
    log(LogLevel::Debug, format, std::forward<Args>(args)...);
  }

 private:
  Status redirect_stderr();
  void write_file(std::string_view line);

  const std::string program_;
  io::Clock& clock_;
  std::atomic<LogLevel> level_{LogLevel::Info};
  std::atomic<text::DebugFlags> subjects_{0};
  std::mutex mutex_;
  Targets targets_;
  UniqueFd file_;
  bool stderr_captured_ = false;
  UniqueFd console_;  // where stderr led, once it is captured
  std::uint64_t lost_ = 0;
};

// Printable on one line: control characters and what is no UTF-8 escaped, all else left alone.
std::string escape_control(std::string_view text);
// "2026-11-15T19:20:18.123", local time.
std::string log_time(Time time, LogTime format = LogTime::IsoMs);

}  // namespace spur::os
