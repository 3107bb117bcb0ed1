// SPDX-License-Identifier: Apache-2.0
// One step that srun runs through this agent. The agent of the job's first node is the job's step manager: it gives the step its
// number, opens a channel to every node of the step and merges what comes back. A forwarded start runs only this node's
// tasks. The ticket, signed by the controller, says whose job it is; every node checks it for itself.
//
// On the agent's thread. The owner (step_service.cc) moves bytes between it and a gRPC stream.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/result.h"
#include "io/clock.h"
#include "io/credentials.h"
#include "io/step_port.h"
#include "model/job_spec.h"
#include "spur/v1/agent.pb.h"

namespace spur::agent {

// What all sessions of an agent share.
struct StepContext {
  const Agent& agent;
  io::Clock& clock;
  io::StepPort& port;
  std::string node;
  // Verifies a ticket against the controller's key as last told.
  std::function<Result<io::Verified>(std::string_view ticket)> verify;
  std::map<JobId, std::uint32_t> next_step;   // numbers given out by this step manager
  // What the steps of a job use here right now; may be empty.
  std::function<std::vector<v1::StepUsage>(JobId)> usage{};
};

class StepSession {
 public:
  struct Events {
    std::function<void(v1::StepOutput)> output;
    std::function<void(Status)> finished;     // once, last
  };
  StepSession(StepContext& context, Events events);
  ~StepSession();

  // The next message of the caller; `taken` when more may be sent.
  void input(v1::StepInput input, std::function<void()> taken);
  void pause(bool paused);                    // the caller reads slowly

 private:
  struct Part {
    std::string node, address;
    std::uint32_t tasks = 0, first_rank = 0;
    std::vector<std::uint32_t> ranks;         // where they do not just follow first_rank
    bool has(std::uint32_t rank) const;
    std::unique_ptr<io::StepChannel> channel;
    bool over = false;
  };
  Status start(v1::StepStart start);
  Result<const model::ControllerLaunch*> admit(const v1::StepStart& start) const;
  Status lay_out(const v1::StepStart& start, const model::ControllerLaunch& launch);
  Status number(const v1::StepStart& start, const model::Distribution& distribution,
                const std::vector<std::uint32_t>& layout);
  void open_parts(const v1::StepStart& start, const model::ControllerLaunch& launch);
  void on_output(Part& part, std::string bytes);
  void on_closed(Part& part, Status status);
  void part_over(Part& part);
  void send_all(const v1::StepInput& input, std::function<void()> taken);
  void finish(Status status);

  StepContext& context_;
  Events events_;
  std::vector<std::unique_ptr<Part>> parts_;
  bool started_ = false, finished_ = false, kill_on_bad_exit_ = false, killed_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// How many of `tasks` go to each of the nodes that can hold `cpus / cpus_per_task` each, when nobody said
// (model/distribution.h). StepTooLarge if they do not fit and `overcommit` is false.
Result<std::vector<std::uint32_t>> lay_out_tasks(const model::Distribution& distribution, std::uint32_t tasks,
                                                 const std::vector<std::uint32_t>& cpus, std::uint32_t cpus_per_task,
                                                 bool overcommit);

}  // namespace spur::agent
