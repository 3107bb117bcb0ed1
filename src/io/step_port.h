// SPDX-License-Identifier: Apache-2.0
// The step manager's door to the places where tasks run: a spurstepd on this node, or the agent of another one. Both speak the
// same messages (StepInput in, StepOutput out, proto/spur/v1/agent.proto), here as their bytes.
//
// Events and calls are on the agent's thread. Real: os/step_channels.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/agent_message.h"

namespace spur::io {

class StepChannel {
 public:
  struct Events {
    std::function<void(std::string)> on_output;   // one StepOutput
    std::function<void(Status)> on_closed;        // once; an error if it broke before it was over
  };
  // Closes; no events after that. Tasks that still run are ended, unless their step has a key: then somebody may come
  // for it.
  virtual ~StepChannel() = default;
  // One StepInput. `written` is called when it has left this process, for pacing; it may be empty.
  virtual void send(std::string input, std::function<void()> written) = 0;
  // While paused no output is read, and tasks that write a lot come to wait.
  virtual void pause(bool paused) = 0;
};

class StepPort {
 public:
  virtual ~StepPort() = default;
  virtual std::unique_ptr<StepChannel> open_local(const model::ControllerLaunch& launch, std::uint32_t step,
                                                  StepChannel::Events events) = 0;
  // The tasks of a step that was started here before, by whatever agent: the first input is an attach. Closed with
  // NotFound where there are none.
  virtual std::unique_ptr<StepChannel> resume_local(model::JobRun run, std::uint32_t step, const std::string& key,
                                                    StepChannel::Events events) = 0;
  virtual std::unique_ptr<StepChannel> open_remote(const std::string& address, StepChannel::Events events) = 0;
};

}  // namespace spur::io
