// SPDX-License-Identifier: Apache-2.0
#include "stepd/job_output.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "os/process.h"

namespace spur::stepd {
namespace {

constexpr int kPatienceMs = 500;

}  // namespace

void write_as_user(const os::Identity& user, int fd, std::string_view text) {
  const pid_t pid = ::fork();
  if (pid < 0) return;
  if (pid == 0) {
    if (!os::become(user)) ::_exit(1);
    [[maybe_unused]] const auto written = ::write(fd, text.data(), text.size());
    ::_exit(0);
  }
  const os::UniqueFd pidfd = os::open_pidfd(pid);
  pollfd wait{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  if (!pidfd || ::poll(&wait, 1, kPatienceMs) <= 0) ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace spur::stepd
