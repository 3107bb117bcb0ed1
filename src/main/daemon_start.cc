// SPDX-License-Identifier: Apache-2.0
#include "main/daemon_start.h"

#include <cstdlib>
#include <utility>

namespace spur::main {

DaemonStart::DaemonStart(std::string program, bool foreground, os::Log& log)
    : program_(std::move(program)), foreground_(foreground), log_(log) {
  // What gRPC would say on stderr about an address in use, we say ourselves, in one line.
  ::setenv("GRPC_VERBOSITY", "NONE", 0);
}

Status DaemonStart::detach() {
  if (foreground_) return {};
  SPUR_ASSIGN(report_, os::daemonise());
  return {};
}

Status DaemonStart::open_log(const os::Log::Targets& targets) {
  targets_ = targets;
  if (foreground_) return log_.set_targets(targets);
  os::Log::Targets starting = targets;
  starting.to_stderr = true;
  starting.stderr_level = os::LogLevel::Warning;
  SPUR_TRY(log_.set_targets(starting));
  // Before any child is started: one that held the terminal would keep whoever waits for its end waiting.
  return log_.capture_stderr();
}

void DaemonStart::ready() {
  if (!foreground_) {
    if (auto ok = log_.set_targets(targets_); !ok) log_.warning("{}", ok.error().message);
    if (auto ok = report_.ready(); !ok) log_.warning("{}", ok.error().message);
  }
  notifier_.ready();
}

int DaemonStart::failed(const Error& error) {
  if (!foreground_) {
    // The process that waits for us prints the line; from here it goes to the log alone, if that is not what failed.
    report_.failed(program_ + ": fatal: " + error.message);
    targets_.to_stderr = false;
    if (!log_.set_targets(targets_)) return 1;
  }
  log_.fatal("{}", error.message);
  return 1;
}

}  // namespace spur::main
