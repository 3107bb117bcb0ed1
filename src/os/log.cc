// SPDX-License-Identifier: Apache-2.0
#include "os/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "os/files.h"
#include "text/words.h"

namespace spur::os {
namespace {

struct LevelRow {
  std::string_view prefix;  // Slurm writes none for info and verbose
  std::string_view name;
  int syslog_priority;
};

const LevelRow& row_of(LogLevel level) {
  static constexpr LevelRow kRows[] = {
      {"", "quiet", LOG_DEBUG},
      {"fatal: ", "fatal", LOG_CRIT},
      {"error: ", "error", LOG_ERR},
      {"warning: ", "warning", LOG_WARNING},
      {"", "info", LOG_INFO},
      {"", "verbose", LOG_INFO},
      {"debug:  ", "debug", LOG_DEBUG},
      {"debug2: ", "debug2", LOG_DEBUG},
      {"debug3: ", "debug3", LOG_DEBUG},
      {"debug4: ", "debug4", LOG_DEBUG},
      {"debug5: ", "debug5", LOG_DEBUG},
  };
  return kRows[static_cast<std::size_t>(level)];
}

// The message is escaped already, so only the backslash and the quote are left to JSON.
std::string json_line(std::string_view time, std::string_view level, std::string_view program,
                      std::string_view message) {
  std::string quoted;
  for (const char c : message) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return fmt::format("{{\"time\":\"{}\",\"level\":\"{}\",\"program\":\"{}\",\"message\":\"{}\"}}\n", time, level,
                     program, quoted);
}

// How many bytes the first character has if it may be shown as it is; 0 for control characters of both sets and for
// what is no UTF-8.
std::size_t printable_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (at(0) < 0x80) return at(0) >= 0x20 && at(0) != 0x7f ? 1 : 0;
  const std::size_t length = at(0) >= 0xf0 ? 4 : at(0) >= 0xe0 ? 3 : 2;
  if (at(0) < 0xc2 || at(0) > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = at(0) & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (at(i) & 0x3f);
  }
  constexpr std::uint32_t kLowest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLowest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
  return code >= 0xa0 ? length : 0;
}

Result<UniqueFd> open_log(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return fail_errno(fmt::format("cannot open log file {}", path), errno);
  return fd;
}

bool write_line(int fd, std::string_view line) {
  for (;;) {
    const ssize_t n = ::write(fd, line.data(), line.size());
    if (n < 0 && errno == EINTR) continue;
    return n == static_cast<ssize_t>(line.size());
  }
}

}  // namespace

