// SPDX-License-Identifier: Apache-2.0
// spurstepd: supervises one batch script, or the tasks of one step, on one node. Started by spurd only, with
// descriptors and environment as os/step_launcher.cc arranges them:
//   3 the run's record, 4 the socket for orders, 5 (steps) the stream to spurd
//   SPURSTEPD_IDENTITY the job's user, SPURSTEPD_TOKEN the spool's mark; every other variable but TZ goes into the
//   job
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "stepd/batch_run.h"
#include "stepd/step_run.h"

namespace {

constexpr int kRecordFd = 3, kOrdersFd = 4, kStreamFd = 5;

int usage() {
  fmt::print(stderr, "spurstepd is started by spurd; it is of no use by hand.\n");
  return 1;
}

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

// What the agent put into our environment.
struct Handed {
  std::string identity, token;
  int agent = 0;
  std::vector<std::string> of_node;
};

Handed take_environment() {
  Handed out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("SPURSTEPD_IDENTITY="))
      out.identity = text.substr(19);
    else if (text.starts_with("SPURSTEPD_TOKEN="))
      out.token = text.substr(16);
    else if (text.starts_with("SPURSTEPD_PARENT="))
      out.agent = std::atoi(*entry + 17);
    else if (!text.starts_with("TZ="))
      out.of_node.emplace_back(text);
  }
  return out;
}

bool take_fd(int fd) {
  return ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || !take_fd(kRecordFd) || !take_fd(kOrdersFd)) return usage();
  const bool is_batch = std::strcmp(argv[1], "--batch") == 0;
  if (!is_batch && (std::strcmp(argv[1], "--step") != 0 || !take_fd(kStreamFd))) return usage();
  ignore_signals();
  be_unkillable();
  spur::os::RunFile record{spur::os::UniqueFd(kRecordFd)};
  if (is_batch && !record.note_started(::getpid())) return usage();

  const Handed handed = take_environment();
  auto identity = spur::os::decode_identity(handed.identity);
  if (!identity) return usage();
  if (is_batch) {
    spur::stepd::run_batch({.directory = argv[2],
                            .record = std::move(record),
                            .orders = spur::os::UniqueFd(kOrdersFd),
                            .identity = std::move(*identity),
                            .of_node = handed.of_node,
                            .token = handed.token,
                            .agent = handed.agent});
  } else {
    spur::stepd::run_step({.record = std::move(record),
                           .orders = spur::os::UniqueFd(kOrdersFd),
                           .stream = spur::os::UniqueFd(kStreamFd),
                           .identity = std::move(*identity),
                           .of_node = handed.of_node,
                           .token = handed.token});
  }
  ::_exit(0);
}
