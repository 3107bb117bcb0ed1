// SPDX-License-Identifier: Apache-2.0
// A whole cluster in one thread and virtual time: one real Controller with a journal of its own, or three over the
// real journal of several and a fake etcd; real Agents over fake machines; clients that submit and cancel; and the
// faults of its story. Same story, same trace, to the byte.
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
#include "os/etcd_journal.h"
#include "sched/engine.h"
#include "sim/checker.h"
#include "sim/event_queue.h"
#include "sim/fibers.h"
#include "sim/machine.h"
#include "sim/process.h"
#include "sim/random.h"
#include "sim/sim_clock.h"
#include "sim/sim_etcd.h"
#include "sim/sim_journal.h"
#include "sim/story.h"
#include "sim/trace.h"

namespace spur::sim {

struct Outcome {
  std::string violation;              // empty: all invariants held
  std::uint64_t trace_digest = 0;
  std::uint64_t events = 0;
  std::uint32_t crashes = 0, leaders = 0, jobs = 0;
};

class World {
 public:
  static constexpr std::uint32_t kCpusPerNode = 4;
  // `trace`: null: only the digest is kept.
  World(const Story& story, std::FILE* trace);
  ~World();
  Outcome run();

  const Story& story() const { return story_; }
  EventQueue& events() { return events_; }
  Checker& checker() { return checker_; }
  Trace& trace() { return trace_; }
  std::size_t node_count() const { return nodes_.size(); }
  std::size_t controller_count() const { return hosts_.size(); }
  static std::string node_name(std::size_t i) { return "n" + std::to_string(i); }

  // ---- for clients (workload.cc) Something that a client sends to a controller: it is done there after a while,
  // unless nobody is there, or it gets lost.
  using Call = std::function<void(ctld::Controller&)>;
  void call(std::size_t controller, Call call);
  // Somebody looks at what it knows, as squeue does.
  void look(std::size_t controller);
  // The way back, which may be cut as well.
  void answer(std::size_t controller, std::function<void()> action);
  // Who says that it leads, if somebody can be asked and does.
  std::optional<std::size_t> leader() const;
  ctld::Controller& controller(std::size_t i) { return *hosts_[i].process->logic; }

  // ---- for fate (faults.cc)
  void crash_controller(std::size_t i);
  void start_controller(std::size_t i);
  void stop_controller(std::size_t i, Duration away);
  void pause_controller(std::size_t i);
  void resume_controller(std::size_t i);
  bool wipe_controller(std::size_t i);  // false: nobody else has the state
  void fill_disk(std::size_t i, bool full) { hosts_[i].disk.full = full; }
  void set_host_up(std::size_t i, bool up);
  void cut_controllers(std::size_t i, std::size_t j, bool cut);
  void cut_clients(std::size_t i, bool cut) { hosts_[i].clients_cut += cut ? 1 : -1; }
  SimEtcd* etcd() { return etcd_.get(); }
  void crash_agent(std::size_t i, bool reboot);
  void start_agent(std::size_t i);
  void pause_agent(std::size_t i, bool pause);
  // Messages to the node, from it, or both, are lost from now on.
  void cut_way(std::size_t node, std::size_t controller, bool to_node, bool from_node, bool cut);
  void jump_clock(std::size_t i, Duration by);
  void edit_config(std::int64_t what);

 private:
  struct AgentsOfController;  // io::AgentPort
  struct ControllerOfAgent;   // io::ControllerPort
  struct WatchedJournal;      // io::Journal: tells the checker of appends
  struct ControllerProcess {
    Process process;
    std::shared_ptr<Fibers> fibers;
    SimClock clock;
    std::unique_ptr<io::Journal> journal;
    os::EtcdJournal* shared = nullptr;  // the same, if it is one of several
    std::unique_ptr<io::Journal> watched;
    std::unique_ptr<io::AgentPort> agents;
    sched::Engine engine{{.as_configured = true}};
    std::unique_ptr<ctld::Controller> logic;
    std::unique_ptr<io::Threads::Thread> start;
    std::map<std::size_t, std::uint64_t> links;  // by node, as it knows them
    bool ready = false;                          // has begun; with several, follows at least
    Duration paused_at{0};
    ControllerProcess(EventQueue& events, Duration skew)
        : process(events), fibers(std::make_shared<Fibers>(process)), clock(events, skew) {}
    ~ControllerProcess();
  };
  struct Host {  // of a controller
    Disk disk;
    Duration skew{0};
    int clients_cut = 0;
    std::unique_ptr<ControllerProcess> process;
  };
  struct AgentProcess {
    Process process;
    SimClock clock;
    SimLauncher launcher;
    std::unique_ptr<io::ControllerPort> controller;
    std::unique_ptr<agent::Agent> logic;
    AgentProcess(EventQueue& events, Machine& machine)
        : process(events), clock(events, Duration{0}), launcher(machine, process) {}
  };
  struct Way {  // how often the messages between a node and a controller are cut
    int to_node = 0, from_node = 0;
  };
  struct Node {
    std::unique_ptr<Machine> machine;
    std::unique_ptr<AgentProcess> agent;
    std::vector<Way> ways;    // by controller
    std::size_t dials = 0;    // whom it asks next
    std::uint64_t link = 0;   // as the agent knows it; 0: no connection
    std::size_t linked_to = 0;
    bool dialling = false;
  };

  bool step();  // the next event or timer; false when nothing is left
  bool settled() const;
  void settle();  // no more faults; everything must come to an end
  model::ClusterConfig make_config();
  // ---- controllers (world_controllers.cc)
  bool up(std::size_t i) const { return hosts_[i].process && hosts_[i].process->ready; }
  bool leads(std::size_t i) const { return up(i) && hosts_[i].process->logic->picture()->leading; }
  void begin_etcd();
  std::unique_ptr<io::Journal> make_journal(std::size_t i);
  ctld::Controller::Doors make_doors(std::size_t i);
  void on_fatal(std::size_t i, const Error& error);
  void on_commit(std::size_t member, const io::KvTransaction& transaction);
  Result<io::StoredSnapshot> fetch_snapshot(std::size_t i);
  // ---- links (world_links.cc)
  void dial(std::size_t node);
  void connect(std::size_t node, std::size_t controller);
  void drop_at_agent(std::size_t node, std::uint64_t link);
  void drop_at_controller(std::size_t node, std::size_t controller, std::uint64_t link);
  void notice_silence(std::size_t node, std::size_t controller);
  void to_node(std::size_t controller, std::size_t node, model::ControllerMessage message);
  void from_node(std::size_t node, model::AgentMessage message);
  void deliver(std::function<void()> action);

  const Story story_;
  EventQueue events_;
  Random random_;
  Trace trace_;
  Checker checker_;
  std::unique_ptr<SimEtcd> etcd_;  // of several controllers
  std::vector<Host> hosts_;
  std::vector<std::vector<int>> controllers_cut_;
  std::vector<Node> nodes_;
  std::uint64_t links_ = 0;
  std::uint32_t crashes_ = 0, leaders_ = 0;
  bool faults_ = true;
  model::ClusterConfig config_;  // as in every controller's files
};

}  // namespace spur::sim