std::string escape_control(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    const std::size_t length = printable_length(text);
    if (length > 0) {
      out += text.substr(0, length);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += fmt::format("\\x{:02x}", c);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

// "+01:00" behind UTC, as in RFC 3339.
static std::string zone_of(const tm& local) {
  const long minutes = std::labs(local.tm_gmtoff) / 60;
  return fmt::format("{}{:02}:{:02}", local.tm_gmtoff < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

std::string log_time(Time time, LogTime format) {
  const std::int64_t micros = to_micros(time);
  const time_t whole = to_unix_seconds(time);
  const std::int64_t fraction = micros - whole * 1'000'000;
  tm local{};
  ::localtime_r(&whole, &local);
  char text[64] = {};
  switch (format) {
    case LogTime::Clock:
      return fmt::format("{}", ::clock());
    case LogTime::Short:
      ::strftime(text, sizeof text, "%b %d %T", &local);
      return text;
    case LogTime::ThreadId: {
      char name[16] = {};
      ::pthread_getname_np(::pthread_self(), name, sizeof name);
      ::strftime(text, sizeof text, "%b %d %T", &local);
      return fmt::format("{}.{:06} {} {} {}", text, fraction, ::getpid(), name, ::gettid());
    }
    default:
      break;
  }
  const bool ms = format == LogTime::IsoMs || format == LogTime::Rfc5424Ms;
  const bool zone = format != LogTime::Iso && format != LogTime::IsoMs;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,
                     local.tm_hour, local.tm_min, local.tm_sec, ms ? fmt::format(".{:03}", fraction / 1000) : "",
                     zone ? zone_of(local) : "");
}

Log::Log(std::string program, io::Clock& clock) : program_(std::move(program)), clock_(clock) {
  ::openlog(program_.c_str(), LOG_PID | LOG_CONS, LOG_DAEMON);
}

Log::~Log() {
  ::closelog();
}

Status Log::set_targets(Targets targets) {
  UniqueFd file;
  if (!targets.file.empty()) {
    std::error_code ignored;  // a daemon leaves its working directory later
    targets.file = std::filesystem::absolute(targets.file, ignored).string();
    SPUR_ASSIGN(file, open_log(targets.file));
  }
  const std::lock_guard lock(mutex_);
  file_ = std::move(file);
  targets_ = std::move(targets);
  level_ = std::max(targets_.level, targets_.to_syslog ? targets_.syslog_level.value_or(LogLevel::Quiet) : LogLevel::Quiet);
  if (!targets_.to_stderr) console_.reset();
  return stderr_captured_ ? redirect_stderr() : Status{};
}

Status Log::reopen() {
  const std::lock_guard lock(mutex_);
  if (targets_.file.empty()) return {};
  SPUR_ASSIGN(file_, open_log(targets_.file));
  return stderr_captured_ ? redirect_stderr() : Status{};
}

Status Log::capture_stderr() {
  const std::lock_guard lock(mutex_);
  if (stderr_captured_) return {};
  UniqueFd console(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  SPUR_TRY(redirect_stderr());
  if (targets_.to_stderr) console_ = std::move(console);
  stderr_captured_ = true;
  return {};
}

Status Log::redirect_stderr() {
  UniqueFd null;
  if (!file_) null = UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (::dup2(file_ ? file_.get() : null.get(), STDERR_FILENO) < 0) return fail_errno("cannot redirect stderr", errno);
  return {};
}

void Log::write(LogLevel level, std::string_view message) {
  if (!wants(level)) return;
  const LevelRow& row = row_of(level);
  const std::string text = escape_control(message);
  const std::lock_guard lock(mutex_);
  const std::string time = log_time(clock_.now(), targets_.json ? LogTime::IsoMs : targets_.time);
  std::string json;
  if (targets_.json) json = json_line(time, row.name, program_, text);
  const bool plain = level <= targets_.level;
  if (file_ && plain) write_file(targets_.json ? json : fmt::format("[{}] {}{}\n", time, row.prefix, text));
  if (targets_.to_stderr && plain && level <= targets_.stderr_level)
    write_line(stderr_captured_ ? console_.get() : STDERR_FILENO,
               targets_.json ? json : fmt::format("{}: {}{}\n", program_, row.prefix, text));
  if (targets_.to_syslog && level <= targets_.syslog_level.value_or(targets_.level))
    ::syslog(row.syslog_priority, "%s%s", std::string(row.prefix).c_str(), text.c_str());
}

void Log::about(text::DebugFlags subject, std::string_view message) {
  const LogLevel level = traces(subject) ? LogLevel::Info : LogLevel::Debug;
  if (wants(level)) write(level, fmt::format("{}: {}", text::upper(text::debug_flags_text(subject)), message));
}

void Log::write_file(std::string_view line) {
  if (lost_ > 0) {
    const std::string time = log_time(clock_.now(), targets_.json ? LogTime::IsoMs : targets_.time);
    const std::string text = fmt::format("{} lines of this log could not be written", lost_);
    const std::string note =
        targets_.json ? json_line(time, "error", program_, text) : fmt::format("[{}] error: {}\n", time, text);
    if (write_line(file_.get(), note)) lost_ = 0;
  }
  if (!write_line(file_.get(), line)) ++lost_;
}

}  // namespace spur::os
