// SPDX-License-Identifier: Apache-2.0
// One step that srun runs through this agent. The agent of the job's first node is the job's step manager: it gives
// the step its number and its share of the job (step_book.h), waiting if there is none yet, opens a channel to every
// node of the step and merges what comes back. A forwarded start runs only this node's tasks. The ticket, signed by
// the controller, says whose job it is; every node checks it for itself.
//
// On the agent's thread. The owner (step_service.cc) moves bytes between it and a gRPC stream.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/step_book.h"
#include "agent/step_tickets.h"
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
  std::function<void(Duration, std::function<void()>)> call_after;
  std::set<class StepSession*> running{};  // those that this node manages
  StepBook book{};                         // of the jobs whose first node this is
  StepTickets tickets{};
  // What the steps of a job use here right now; may be empty.
  std::function<std::vector<v1::StepUsage>(JobId)> usage{};
};

class StepSession {
 public:
  struct Events {
    std::function<void(v1::StepOutput)> output;
    std::function<void(Status)> finished;  // once, last
    std::function<void(std::string)>
        data{};  // StepOutputs with data of tasks, as bytes; empty: they go to `output`, too
  };
  StepSession(StepContext& context, Events events);
  ~StepSession();

  // The next message of the caller; `taken` when more may be sent.
  void input(v1::StepInput input, std::function<void()> taken);
  // The same for a StepInput that is known to be input of tasks, unread. False: it was not taken, use input().
  bool pass_bytes(std::string& bytes, const std::function<void()>& taken);
  void pause(bool paused);  // the caller reads slowly
  // Of a step that this node manages and that runs.
  const v1::StepInfo& info() const { return info_; }
  void signal(int signal);  // to all tasks; 0: the step is cancelled

 private:
  struct Part {
    std::string node, address;
    std::uint32_t tasks = 0, first_rank = 0;
    std::vector<std::uint32_t> ranks;  // where they do not just follow first_rank
    StepShare share;
    bool has(std::uint32_t rank) const;
    std::unique_ptr<io::StepChannel> channel;
    bool over = false;
    std::optional<std::string> at_fence;  // what its tasks have to tell the others
  };
  // `waited`: for the job's launch to come here.
  Status start(v1::StepStart start, Duration waited);
  void look_again(v1::StepStart start, Duration waited);
  Result<const model::ControllerLaunch*> admit(const v1::StepStart& start);
  Status start_forwarded(const v1::StepStart& start, const model::ControllerLaunch& launch);
  Status enter(const v1::StepStart& start, const model::ControllerLaunch& launch);
  void begin(v1::StepStart start, StepBegin granted);
  void describe(const v1::StepStart& start, const model::ControllerLaunch& launch);
  Status number(const v1::StepStart& start, const model::Distribution& distribution);
  void open_parts(const v1::StepStart& start, const model::ControllerLaunch& launch);
  void on_output(Part& part, std::string bytes);
  void on_fence(Part& part, std::string data);
  void pass_fence();
  std::string mapping() const;
  void kill_all();
  void on_closed(Part& part, Status status);
  void part_over(Part& part);
  void pass_on(v1::StepInput input, std::function<void()> taken);
  void send_all(const v1::StepInput& input, std::function<void()> taken);
  void finish(Status status);

  StepContext& context_;
  Events events_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::unique_ptr<StepBook::Place> place_;                              // of a step that this node manages
  std::vector<std::pair<v1::StepInput, std::function<void()>>> early_;  // what came while the step waited
  JobId job_;
  v1::StepInfo info_;
  bool started_ = false, waiting_ = false, finished_ = false, kill_on_bad_exit_ = false, killed_ = false;
  bool forwarded_ = false;  // of a step that another node manages
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// What a start asks of the job's ledger.
Result<StepAsk> ask_of(const v1::StepStart& start, const model::ControllerLaunch& launch);

}  // namespace spur::agent
