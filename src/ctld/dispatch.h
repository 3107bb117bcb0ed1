// SPDX-License-Identifier: Apache-2.0
// Carries effects out on nodes and keeps at it until the nodes have confirmed: launches until acknowledged, ends
// until the node reports the job gone. Also the leases: a node is lost only after this controller itself has not
// heard from it for a whole lease. Nothing here is replicated; a new leader rebuilds it from the state (resume_all)
// and from the agents' hellos.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ctld/launch_message.h"
#include "ctld/node_loads.h"
#include "io/agent_port.h"
#include "io/clock.h"
#include "io/controller_hooks.h"
#include "model/agent_message.h"
#include "model/view.h"
#include "state/cluster.h"
#include "state/command.h"
#include "state/effect.h"

namespace spur::ctld {

class Dispatcher {
 public:
  struct Hooks {
    std::function<const model::View&()> view;  // the state as applied
    std::function<void(state::Command, std::function<void(const state::Outcome&)>)> propose;
    // The same for what is said again until it is answered: OutOfSpace, and forgotten, while the journal is full.
    std::function<void(state::Command, std::function<void(const state::Outcome&)>)> propose_repeated;
    std::function<void(std::string)> log;
    std::function<bool()> surely_leads;        // nobody else can have taken over by now
    io::ControllerHooks* programs = nullptr;   // of the site, before and after each job; null: none
    std::function<void(JobId)> prolog_done{};  // the job goes to its nodes now
    std::function<void(const state::RunPowerProgram&)> run_power_program{};
    NodeLoads* loads = nullptr;  // null: nobody asks
  };
  Dispatcher(io::Clock& clock, io::AgentPort& agents, Hooks hooks);

  // A fresh leader: every lease starts now, whatever an earlier leader thought.
  void resume_all(const std::vector<state::Effect>& effects);

  // Another controller leads: agents are sent away, and nothing is repeated any more.
  void reset();

  void carry_out(const state::Effect& effect);
  // Another configuration is in force. Agents that must hear of it, or register again, are made to.
  void on_config();

  void on_connected(const std::string& node);
  void on_disconnected(const std::string& node);
  void on_message(const std::string& node, const model::AgentMessage& message);
  // Sends a signal to the job's nodes once; not repeated, as a second USR1 would be a second event to the job.
  void signal(const model::Job& job, int signal, bool batch_only, bool steps_only);

  // It has its nodes, but the site's prolog is not through with it: nobody there knows of it yet.
  bool awaits_prolog(const model::Job& job) const;

  void on_timer();
  Duration next_timer() const;  // monotonic

  // What every agent is told at its hello, besides the lease.
  std::string controller_public_key;

 private:
  struct Link {
    bool connected = false;
    bool welcomed = false;     // registered over this connection, and never silent for long since
    bool told_silent = false;  // NodeResponding{false} proposed
    bool loss_proposed = false;
    bool leased = false;  // in service when last looked at: its lease runs
    Duration heard{0};    // monotonic
    std::uint64_t sequence = 0;  // ... of the last hello or heartbeat
    std::string refusal;  // why its last hello was; said once
    Duration reboot_told{-1};  // when it was last told to reboot; negative: not yet
  };
  struct Work {  // what a node still has to confirm about a run
    bool launch = false, end = false, kill = false, suspend = false, resume = false;
    Duration repeat_at{0};
    Duration kill_at{Duration::max()};
    bool pending() const { return launch || end || suspend || resume; }
  };
  using Key = std::pair<std::string, model::JobRun>;

  void on(const std::string& node, const model::AgentHello& hello);
  void on(const std::string& node, const model::AgentHeartbeat& heartbeat);
  void on(const std::string& node, const model::AgentLaunched& launched);
  void on(const std::string& node, const model::AgentJobDone& done);
  void on(const std::string& node, const model::AgentStepsEnded& ended);
  void welcome(const std::string& node, const std::vector<model::JobRun>& holding);
  void ask_for_hello(const std::string& node, std::vector<model::JobRun> unknown);
  model::ControllerWelcome welcome_message() const;
  std::vector<model::JobRun> unknown_of(const std::string& node, const std::vector<model::JobRun>& holding) const;
  const model::Job* job_on_node(const model::JobRun& run, const std::string& node) const {
    return model::run_on_node(hooks_.view(), run, node);
  }
  void send_work(const std::string& node, const model::JobRun& run, Work& work);
  void for_each_node(const model::Job& job, const std::function<void(const std::string&)>& f) const;
  void check_leases(Duration now);
  void repeat_reboots(Duration now);
  void tell_reboot(const model::Node& node, Link& link);
  void tell_nodes_lost(const model::Job& job);
  // A run is launched when the site's prolog is through with it; what has become of one that was launched is known
  // when it is no longer active.
  bool hold_for_prolog(const model::Job& job);
  void on_prolog(model::JobRun run, const Status& status);
  void review_epilog(JobId job);

  io::Clock& clock_;
  io::AgentPort& agents_;
  Hooks hooks_;
  std::map<std::string, Link> links_;
  std::map<Key, Work> work_;
  LaunchMessages launches_;
  std::set<model::JobRun> in_prolog_, after_prolog_;
  std::map<model::JobRun, model::JobPtr> before_epilog_;  // as last seen active
  Duration tick_at_{0};
  seconds heartbeat_{0};  // as agents were told
};

}  // namespace spur::ctld
