// SPDX-License-Identifier: Apache-2.0
// The tickets that steps of this node's jobs came with, kept so that the next srun of the same user need not ask the
// controller: a job of a million steps costs it one question every few minutes. On the agent's thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "agent/agent.h"
#include "base/result.h"
#include "io/credentials.h"
#include "spur/v1/controller.pb.h"

namespace spur::agent {

class StepTickets {
 public:
  // One that was verified, and is for a run that is here.
  void keep(const std::string& bytes, const io::Verified& ticket);
  void forget(const model::JobRun& run) { kept_.erase(run); }
  // For `uid`, which the kernel named. An error: the controller must be asked.
  Result<v1::StepTicketReply> give(const Agent& agent, JobId job, Uid uid, Time now) const;

 private:
  struct Kept {
    std::string bytes;
    Uid uid;
    Time expires;
  };
  std::map<model::JobRun, Kept> kept_;
};

// One call (wire/local_call.h) on the node's ticket socket, and its answer's bytes.
std::string answer_ticket_call(const StepTickets& tickets, const Agent& agent, std::string_view frame, Uid uid,
                               Time now);

}  // namespace spur::agent
