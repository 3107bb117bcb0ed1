// SPDX-License-Identifier: Apache-2.0
// The logic of spurd without threads, sockets or processes: events in, door calls out. main/spurd.cc runs it on one thread
// over real doors; sim/ runs many of them in virtual time.
#pragma once

#include <map>
#include <string>

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
};

class Agent {
 public:
  Agent(AgentIdentity identity, io::Clock& clock, io::Launcher& launcher, io::ControllerPort& controller);

  // Reads what the node still runs or has not yet reported. Before anything else.
  Status start();
  void on_connected();                                   // the stream to a controller is up: says hello
  void on_disconnected();
  void on_message(const model::ControllerMessage& message);
  void on_ended(const io::Launcher::Ended& ended);       // from the launcher
  // Call when now >= next_timer(): heartbeats, repeats of what was not acknowledged.
  void on_timer();
  Duration next_timer() const;                           // on Clock::monotonic()

 private:
  struct Run {
    bool is_batch_host = false;
    bool running = true;
    model::AgentJobDone done;                            // valid when !running
    Duration next_report{0};
  };
  void report(const model::JobRun& run, Run& state);
  AgentIdentity identity_;
  io::Clock& clock_;
  io::Launcher& launcher_;
  io::ControllerPort& controller_;
  std::map<model::JobRun, Run> runs_;
  bool connected_ = false;
  Time started_;
  Duration heartbeat_every_{std::chrono::seconds(30)}, next_heartbeat_{0};
  std::uint64_t sequence_ = 0;
};

}  // namespace spur::agent
