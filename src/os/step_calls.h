// SPDX-License-Identifier: Apache-2.0
// How a step daemon that lost its agent finds it, or the one after it, again: a socket in the spool, for the agent's
// own user alone. The caller sends one hello (a v1::StepHello) with a descriptor for orders; after that the
// connection is a step's stream as any other.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace spur::os {

inline constexpr std::string_view kStepCallSocket = "steps.sock";
// For a daemon of the run in `run_directory`.
std::string step_call_socket(std::string_view run_directory);

// The daemon's side: the connected stream.
Result<UniqueFd> call_agent(const std::string& socket, std::string_view hello, int orders);

// The agent's side. On the loop's thread.
class StepCalls {
 public:
  struct Call {
    std::string hello;
    UniqueFd stream, orders;
    pid_t pid = 0;  // of the daemon
  };
  static Result<std::unique_ptr<StepCalls>> open(EventLoop& loop, const std::string& spool,
                                                 std::function<void(Call)> on_call);
  ~StepCalls();

 private:
  StepCalls(EventLoop& loop, std::function<void(Call)> on_call) : loop_(loop), on_call_(std::move(on_call)) {}
  void accept_some();
  void take(int fd);

  EventLoop& loop_;
  std::function<void(Call)> on_call_;
  UniqueFd listener_;
  std::map<int, std::pair<UniqueFd, pid_t>> silent_;  // have not said hello
};

}  // namespace spur::os
