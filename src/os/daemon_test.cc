// SPDX-License-Identifier: Apache-2.0
#include "os/daemon.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "os/files.h"
#include "os/test_directory.h"

namespace spur::os {
namespace {

struct Started {
  int exit_status = -1;
  std::string printed;      // on stderr of the starting process
  std::string daemon_says;  // through a pipe of its own
};

// What a shell sees that runs a program which daemonises and then does `body`; `body` may write to the given
// descriptor.
Started run_daemon(const std::function<void(StartReport&, int)>& body) {
  int err[2], own[2];
  EXPECT_EQ(::pipe(err), 0);
  EXPECT_EQ(::pipe(own), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(err[1], STDERR_FILENO);
    for (const int fd : {err[0], err[1], own[0]}) ::close(fd);
    Result<StartReport> report = daemonise();
    if (!report) ::_exit(99);
    body(*report, own[1]);
    *report = StartReport();
    ::_exit(0);
  }
  ::close(err[1]);
  ::close(own[1]);
  Started started;
  const auto drain = [](int fd, std::string& into) {
    char buffer[512];
    for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) into.append(buffer, static_cast<std::size_t>(n));
    ::close(fd);
  };
  int status = 0;
  ::waitpid(pid, &status, 0);
  started.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  drain(own[0], started.daemon_says);
  drain(err[0], started.printed);
  return started;
}

TEST(Daemon, ReadyMeansStatusZeroAndAFreeTerminal) {
  const pid_t session = ::getsid(0);
  const Started started = run_daemon([session](StartReport& report, int own) {
    if (!report.ready()) ::_exit(1);
    char where[64] = {};
    std::string facts;
    facts += ::getsid(0) != session ? "new session," : "old session,";
    facts += ::getsid(0) != ::getpid() ? "not leader," : "leader,";
    facts += ::getcwd(where, sizeof where) ? where : "?";
    facts += ::isatty(0) || ::write(STDERR_FILENO, "leak", 4) != 4 ? ",bad" : ",ok";
    static_cast<void>(!::write(own, facts.data(), facts.size()));
  });
  EXPECT_EQ(started.exit_status, 0);
  EXPECT_EQ(started.printed, "");
  EXPECT_EQ(started.daemon_says, "new session,not leader,/,ok");
}

TEST(Daemon, FailureIsTold) {
  const Started started =
      run_daemon([](StartReport& report, int) { report.failed("spurctld: fatal: port 6817 is in use"); });
  EXPECT_EQ(started.exit_status, 1);
  EXPECT_EQ(started.printed, "spurctld: fatal: port 6817 is in use\n");
}

TEST(Daemon, DeathDuringStartIsAFailure) {
  for (const bool violent : {false, true}) {
    const Started started = run_daemon([violent](StartReport&, int) {
      if (violent) ::raise(SIGKILL);
      ::_exit(0);
    });
    EXPECT_EQ(started.exit_status, 1);
    EXPECT_NE(started.printed.find("ended while it was starting"), std::string::npos);
  }
}

TEST(Daemon, TheParentWaitsUntilReady) {
  TestDirectory dir;
  const std::string flag = dir / "flag";
  const Started started = run_daemon([&](StartReport& report, int) {
    ::usleep(50'000);
    ::close(::open(flag.c_str(), O_CREAT | O_WRONLY, 0600));
    static_cast<void>(report.ready());
  });
  EXPECT_EQ(started.exit_status, 0);
  EXPECT_TRUE(std::filesystem::exists(flag));
}

TEST(Daemon, ForegroundReportsNothing) {
  StartReport report;
  EXPECT_TRUE(report.ready());
  EXPECT_NE(std::filesystem::current_path(), "/");
}

TEST(PidFile, HoldsTellsAndGoes) {
  TestDirectory dir;
  const std::string path = dir / "x.pid";
  {
    auto first = PidFile::create(path);
    ASSERT_TRUE(first);
    EXPECT_EQ(*read_file(path, 100), std::to_string(::getpid()) + "\n");
    const auto second = PidFile::create(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::Busy);
    EXPECT_NE(second.error().message.find(std::to_string(::getpid())), std::string::npos);
    PidFile moved = *std::move(first);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  // A stale one, longer than ours.
  ASSERT_TRUE(write_file_durably(path, "999999999999\nrubbish"));
  auto again = PidFile::create(path);
  ASSERT_TRUE(again);
  EXPECT_EQ(*read_file(path, 100), std::to_string(::getpid()) + "\n");
  EXPECT_FALSE(PidFile::create("/no/such/dir/x.pid"));
}

TEST(OpenFileLimit, IsRaisedToTheHardLimitAtLeast) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t hard = limit.rlim_max;
    limit.rlim_cur = 64;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const OpenFileLimit raised = raise_open_file_limit();
    ::getrlimit(RLIMIT_NOFILE, &limit);
    ::_exit(raised.before == 64 && raised.now >= hard && limit.rlim_cur == raised.now ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace spur::os
