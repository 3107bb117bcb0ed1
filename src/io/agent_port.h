// SPDX-License-Identifier: Apache-2.0
// The controller's door to its agents, and the agent's door to its controller. send() never blocks and may lose the
// message (the link is down): the protocol in model/agent_message.h repeats what matters.
#pragma once

#include <string>
#include <string_view>

#include "model/agent_message.h"

namespace spur::io {

class AgentPort {                   // held by ctld
 public:
  virtual ~AgentPort() = default;
  virtual void send(std::string_view node, model::ControllerMessage message) = 0;
  // Ends the node's link, if there is one: its agent dials again and says hello.
  virtual void hang_up(std::string_view node) = 0;
};

class ControllerPort {              // held by an agent
 public:
  virtual ~ControllerPort() = default;
  virtual void send(model::AgentMessage message) = 0;
};

}  // namespace spur::io
