// SPDX-License-Identifier: Apache-2.0
// A daemon's signals as something to read: TERM and INT stop it, HUP reloads, USR2 reopens the log (as Slurm's
// daemons do). They are blocked in every thread and taken from a descriptor, so no handler ever interrupts anything.
// PIPE is ignored.
#pragma once

#include <csignal>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "os/unique_fd.h"

namespace spur::os {

enum class DaemonSignal { Stop, Reload, ReopenLog };

class Signals {
 public:
  // In the main thread, before any other is started: they inherit the mask. Child processes inherit it too and must
  // clear it before they run anything (unblock_all_signals()).
  static Result<Signals> open();

  int fd() const { return fd_.get(); }  // readable when there is one; for an event loop
  std::optional<DaemonSignal> take();   // none: nothing has come
  // Waits for one, at most that long.
  std::optional<DaemonSignal> wait(Duration at_most);

 private:
  explicit Signals(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

void unblock_all_signals();

}  // namespace spur::os
