// SPDX-License-Identifier: Apache-2.0
// The logic of spurd without threads, sockets or processes: events in, door calls out. main/spurd.cc runs it on one
// thread over real doors; sim/ runs many of them in virtual time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "io/agent_port.h"
#include "io/clock.h"
#include "io/launcher.h"
#include "model/agent_message.h"

namespace spur::agent {

struct AgentIdentity {
  std::string node, address, hostname, version, os, arch, public_key;
  model::NodeHardware found;
  Time boot_time;
  std::string extra{}, instance_id{}, instance_type{};
};

class Agent {
 public:
  Agent(AgentIdentity identity, io::Clock& clock, io::Launcher& launcher, io::ControllerPort& controller);

  // Reads what the node still runs or has not yet reported. Before anything else.
  Status start();
  void on_connected();  // the stream to a controller is up: says hello
  void on_disconnected();
  void on_message(const model::ControllerMessage& message);
  void on_ended(const io::Launcher::Ended& ended);  // from the launcher
  // Call when now >= next_timer(): heartbeats, repeats of what was not acknowledged.
  void on_timer();
  Duration next_timer() const;  // on Clock::monotonic()
  // There is something to tell that should not wait for the next heartbeat.
  void beat_soon() { next_heartbeat_ = clock_.monotonic(); }

  // Where this agent serves steps; known once it listens. Before start().
  void set_address(std::string address) { identity_.address = std::move(address); }
  const std::string& address() const { return identity_.address; }
  // Filled into every heartbeat and hello; set by the owner, may stay empty.
  std::function<void(model::AgentHeartbeat&)> measure;
  // Told when a run is being ended (over = false) and when it is over; may stay empty.
  std::function<void(const model::JobRun&, bool over)> on_run_ends;
  // The controller has the end of the run on record: nothing of it is needed any more.
  std::function<void(const model::JobRun&)> on_forgotten;
  // Somebody has a line for the holder of an interactive run; may stay empty.
  std::function<void(const model::JobRun&, const std::string& text)> on_notice;
  // The node is to be rebooted, as the controller decided at `at`; told again until it has been. May stay empty.
  std::function<void(Time at)> on_reboot;
  // Nodes of a run that is managed here are lost: it goes on without them.
  std::function<void(const model::JobRun&, const std::vector<std::string>& nodes)> on_nodes_lost;
  // What the log is to say from now on; may stay empty.
  std::function<void(const model::ControllerDebug&)> on_debug;
  // The controller wants this agent to end; may stay empty.
  std::function<void()> on_shutdown;
  // From the controller's last welcome; empty before it. Verifies step tickets.
  const std::string& controller_public_key() const { return controller_public_key_; }
  const std::string& cluster_name() const { return cluster_name_; }
  // The launch message of a run that is held here, for steps inside it; null if there is none.
  const model::ControllerLaunch* held(JobId job) const;
  // Not here, and it has not been: its launch may be on its way.
  bool may_still_come(const model::JobRun& run) const;
  std::uint32_t cpus_held() const;  // by the runs that are here
  bool has_job_of(Uid uid) const;
  std::vector<const model::ControllerLaunch*> held_runs() const;  // that are here and not over
  std::vector<const model::ControllerLaunch*> ended_runs() const;  // ... over, and not on record yet
  // A step of a run has ended: the controller is told, at the latest with the end of the run.
  void step_ended(const model::JobRun& run, model::StepEnd end);

 private:
  struct Run {
    bool is_batch_host = false;
    bool running = true;
    model::AgentJobDone done;  // valid when !running
    Duration next_report{0};
    std::vector<model::StepEnd> steps;                      // that ended and that the controller has not got
    std::uint64_t steps_told = 0;                           // those that it has got before them
    Duration next_steps{0};                                 // when they are told again
    std::shared_ptr<const model::ControllerLaunch> launch;  // null for runs recovered without one
  };
  void on(const model::ControllerWelcome& welcome);
  void on(const model::ControllerLaunch& launch);
  void on(const model::ControllerEnd& end);
  void on(const model::ControllerSignal& signal);
  void on(const model::ControllerSuspend& suspend);
  void on(const model::ControllerDoneAck& ack);
  void on(const model::ControllerStepsAck& ack);
  void tell_steps(const model::JobRun& run, Run& state);
  void on(const model::ControllerShutdown& shutdown);
  void on(const model::ControllerNotify& notify);
  void on(const model::ControllerReboot& reboot);
  void on(const model::ControllerNodesLost& lost);
  void on(const model::ControllerDebug& debug);
  void say_hello();
  std::uint64_t next_sequence();
  bool is_fresh(const model::ControllerLaunch& launch) const;
  void report(const model::JobRun& run, Run& state);
  void forget(const model::JobRun& run);
  bool is_over(const model::JobRun& run) const;
  void remember_over(const model::JobRun& run);

  AgentIdentity identity_;
  io::Clock& clock_;
  io::Launcher& launcher_;
  io::ControllerPort& controller_;
  std::map<model::JobRun, Run> runs_;
  // The newest epoch of jobs that were here and are over, so that a late launch message starts nothing twice.
  // Bounded: the oldest go first.
  std::unordered_map<JobId, Epoch> over_;
  std::deque<JobId> over_order_;
  std::set<model::JobRun> cleaning_;  // the controller knows nothing of them: being ended, then forgotten
  bool connected_ = false, welcomed_ = false;
  Time started_;
  Duration heartbeat_every_{std::chrono::seconds(30)}, next_heartbeat_{0}, next_hello_{0};
  Duration lease_{0};  // after this silence the controller gives the node up; 0: never
  std::uint64_t sequence_ = 0;
  std::deque<std::pair<std::uint64_t, Duration>> said_;  // the last hellos and heartbeats, and when
  std::string controller_public_key_, cluster_name_;
};

}  // namespace spur::agent
