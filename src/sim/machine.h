// SPDX-License-Identifier: Apache-2.0
// A compute node without an operating system: jobs are numbers that run for a while. It is the ground truth that
// checkers hold the controller's beliefs against. It outlives the agent (as spurstepd outlives spurd) and keeps
// durable notes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "io/launcher.h"
#include "sim/event_queue.h"
#include "sim/process.h"
#include "sim/random.h"

namespace spur::sim {

// What really happened, as it happens.
struct Witness {
  virtual ~Witness() = default;
  virtual void on_started(const std::string& node, const model::ControllerLaunch& launch) = 0;
  virtual void on_stopped(const std::string& node, model::JobRun run, model::ExitStatus exit) = 0;
};

class Machine {
 public:
  Machine(std::string name, EventQueue& events, Random random, Witness& witness);

  struct Run {
    model::ControllerLaunch launch;
    bool running = true, suspended = false, ignores_term = false;
    model::ExitStatus planned, exit;
    std::uint64_t generation = 0;     // an older end event is void
  };

  // The agent's process came up or went away.
  void attach(std::function<void(io::Launcher::Ended)> on_ended) { on_ended_ = std::move(on_ended); }
  void detach() { on_ended_ = {}; }
  void reboot();                      // every process is gone; notes stay

  Status launch(const model::ControllerLaunch& launch);
  void end(model::JobRun run, bool kill);
  void suspend(model::JobRun run, bool resume);
  void forget(model::JobRun run) { runs_.erase(run); }
  const std::map<model::JobRun, Run>& runs() const { return runs_; }
  const std::string& name() const { return name_; }

 private:
  void stop_after(model::JobRun run, Duration delay, model::ExitStatus exit);
  void stop(model::JobRun run, model::ExitStatus exit);
  std::string name_;
  EventQueue& events_;
  Random random_;
  Witness& witness_;
  std::map<model::JobRun, Run> runs_;
  std::function<void(io::Launcher::Ended)> on_ended_;
};

// The agent's door to its machine.
class SimLauncher final : public io::Launcher {
 public:
  SimLauncher(Machine& machine, Process& process) : machine_(machine), process_(process) {}
  ~SimLauncher() override { machine_.detach(); }
  Result<std::vector<Known>> recover() override;
  Status launch(const model::ControllerLaunch& launch) override { return machine_.launch(launch); }
  void end(model::JobRun run, bool kill, model::JobState) override { machine_.end(run, kill); }
  void signal(model::JobRun, int, bool, bool) override {}
  void suspend(model::JobRun run, bool resume) override { machine_.suspend(run, resume); }
  void forget(model::JobRun run) override { machine_.forget(run); }

 private:
  Machine& machine_;
  Process& process_;  // the agent's
};

}  // namespace spur::sim
