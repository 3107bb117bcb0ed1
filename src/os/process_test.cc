// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>

#include "os/test_directory.h"

namespace spur::os {
namespace {

std::string read_to_end(int fd) {
  std::string out;
  char buffer[4096];
  for (ssize_t got; (got = ::read(fd, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(got));
  return out;
}

// Runs a shell command and gives back what it wrote to descriptor 1.
std::string shell(const std::string& command, std::vector<int> more = {}, bool new_session = false) {
  int fds[2];
  EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  UniqueFd read(fds[0]), write(fds[1]);
  SpawnRequest request{.path = "/bin/bash",
                       .arguments = {"bash", "-c", command},
                       .environment = {"PATH=/bin:/usr/bin", "ONLY=this"},
                       .fds = {0, write.get(), 2},
                       .new_session = new_session};
  request.fds.insert(request.fds.end(), more.begin(), more.end());
  auto child = spawn(request);
  EXPECT_TRUE(child) << child.error().message;
  write.reset();
  std::string out = read_to_end(read.get());
  int status = 0;
  EXPECT_EQ(::waitpid(child->pid, &status, 0), child->pid);
  return out;
}

TEST(Process, SpawnGivesExactlyWhatWasAskedFor) {
  EXPECT_EQ(shell("echo $ONLY $HOME"), "this\n");
  EXPECT_EQ(shell("ls /proc/self/fd | tr '\\n' ' '"), "0 1 2 3 ");  // 3 is ls's own
  const UniqueFd file(::open("/etc/hostname", O_RDONLY));           // not close-on-exec
  EXPECT_EQ(shell("ls -l /proc/self/fd | grep -c hostname"), "0\n");
  EXPECT_EQ(shell("readlink /proc/self/fd/4", {file.get(), file.get()}), "/etc/hostname\n");
  EXPECT_EQ(shell("[ $(ps -o sid= -p $$) = $$ ] && echo leader", {}, true), "leader\n");
}

TEST(Process, SpawnHandlesDescriptorsThatOverlap) {
  // 0 and 1 exchanged and 1 twice: no source may be overwritten before it was copied.
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  UniqueFd read(fds[0]), write(fds[1]);
  const UniqueFd saved(::fcntl(1, F_DUPFD_CLOEXEC, 10));
  const UniqueFd saved_in(::fcntl(0, F_DUPFD_CLOEXEC, 10));
  ::dup2(write.get(), 0);
  auto child = spawn(
      {.path = "/bin/sh", .arguments = {"sh", "-c", "echo one; echo two >&2"}, .environment = {}, .fds = {1, 0, 0}});
  ::dup2(saved_in.get(), 0);
  ASSERT_TRUE(child);
  write.reset();
  EXPECT_EQ(read_to_end(read.get()), "one\ntwo\n");
  ::waitpid(child->pid, nullptr, 0);
}

TEST(Process, SpawnResetsSignals) {
  ::signal(SIGUSR1, SIG_IGN);
  sigset_t blocked, old;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &blocked, &old);
  const std::string out = shell("grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f2");
  ::sigprocmask(SIG_SETMASK, &old, nullptr);
  ::signal(SIGUSR1, SIG_DFL);
  // The C library leaves the two signals it keeps for itself (32 and 33) ignored in what it spawns.
  EXPECT_EQ(out, "0000000000000000\n0000000180000000\n");
}

TEST(Process, SpawnFailuresNameTheProgram) {
  const auto missing = spawn({.path = "/nonexistent/x", .arguments = {"x"}, .environment = {}, .fds = {}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "cannot start /nonexistent/x: No such file or directory");
}

TEST(Process, ReapOnlyWhatHasEnded) {
  auto child = spawn({.path = "/bin/sleep", .arguments = {"sleep", "100"}, .environment = {}, .fds = {}});
  ASSERT_TRUE(child);
  EXPECT_FALSE(reap(child->pidfd));
  ::kill(child->pid, SIGKILL);
  std::optional<model::ExitStatus> status;
  while (!status) status = reap(child->pidfd);
  EXPECT_EQ(*status, (model::ExitStatus{0, SIGKILL}));
  EXPECT_FALSE(reap(child->pidfd));
  EXPECT_FALSE(open_pidfd(child->pid));
}

TEST(Process, StatReadsNamesThatHoldAnything) {
  const TestDirectory dir;
  const std::string odd = dir / "a) R 1 (b";
  std::filesystem::copy("/bin/sleep", odd);
  auto child = spawn({.path = odd, .arguments = {"x", "100"}, .environment = {}, .fds = {}, .new_session = true});
  ASSERT_TRUE(child);
  const auto stat = process_stat(child->pid);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, ::getpid());
  EXPECT_EQ(stat->session, child->pid);
  ::kill(child->pid, SIGKILL);
  ::waitpid(child->pid, nullptr, 0);
  EXPECT_FALSE(process_stat(child->pid));
}

TEST(Process, TreesSessionsAndMarksFindTheirProcesses) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  UniqueFd read(fds[0]), write(fds[1]);
  auto child = spawn({.path = "/bin/bash",
                      .arguments = {"bash", "-c",
                                    "sleep 100 & a=$!; setsid sleep 100 & b=$!; env -u MARK setsid sleep 100 & c=$!; "
                                    "sleep 0.2; echo $a $b $c; exec 1>&-; wait"},
                      .environment = {"PATH=/bin:/usr/bin", "MARK=spur-test"},
                      .fds = {0, write.get(), 2},
                      .new_session = true});
  ASSERT_TRUE(child);
  write.reset();
  pid_t a = 0, b = 0, c = 0;
  char text[128] = {};
  ASSERT_GT(::read(read.get(), text, sizeof text - 1), 0);
  ASSERT_EQ(std::sscanf(text, "%d %d %d", &a, &b, &c), 3);
  const auto has = [](const std::vector<pid_t>& all, pid_t pid) { return std::ranges::find(all, pid) != all.end(); };
  const auto tree = descendants_of(child->pid);
  EXPECT_TRUE(has(tree, a) && has(tree, b) && has(tree, c) && !has(tree, child->pid));
  const auto marked = processes_of(child->pid, "MARK=spur-test");
  EXPECT_TRUE(has(marked, child->pid) && has(marked, a) && has(marked, b) && !has(marked, c));
  EXPECT_TRUE(processes_of(0, "MARK=spur").empty()) << "part of a value is no match";
  for (const pid_t pid : {a, b, c, child->pid}) ::kill(pid, SIGKILL);
  ::waitpid(child->pid, nullptr, 0);
}

}  // namespace
}  // namespace spur::os
