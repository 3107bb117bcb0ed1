// SPDX-License-Identifier: Apache-2.0
// The agent's door to processes: it starts step daemons that outlive it, and learns how they ended, also across a
// restart of the agent. Real: os/step_launcher (spurstepd, spool directory). Virtual: sim/.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/agent_message.h"

namespace spur::io {

class Launcher {
 public:
  struct Ended {
    model::JobRun run;
    model::ExitStatus exit;
    bool out_of_memory = false, launch_failed = false;
    std::string error;
    bool prolog_failed = false, node_blameless = false;  // as in model::AgentJobDone
    std::string drain{};
    model::Usage usage{};
    model::Usage batch_usage{};  // of the script alone
  };
  // What the node knows of runs, from durable records; `ended` ones stay until forget().
  struct Known {
    model::JobRun run;
    bool is_batch_host = false;
    bool running = false;  // else `ended` holds its end
    Ended ended;
    std::shared_ptr<const model::ControllerLaunch> launch;  // as it was noted; steps inside the job need it
  };

  virtual ~Launcher() = default;
  // Called once at start, before the first launch: every run with a durable record here.
  virtual Result<std::vector<Known>> recover() = 0;
  // Durably notes the run, then starts its step daemon (only on part 0; other parts are just noted). Success means
  // the note is durable: from now on exactly one end will be reported for it, whatever crashes. Starting a known run
  // again is a no-op.
  virtual Status launch(const model::ControllerLaunch& launch) = 0;
  // To all processes of the run; an unknown or ended run is a no-op. For a part without processes, `end` makes it
  // end.
  virtual void end(model::JobRun run, bool kill, model::JobState why) = 0;
  virtual void signal(model::JobRun run, int signal, bool batch_only, bool steps_only) = 0;
  virtual void suspend(model::JobRun run, bool resume) = 0;
  // A line for the error output of the run's batch script. A launcher whose scripts write nowhere drops it.
  virtual void notify(model::JobRun /*run*/, const std::string& /*text*/) {}
  // The end is durable at the controller: drop the record.
  virtual void forget(model::JobRun run) = 0;
  // Set by the owner before recover(); called on the agent's thread.
  std::function<void(Ended)> on_ended;
};

}  // namespace spur::io
