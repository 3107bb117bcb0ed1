// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_signals.h"

#include <csignal>
#include <cstdint>

#include "base/check.h"

namespace spur::cli {
namespace {

constexpr int kWatched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM, SIGWINCH,
                           SIGPIPE};
volatile std::sig_atomic_t noted[65];

void note(int signal) {
  noted[signal] = 1;
}

void handle_all(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;  // without SA_RESTART: a wait must end so that srun can look
  sigemptyset(&action.sa_mask);
  for (const int signal : kWatched) SPUR_CHECK(::sigaction(signal, &action, nullptr) == 0);
}

}  // namespace

SignalWatch::SignalWatch() {
  for (volatile std::sig_atomic_t& signal : noted) signal = 0;
  handle_all(note);
}
SignalWatch::~SignalWatch() {
  handle_all(SIG_DFL);
}

std::optional<int> SignalWatch::take() {
  for (const int signal : kWatched) {
    if (noted[signal] == 0) continue;
    noted[signal] = 0;
    return signal;
  }
  return std::nullopt;
}

bool interrupted() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    if (noted[signal] != 0) return true;
  return false;
}

}  // namespace spur::cli
