// SPDX-License-Identifier: Apache-2.0
// spurstepd: supervises one batch script, or the tasks of one step, on one node. Started by spurd only, with descriptors and
// environment as os/step_launcher.cc arranges them:
//   3 the run's record, 4 the socket for orders, 5 (steps) the stream to spurd
//   SPURSTEPD_IDENTITY the job's user, SPURSTEPD_TOKEN the spool's mark; every other variable but TZ goes into the job
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "stepd/batch_run.h"

namespace {

constexpr int kRecordFd = 3, kOrdersFd = 4;

int usage() {
  fmt::print(stderr, "spurstepd is started by spurd; it is of no use by hand.\n");
  return 1;
}

// Nothing that happens to the terminal or the session of whoever started spurd concerns a running job.
void ignore_signals() {
  for (const int sig : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP, SIGTTIN, SIGTTOU})
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

bool take_fd(int fd) { return ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || !take_fd(kRecordFd) || !take_fd(kOrdersFd)) return usage();
  ignore_signals();
  be_unkillable();
  spur::os::RunFile record{spur::os::UniqueFd(kRecordFd)};
  if (auto noted = record.note_started(::getpid()); !noted) return usage();

  std::string identity_text, token;
  int agent = 0;
  std::vector<std::string> of_node;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("SPURSTEPD_IDENTITY="))
      identity_text = text.substr(19);
    else if (text.starts_with("SPURSTEPD_TOKEN="))
      token = text.substr(16);
    else if (text.starts_with("SPURSTEPD_PARENT="))
      agent = std::atoi(*entry + 17);
    else if (!text.starts_with("TZ="))
      of_node.emplace_back(text);
  }
  const auto identity = spur::os::decode_identity(identity_text);
  if (!identity) return usage();
  if (std::strcmp(argv[1], "--batch") == 0) {
    spur::stepd::run_batch({.directory = argv[2],
                            .record = std::move(record),
                            .orders = spur::os::UniqueFd(kOrdersFd),
                            .identity = *identity,
                            .of_node = std::move(of_node),
                            .token = std::move(token),
                            .agent = agent});
    ::_exit(0);
  }
  return usage();
}
