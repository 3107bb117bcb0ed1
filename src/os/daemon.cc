// SPDX-License-Identifier: Apache-2.0
#include "os/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>

#include "os/files.h"

namespace spur::os {
namespace {

constexpr char kReady = '+';
constexpr rlim_t kOpenFilesWanted = 1 << 20;

// In the process that called daemonise(): waits for the report and exits as it says.
[[noreturn]] void wait_for_report(UniqueFd pipe) {
  std::string report;
  char buffer[1024];
  for (;;) {
    const ssize_t n = ::read(pipe.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    report.append(buffer, static_cast<std::size_t>(n));
  }
  if (report.size() == 1 && report[0] == kReady) ::_exit(EXIT_SUCCESS);
  if (report.empty()) report = "the daemon ended while it was starting; see its log";
  report += '\n';
  static_cast<void>(write_all(STDERR_FILENO, report, "stderr"));
  ::_exit(EXIT_FAILURE);
}

}  // namespace

Result<StartReport> daemonise() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe", errno);
  UniqueFd reader(ends[0]), writer(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("cannot start the daemon", errno);
  if (child > 0) {
    writer.reset();
    wait_for_report(std::move(reader));
  }
  reader.reset();
  StartReport report(std::move(writer));
  if (::setsid() < 0) return fail_errno("cannot start a session", errno);
  // Not the session's leader, so that opening a terminal by chance does not make it ours.
  const pid_t grandchild = ::fork();
  if (grandchild < 0) {
    report.failed(errno_error("cannot start the daemon", errno).message);
    ::_exit(EXIT_FAILURE);
  }
  if (grandchild > 0) ::_exit(EXIT_SUCCESS);
  ::umask(022);
  return report;
}

Status StartReport::ready() {
  if (!pipe_) return {};
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("cannot open /dev/null", errno);
  if (::chdir("/") != 0) return fail_errno("cannot change to /", errno);
  // stderr may lead into the log by now; a terminal or pipe of the starting process would keep that one waiting.
  struct stat err{};
  const bool into_file = ::fstat(STDERR_FILENO, &err) == 0 && S_ISREG(err.st_mode);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (!(fd == STDERR_FILENO && into_file) && ::dup2(null.get(), fd) < 0)
      return fail_errno("cannot redirect", errno);
  SPUR_TRY(write_all(pipe_.get(), std::string_view(&kReady, 1), "the starting process's pipe"));
  pipe_.reset();
  return {};
}

void StartReport::failed(std::string_view message) {
  if (pipe_) {
    static_cast<void>(write_all(pipe_.get(), message, "the starting process's pipe"));
    pipe_.reset();
  } else {
    static_cast<void>(write_all(STDERR_FILENO, fmt::format("{}\n", message), "stderr"));
  }
}

PidFile& PidFile::operator=(PidFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

PidFile::~PidFile() {
  // In a directory of root's, a daemon that is root no more can only say that the number is nobody's now.
  if (fd_ && ::unlink(path_.c_str()) != 0) static_cast<void>(!::ftruncate(fd_.get(), 0));
}

Result<PidFile> PidFile::create(const std::string& path) {
  // The file we lock may be removed by its last owner before we have the lock: then it is not the one others see.
  for (;;) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!fd) return fail_errno(fmt::format("cannot open pid file {}", path), errno);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return fail_errno(fmt::format("cannot lock pid file {}", path), errno);
      char text[24] = {};
      std::int64_t pid = 0;
      if (const ssize_t n = ::pread(fd.get(), text, sizeof text - 1, 0); n > 0) std::from_chars(text, text + n, pid);
      return fail(ErrorCode::Busy, fmt::format("already running: process {} holds {}", pid, path));
    }
    struct stat ours{}, theirs{};
    if (::fstat(fd.get(), &ours) != 0) return fail_errno(fmt::format("cannot examine {}", path), errno);
    if (::stat(path.c_str(), &theirs) != 0 || ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev) continue;
    if (::ftruncate(fd.get(), 0) != 0) return fail_errno(fmt::format("cannot write {}", path), errno);
    SPUR_TRY(write_all(fd.get(), fmt::format("{}\n", ::getpid()), path));
    return PidFile(std::move(fd), path);
  }
}

OpenFileLimit raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  OpenFileLimit result{limit.rlim_cur, limit.rlim_cur};
  rlimit wanted{std::max(limit.rlim_cur, kOpenFilesWanted), std::max(limit.rlim_max, kOpenFilesWanted)};
  // Only root may raise the hard limit.
  if (::setrlimit(RLIMIT_NOFILE, &wanted) != 0) {
    wanted = {limit.rlim_max, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &wanted) != 0) return result;
  }
  result.now = wanted.rlim_cur;
  return result;
}

}  // namespace spur::os
