// SPDX-License-Identifier: Apache-2.0
#include "os/signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spur::os {
namespace {

// In a child, because signal masks stay. Returns 0 if every signal came out as what it means.
int check_signals() {
  ::signal(SIGHUP, SIG_IGN);  // as under nohup
  Result<Signals> signals = Signals::open();
  if (!signals) return 1;
  if (signals->take()) return 2;
  const std::pair<int, DaemonSignal> cases[] = {{SIGTERM, DaemonSignal::Stop},
                                                {SIGINT, DaemonSignal::Stop},
                                                {SIGHUP, DaemonSignal::Reload},
                                                {SIGUSR2, DaemonSignal::ReopenLog}};
  for (const auto& [number, meaning] : cases) {
    ::kill(::getpid(), number);
    if (signals->wait(seconds(5)) != meaning) return 3;
  }
  if (signals->wait(milliseconds(1))) return 4;
  // A broken pipe is an error of the write, not the end.
  int ends[2];
  if (::pipe(ends) != 0) return 5;
  ::close(ends[0]);
  if (::write(ends[1], "x", 1) != -1) return 6;
  // A child that clears the mask can be ended.
  const pid_t child = ::fork();
  if (child == 0) {
    unblock_all_signals();
    for (;;) ::pause();
  }
  ::kill(child, SIGTERM);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? 0 : 7;
}

TEST(Signals, AreRead) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(check_signals());
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0) << "exit " << WEXITSTATUS(status);
}

}  // namespace
}  // namespace spur::os
