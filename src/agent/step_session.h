// SPDX-License-Identifier: Apache-2.0
// One stream of steps' messages through this agent, from srun or from the agent that manages a step. The agent of the
// job's first node is the job's step manager: there, srun's stream is the front of a ManagedStep, a new one or one
// that it was cut off from. A forwarded start, or an attach, is about this node's tasks only. The ticket, signed by
// the controller, says whose job it is; every node checks it for itself.
//
// On the agent's thread. The owner (step_service.cc) moves bytes between it and a gRPC stream.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/managed_step.h"
#include "agent/step_context.h"

namespace spur::agent {

class StepSession {
 public:
  using Events = StepFront;
  StepSession(StepContext& context, Events events);
  ~StepSession();

  // The next message of the caller; `taken` when more may be sent.
  void input(v1::StepInput input, std::function<void()> taken);
  // The same for a StepInput that is known to be input of tasks, unread. False: it was not taken, use input().
  bool pass_bytes(std::string& bytes, const std::function<void()>& taken);
  void pause(bool paused);  // the caller reads slowly

 private:
  // `waited`: for the job's launch to come here.
  Status start(v1::StepStart start, Duration waited);
  void look_again(v1::StepStart start, Duration waited);
  Result<const model::ControllerLaunch*> admit(const v1::StepStart& start);
  Status manage(v1::StepStart start, const model::ControllerLaunch& launch);
  Status watch(std::uint32_t step, const model::ControllerLaunch& launch);
  Status start_here(const v1::StepStart& start, const model::ControllerLaunch& launch);
  void attach_here(const v1::StepAttach& attach);
  io::StepChannel::Events events_of_channel();
  void finish(Status status);
  void leave();

  StepContext& context_;
  Events events_;
  StepFront front_;                           // what the managed step sees of us
  ManagedStep* managed_ = nullptr;            // that it is the front of
  std::unique_ptr<io::StepChannel> channel_;  // to this node's tasks of a step that another node manages
  std::vector<std::pair<v1::StepInput, std::function<void()>>> early_;  // what came while the job had not
  bool watching_ = false;                                               // and does not lead
  bool started_ = false, looking_ = false, finished_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spur::agent
