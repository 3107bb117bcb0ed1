// SPDX-License-Identifier: Apache-2.0
// The messages of the agent's stream, both ways: refused, or understood and the same when written again.
#include "fuzz.h"
#include "wire/agent_codec.h"

namespace spur::wire {

static const std::string kHello =
    encode_agent_message(model::AgentHello{.node = "n1",
                                           .address = "n1:6818",
                                           .hostname = "n1",
                                           .version = "1",
                                           .os = "Linux",
                                           .arch = "x86_64",
                                           .public_key = "k",
                                           .found = {.gres = {{"gpu", "x", 8, "/dev/g"}}},
                                           .boot_time = from_micros(1),
                                           .started = from_micros(2),
                                           .holding = {{JobId{1}, Epoch{1}}}});
static const std::string kDone =
    encode_agent_message(model::AgentJobDone{{JobId{1}, Epoch{1}}, {1, 9}, true, false, false, "no"});
static const std::string kLaunch = [] {
  model::ControllerLaunch launch;
  launch.spec = std::make_shared<model::JobSpec>();
  launch.parts = {{"n1", {0, 1, 2}, 5, 1, {}}, {"n2", {4}, 5, 1, {}}};
  launch.addresses = {"a", "b"};
  launch.this_part = 1;
  return encode_controller_message(launch);
}();
static const std::string kEnd =
    encode_controller_message(model::ControllerEnd{{JobId{1}, Epoch{2}}, true, model::JobState::Timeout});

SPUR_FUZZ(agent_message, kHello, kDone, kLaunch, kEnd) {
  SPUR_CHECK(input != kHello || decode_agent_message(input));  // else the samples are no good
  SPUR_CHECK(input != kLaunch || decode_controller_message(input));
  if (const auto message = decode_agent_message(input)) {
    const auto bytes = encode_agent_message(*message);
    const auto back = decode_agent_message(bytes);
    SPUR_CHECK(back && encode_agent_message(*back) == bytes);
  } else {
    fuzz::check_message(message.error());
  }
  if (const auto message = decode_controller_message(input)) {
    const auto bytes = encode_controller_message(*message);
    const auto back = decode_controller_message(bytes);
    SPUR_CHECK(back && encode_controller_message(*back) == bytes);
  } else {
    fuzz::check_message(message.error());
  }
}

}  // namespace spur::wire
