// SPDX-License-Identifier: Apache-2.0
// The controller's links to agents, with DebugFlags=Agent looked after: what is sent, to whom.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "io/agent_port.h"
#include "os/log.h"

namespace spur::main {

class TracedAgents final : public io::AgentPort {
 public:
  TracedAgents(io::AgentPort& links, os::Log& log) : links_(links), log_(log) {}
  void send(std::string_view node, model::ControllerMessage message) override {
    if (log_.traces(text::debug::kAgent)) log_.about(text::debug::kAgent, fmt::format("to {}: {}", node, what(message)));
    links_.send(node, std::move(message));
  }
  void hang_up(std::string_view node) override { links_.hang_up(node); }

 private:
  static std::string what(const model::ControllerMessage& message) {
    static constexpr const char* kNames[] = {"welcome",   "launch",    "end",      "signal", "suspend",   "end heard",
                                             "steps heard", "shutdown", "notice", "reboot", "nodes lost", "debug"};
    static_assert(std::size(kNames) == std::variant_size_v<model::ControllerMessage>);
    return std::visit(
        [&](const auto& m) {
          if constexpr (requires { m.run.job.value; })
            return fmt::format("{} of job {} (run {})", kNames[message.index()], m.run.job.value, m.run.epoch.value);
          else
            return std::string(kNames[message.index()]);
        },
        message);
  }

  io::AgentPort& links_;
  os::Log& log_;
};

}  // namespace spur::main
