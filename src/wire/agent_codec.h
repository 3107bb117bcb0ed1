// SPDX-License-Identifier: Apache-2.0
// The messages of the agent's stream (model/agent_message.h) as protobuf, and as bytes for whoever holds no protobuf
// object (the agent's lean stream, spool files).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/agent_message.h"

namespace spur::v1 {
class AgentMessage;
class ControllerLaunch;
class ControllerMessage;
}  // namespace spur::v1

namespace spur::wire {

void to_proto(const model::AgentMessage& from, v1::AgentMessage* to);
Status from_proto(const v1::AgentMessage& from, model::AgentMessage* to);
void to_proto(const model::ControllerMessage& from, v1::ControllerMessage* to);
Status from_proto(const v1::ControllerMessage& from, model::ControllerMessage* to);
void to_proto(const model::ControllerLaunch& from, v1::ControllerLaunch* to);
Status from_proto(const v1::ControllerLaunch& from, model::ControllerLaunch* to);

std::string encode_agent_message(const model::AgentMessage& message);
Result<model::AgentMessage> decode_agent_message(std::string_view bytes);
std::string encode_controller_message(const model::ControllerMessage& message);
Result<model::ControllerMessage> decode_controller_message(std::string_view bytes);

}  // namespace spur::wire
