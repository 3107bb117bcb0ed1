// SPDX-License-Identifier: Apache-2.0
// How a daemon begins and how it lets go of the terminal, the same for both. Until ready() everything grave is told
// on the terminal as well as in the log; afterwards only in the log, where also goes what libraries write to stderr.
// A start that fails says so in one line, on the terminal and in the log, and the exit status is 1.
#pragma once

#include <string>

#include "base/result.h"
#include "main/daemon_options.h"
#include "os/daemon.h"
#include "os/log.h"
#include "os/sd_notify.h"

namespace spur::main {

class DaemonStart {
 public:
  // `log` may still be without targets; it must live as long as this.
  DaemonStart(std::string program, bool foreground, os::Log& log);

  // Becomes a daemon unless it is to stay in the foreground. Before any thread, socket or file.
  Status detach();
  // Opens the log as `targets` say.
  Status open_log(const os::Log::Targets& targets);
  // All is served: whoever started us is told.
  void ready();
  // The exit status.
  int failed(const Error& error);

  const os::ServiceNotifier& notifier() const { return notifier_; }

 private:
  std::string program_;
  bool foreground_;
  os::Log& log_;
  os::Log::Targets targets_;
  os::StartReport report_;
  os::ServiceNotifier notifier_;
};

}  // namespace spur::main
