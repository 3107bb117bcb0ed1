// SPDX-License-Identifier: Apache-2.0
#include "cli/live_jobs.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/check.h"

namespace spur::cli {
namespace {

// Ends the thread's wait for the controller; handled by doing nothing.
constexpr int kNudge = SIGURG;

}  // namespace

LiveJobs::LiveJobs(Controller& controller, wire::JobFilter filter, bool expected_starts) : controller_(controller) {
  int ends[2];
  SPUR_CHECK(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  ready_ = ends[0];
  tell_ = ends[1];
  struct sigaction nothing = {};
  nothing.sa_handler = [](int) {};
  ::sigaction(kNudge, &nothing, nullptr);
  thread_ = std::thread([this, filter = std::move(filter), expected_starts] { run(filter, expected_starts); });
}

LiveJobs::~LiveJobs() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  controller_.give_up();
  ::pthread_kill(thread_.native_handle(), kNudge);
  thread_.join();
  ::close(ready_);
  ::close(tell_);
}

void LiveJobs::run(wire::JobFilter filter, bool expected_starts) {
  // What ends things is for the thread with the terminal.
  sigset_t others;
  sigfillset(&others);
  sigdelset(&others, kNudge);
  ::pthread_sigmask(SIG_BLOCK, &others, nullptr);
  const Status end = controller_.watch_jobs(
      {.filter = std::move(filter),
       .expected_starts = expected_starts,
       .on_changes =
           [this](const wire::JobChanges& changes) {
             const std::lock_guard lock(mutex_);
             jobs_.take(changes);
             lost_.reset();
             known_ |= jobs_.current();
             if (jobs_.current()) tell();
             return !stopping_;
           },
       .on_lost =
           [this](const Error& error) {
             const std::lock_guard lock(mutex_);
             lost_ = error.message;
             tell();
           }});
  const std::lock_guard lock(mutex_);
  if (!end) failed_ = end.error();
  tell();
}

void LiveJobs::tell() {
  static_cast<void>(!::write(tell_, "", 1));  // full: it is readable already
}

LiveJobs::Look LiveJobs::look() {
  char bytes[256];
  while (::read(ready_, bytes, sizeof bytes) > 0) {
  }
  const std::lock_guard lock(mutex_);
  return {.table = jobs_.table(), .known = known_, .lost = lost_, .failed = failed_};
}

Readable wait_readable(int first, int second, int milliseconds) {
  pollfd watched[] = {{.fd = first, .events = POLLIN, .revents = 0}, {.fd = second, .events = POLLIN, .revents = 0}};
  if (::poll(watched, 2, milliseconds) <= 0) return {};
  return {watched[0].revents != 0, watched[1].revents != 0};
}

}  // namespace spur::cli
