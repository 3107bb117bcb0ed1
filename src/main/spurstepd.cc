// SPDX-License-Identifier: Apache-2.0
// spurstepd: supervises batch scripts and the tasks of steps, one process each. spurd starts it once (--serve, with a
// socket as descriptor 3) and asks it for copies of itself; see os/step_spawner.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "stepd/template.h"

namespace {

constexpr int kSocket = 3;

// Nothing that happens to the terminal or the session of whoever started spurd concerns a running job.
void ignore_signals() {
  for (const int sig :
       {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP, SIGTTIN, SIGTTOU})
    ::signal(sig, SIG_IGN);
}

// The kernel must not choose the supervisor when memory is short. Only root may ask for that.
void be_unkillable() {
  if (::geteuid() != 0) return;
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const auto written = ::write(fd, "-1000", 5);
  ::close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], "--serve") != 0 || ::fcntl(kSocket, F_SETFD, FD_CLOEXEC) != 0) {
    fmt::print(stderr, "spurstepd is started by spurd; it is of no use by hand.\n");
    return 1;
  }
  ignore_signals();
  be_unkillable();
  spur::stepd::run_template(spur::os::UniqueFd(kSocket), argv[0]);
  return 0;
}
