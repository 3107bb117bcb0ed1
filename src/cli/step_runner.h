// SPDX-License-Identifier: Apache-2.0
// Running a step through the agents, as srun sees it: wire::AgentClient as an interface, so that tests can put a
// script of events in its place. The real one is made by wire_step_runner.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/agent_client.h"

namespace spur::cli {

class StepRunner {
 public:
  virtual ~StepRunner() = default;

  // `address`: the agent of the job's first node, which manages its steps.
  virtual Status start(const std::string& address, const wire::StepRequest& request, wire::StepEvents events) = 0;
  // Waits until the step, `input` (a descriptor, or -1) or a signal has something, at most for `longest`; hands out
  // the step's events. True: `input` can be read.
  virtual bool turn(int input, Duration longest) = 0;
  virtual bool ended() const = 0;
  // After the end: success, or what broke the stream.
  virtual Status result() const = 0;

  virtual void send_input(std::string_view data, std::optional<std::uint32_t> rank) = 0;
  virtual void end_input() = 0;
  virtual bool input_is_full() const = 0;
  virtual void send_signal(int signal) = 0;
  virtual void resize(std::uint32_t rows, std::uint32_t columns) = 0;  // of the terminal, with pty
};

std::unique_ptr<StepRunner> make_wire_step_runner();

}  // namespace spur::cli
