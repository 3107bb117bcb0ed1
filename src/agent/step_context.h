// SPDX-License-Identifier: Apache-2.0
// What all steps of an agent share. On the agent's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/agent.h"
#include "agent/step_book.h"
#include "agent/step_tickets.h"
#include "base/result.h"
#include "io/clock.h"
#include "io/credentials.h"
#include "io/step_notes.h"
#include "io/step_port.h"
#include "spur/v1/agent.pb.h"

namespace spur::agent {

class ManagedStep;

struct StepContext {
  StepContext(const Agent& agent_given, io::Clock& clock_given, io::StepPort& port_given, io::StepNotes& notes_given,
              std::string node_given);
  ~StepContext();

  const Agent& agent;
  io::Clock& clock;
  io::StepPort& port;
  io::StepNotes& notes;
  std::string node;
  // Verifies a ticket against the controller's key as last told.
  std::function<Result<io::Verified>(std::string_view ticket)> verify;
  std::function<void(Duration, std::function<void()>)> call_after;
  // What the steps of a job use here right now; may be empty.
  std::function<std::vector<v1::StepUsage>(JobId)> usage;

  std::function<void(const v1::StepInfo&)> step_began;  // may be empty
  // Accounting is to know of a step that has ended; may be empty.
  std::function<void(const model::JobRun&, model::StepEnd)> step_ended;

  StepBook book;  // of the jobs whose first node this is
  StepTickets tickets;
  // Those that this node manages, until their srun has heard of the end.
  std::map<const ManagedStep*, std::unique_ptr<ManagedStep>> steps;
  // Nodes that a job goes on without.
  std::map<model::JobRun, std::set<std::string>> lost;
  // Keys of steps that ended without their srun: it may still ask, and must not get them started anew.
  std::set<std::pair<model::JobRun, std::string>> given_up;

  ManagedStep* find(const std::string& key) const;
  ManagedStep* find(JobId job, std::uint32_t step) const;  // that runs
  void remove(const ManagedStep* step);                    // soon: it may be the caller
  void run_ends(model::JobRun run, bool over);
  void nodes_lost(const model::JobRun& run, const std::vector<std::string>& nodes);
  // A line for the srun that holds the run: the one with its first step.
  void notify(model::JobRun run, const std::string& text) const;
};

}  // namespace spur::agent
