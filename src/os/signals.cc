// SPDX-License-Identifier: Apache-2.0
#include "os/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "os/files.h"

namespace spur::os {

Result<Signals> Signals::open() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR2}) {
    ::sigaddset(&set, signal);
    // One that is ignored never reaches a descriptor; nohup ignores HUP, a shell's background job ignores INT.
    ::signal(signal, SIG_DFL);
  }
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0)
    return fail_errno("cannot block signals", error);
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail_errno("cannot make a signal descriptor", errno);
  return Signals(std::move(fd));
}

std::optional<DaemonSignal> Signals::take() {
  signalfd_siginfo info{};
  ssize_t n = 0;
  do n = ::read(fd_.get(), &info, sizeof info);
  while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  switch (info.ssi_signo) {
    case SIGHUP:
      return DaemonSignal::Reload;
    case SIGUSR2:
      return DaemonSignal::ReopenLog;
    default:
      return DaemonSignal::Stop;
  }
}

std::optional<DaemonSignal> Signals::wait(Duration at_most) {
  pollfd poll{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  const auto left = std::chrono::ceil<milliseconds>(at_most).count();
  ::poll(&poll, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000)));
  return take();
}

void unblock_all_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace spur::os
