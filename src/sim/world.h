// SPDX-License-Identifier: Apache-2.0
// A whole cluster in one thread and virtual time: the real Controller and the real Agents over fake doors, clients that
// submit and cancel, and a fate that crashes, cuts, delays, repeats and loses. Same seed, same trace, to the byte.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "ctld/controller.h"
#include "sched/engine.h"
#include "sim/checker.h"
#include "sim/event_queue.h"
#include "sim/machine.h"
#include "sim/random.h"
#include "sim/sim_clock.h"
#include "sim/sim_journal.h"
#include "sim/trace.h"

namespace spur::sim {

struct Options {
  std::uint64_t seed = 1;
  std::uint32_t steps = 150;          // things that clients do
  std::FILE* trace = nullptr;         // null: only the digest is kept
};

struct Outcome {
  std::string violation;              // empty: all invariants held
  std::uint64_t trace_digest = 0;
  std::uint64_t events = 0;
  std::uint32_t crashes = 0, jobs = 0;
};

class World {
 public:
  explicit World(const Options& options);
  ~World();
  Outcome run();

  // ---- for clients and fate (workload.cc, faults.cc)
  bool controller_ready() const { return controller_ && controller_->ready; }
  ctld::Controller& controller() { return *controller_->logic; }
  std::uint64_t incarnation() const { return incarnation_; }
  EventQueue& events() { return events_; }
  Checker& checker() { return checker_; }
  Trace& trace() { return trace_; }
  std::size_t node_count() const { return nodes_.size(); }
  bool preempts() const { return options_.seed % 4 == 3; }  // of one in four worlds, urgent jobs push out others
  static std::string node_name(std::size_t i) { return "n" + std::to_string(i); }

  void crash_controller();
  void start_controller();
  void crash_agent(std::size_t i, bool reboot);
  void start_agent(std::size_t i);
  void cut(std::size_t i);
  void heal(std::size_t i);
  void jump_clock(Duration by);

 private:
  struct AgentsOfController;          // io::AgentPort
  struct ControllerOfAgent;           // io::ControllerPort
  struct ControllerProcess {
    SimClock clock;
    SimJournal journal;
    std::unique_ptr<io::AgentPort> agents;
    std::unique_ptr<ctld::Controller> logic;
    sched::Engine engine{{.as_configured = true}};
    bool ready = false;
    ControllerProcess(EventQueue& events, Random random, Disk& disk, Duration skew)
        : clock(events, skew), journal(events, random, disk) {}
  };
  struct AgentProcess {
    SimClock clock;
    SimLauncher launcher;
    std::unique_ptr<io::ControllerPort> controller;
    std::unique_ptr<agent::Agent> logic;
    AgentProcess(EventQueue& events, Machine& machine) : clock(events, Duration{0}), launcher(machine) {}
  };
  struct Node {
    std::unique_ptr<Machine> machine;
    std::unique_ptr<AgentProcess> agent;
    bool cut = false;
    std::uint64_t link = 0;           // 0: no connection; messages of older links are void
  };

  bool step();                        // the next event or timer; false when nothing is left
  void try_connect(std::size_t i);
  void disconnect(std::size_t i);
  void deliver_later(std::size_t i, std::function<void()> deliver);
  void settle();                      // no more faults; everything must come to an end
  model::ClusterConfig make_config();

  Options options_;
  EventQueue events_;
  Random random_;
  Trace trace_;
  Disk disk_;
  Checker checker_;
  std::vector<Node> nodes_;
  std::unique_ptr<ControllerProcess> controller_;
  std::uint64_t incarnation_ = 0, links_ = 0;
  Duration clock_skew_{0};
  std::uint32_t crashes_ = 0;
  bool faults_ = true;
  model::ClusterConfig config_;
};

}  // namespace spur::sim
