// SPDX-License-Identifier: Apache-2.0
// The agent's real door to processes (contract: io/launcher.h): notes runs in the spool, starts one spurstepd per
// batch script or step, and watches them. They outlive the agent: recover() finds those of batch scripts again, those
// of steps call back (os/step_calls.h).
//
//   launch()           in the ledger           user known           spurstepd gone, end record there
//   -------> Noting ------------------> LookingUp --------> Running --------------------------------> Ended
//   --forget()-->
//   With hooks of the site: Prolog before Running, Epilog before Ended (run_hooks.cc).
//              |                                              | spurstepd gone without a record          ^
//              |                                              +------> Clearing (kill what is left) ------+
//              +-- no script here: Held --end()--> Clearing (its steps end) ------------------------------+
//
// launch() returns when the note survives the agent's death. A script is started only when the note also survives a
// power cut: so a run that a cut takes back has never run, the controller finds the node without it and launches it
// again. All of it on the thread of the event loop.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/launcher.h"
#include "os/cgroup.h"
#include "os/container_dirs.h"
#include "os/event_loop.h"
#include "os/gpu.h"
#include "os/hook_runner.h"
#include "os/process.h"
#include "os/run_ledger.h"
#include "os/spool.h"
#include "os/step_calls.h"
#include "os/step_control.h"
#include "os/step_processes.h"
#include "os/step_spawner.h"
#include "os/usage_sample.h"
#include "os/user_lookup.h"

namespace spur::os {

class StepLauncher final : public io::Launcher {
 public:
  struct Options {
    std::string spool;  // made if missing; must be the agent's own
    std::string stepd;  // the program
    std::string node;
    std::vector<std::string>
        job_environment{};  // NAME=VALUE set in every job: where commands inside find the controller
    bool use_cgroups = true;
    std::function<CgroupLimits(const model::LaunchPart&)> confine{};  // of a job on this node; empty: no limits
    Duration keep_users{seconds(60)};
    // Programs of the site, run by the agent's own user. A prolog runs before the first process of a job on the node,
    // or, with `alloc`, as soon as the job is noted; an epilog before its end is told.
    struct Hooks {
      std::vector<std::string> prolog{}, epilog{};
      Duration prolog_timeout{0}, epilog_timeout{0};  // of each program; 0: none
      bool alloc = false, contain = false, serial = false;
      std::string task_prolog{}, task_epilog{};  // by spurstepd, as the user, around each task
      std::uint32_t propagate_nice = 0;          // PropagatePrioProcess
      // Processes of a run that are still there so long after SIGKILL: the program runs, and on_unkillable is told.
      Duration unkillable_after{seconds(60)};
      std::string unkillable_program{};
    } hooks{};
    // What a job's GPUs are doing right now. Step daemons cannot ask the makers' libraries, so the agent does; empty:
    // nobody knows.
    std::function<GpuLoad(const model::LaunchPart&)> gpu_load{};
    std::string gpu_cores{};  // os/gpu_places.h
    ContainerSettings containers{};
    seconds sample_every{0};                         // the usage of running tasks; 0: never
    std::function<void(const std::string&)> warn{};  // gets single sentences; may be empty
  };
  static Result<std::unique_ptr<StepLauncher>> open(EventLoop& loop, Options options);
  // For jobs and steps that start from now on, and epilogs that have not begun.
  void set_site(Options::Hooks hooks, seconds sample_every);
  ~StepLauncher() override;

  Result<std::vector<Known>> recover() override;
  Status launch(const model::ControllerLaunch& launch) override;
  void end(model::JobRun run, bool kill, model::JobState why) override;
  void signal(model::JobRun run, int signal, bool batch_only, bool steps_only) override;
  void suspend(model::JobRun run, bool resume) override;
  void notify(model::JobRun run, const std::string& text) override;
  void forget(model::JobRun run) override;

  // Whether a run is here that does not end although it was killed.
  bool has_unkillable() const { return !unkillable_.empty(); }
  std::function<void()> on_unkillable;  // there is one more

  // Starts a spurstepd for tasks of step `step` of a run that this node holds, and gives the caller a connected
  // stream socket. The caller then writes and reads frames (wire/grpc_framing.h): first the StepInput with the start,
  // then further StepInputs; StepOutputs come back. Closing the socket ends the step. `ready` may be called before
  // start_step returns.
  using StepReady = std::function<void(Result<UniqueFd>)>;
  void start_step(const model::ControllerLaunch& launch, std::uint32_t step, StepReady ready);
  // The stream to the daemon of a step that runs, and was given a key when it was started (v1::StepStart): the first
  // StepInput is an attach. NotFound: there is no such step, or it does not show up.
  void resume_step(model::JobRun run, std::uint32_t step, const std::string& key, StepReady ready);
  // A process of the job's user that writes or reads a file (stepd/file_run.h), otherwise as start_step: FileInputs,
  // FileOutputs.
  void start_files(const model::ControllerLaunch& launch, StepReady ready);

  // What the steps of a job use on this node at the moment, with the peaks that were seen so far.
  std::vector<StepSample> usage(JobId job) const;

  // The processes of each job on this node. Where there are no groups: its tasks, as far as they were sampled.
  std::map<JobId, std::vector<StepProcess>> processes() const;

  const CgroupBase& cgroups() const { return cgroups_; }

 private:
  enum class Phase : std::uint8_t { Noting, LookingUp, Prolog, Running, Held, Clearing, Epilog, Ended };
  enum class PrologState : std::uint8_t { NotRun, Running, Done };
  using Ready = std::function<void(Status)>;
  struct Run {
    RunHeader header;
    Phase phase = Phase::Held;
    std::shared_ptr<const UniqueFd> pidfd;  // of spurstepd
    pid_t pid = -1;
    Uid uid;
    Gid gid;
    int starts = 0;            // how often we tried
    EventLoop::TimerId timer;  // of clearing
    EndRecord end;             // what is to be recorded when clearing is over
    Duration kill_wait{0};
    Duration clearing_since{0}, kill_at{0};
    bool end_watched = false;  // watch_end() has been called
    model::LaunchPart part;                                 // ours
    std::shared_ptr<const model::ControllerLaunch> launch;  // where hooks are told of it
    PrologState prolog = PrologState::NotRun;
    std::vector<Ready> after_prolog;
    std::optional<EndRecord> end_after_prolog;
    model::Usage steps_usage{};    // of those that have ended
    bool may_have_strays = false;  // processes that no daemon looks after
    GpuLoad gpu_peak{};            // on this agent's watch
  };
  struct Step {
    std::string name;  // its number
    std::shared_ptr<const UniqueFd> pidfd;
    UniqueFd orders;
    std::string key{};  // what it says of itself when it has lost us
    UniqueFd stream{};  // on which it waits to be taken up again
  };
  using StepEntry = std::multimap<model::JobRun, Step>::iterator;
  struct Wanted {
    model::JobRun run;
    std::string step;
    std::string key;
    StepReady ready;
    EventLoop::TimerId timer;
  };

  StepLauncher(EventLoop& loop, Options options, Spool spool);
  void warn(const std::string& text) const;
  void sweep_usage();
  void sample_gpus();
  std::vector<std::string> stepd_environment(const Identity& identity, const model::LaunchPart& part) const;
  void find_user(Uid uid, Gid gid, UserLookup::Found found);

  // step_launcher.cc: starting and ordering
  void note(model::JobRun run, RunFile file);
  void look_up(model::JobRun run, std::shared_ptr<RunFile> file);
  void fail_launch(model::JobRun run, const std::string& error, bool node_blameless = false);
  void start_stepd(model::JobRun run, const Identity& identity, std::shared_ptr<RunFile> file);
  void on_stepd_started(model::JobRun run, Result<Spawned> spawned);
  using Kind = StepRequest::Kind;
  void start_beside(const model::ControllerLaunch& launch, Kind kind, const std::string& name, StepReady ready);
  void start_beside_now(const model::ControllerLaunch& launch, Kind kind, const std::string& name,
                        const Identity& identity, StepReady ready);
  void on_step_gone(StepEntry step);

  // step_resume.cc: steps that lost their stream, or their agent
  StepEntry find_step(model::JobRun run, const std::string& name);
  void on_step_call(StepCalls::Call call);
  void hand_over(StepEntry step);
  void refuse_wanted(std::list<Wanted>::iterator wanted, const Error& error);
  void clear_step(model::JobRun run, const std::string& name);
  void order_batch(model::JobRun run, StepOrder order, int attempt = 0);
  void order_steps(model::JobRun run, const StepOrder& order);

  // run_hooks.cc
  void keep_for_hooks(Run& state, const model::ControllerLaunch& launch);
  void with_prolog(model::JobRun run, const Identity& user, Ready then);
  void on_prolog(model::JobRun run, const Status& status);
  void run_epilog(model::JobRun run, Ended ended);
  void tell_end(Ended ended);
  HookRequest hook_request(const Run& state, const Identity& user, bool epilog, const model::ExitStatus* exit) const;

  // run_recovery.cc: ends, orderly or not
  void on_stepd_gone(model::JobRun run);
  void clear(model::JobRun run, EndRecord record, Duration kill_after);
  void watch_end(model::JobRun run, Duration kill_after);
  void look_at_end(model::JobRun run);
  void go_on_clearing(model::JobRun run);
  bool anything_left(model::JobRun run, const Run& state, bool kill);  // and, with `kill`, ends it
  void finish(model::JobRun run, EndRecord record);
  void remove_containers(const std::string& scratch);
  void report(model::JobRun run, const EndRecord& record);
  Result<Known> recover_run(model::JobRun run);
  void remove_strange_groups() const;
  void recover_lost_notes(std::vector<Known>& known);
  void recover_script(model::JobRun run, RunFile file);
  void adopt(model::JobRun run, int attempt);

  EventLoop& loop_;
  Options options_;
  bool samples_;  // usage is sampled
  Spool spool_;
  CgroupBase cgroups_;
  std::string boot_id_;
  std::string token_;  // tells this agent's runs from those of any other agent on the host
  Identity self_;
  std::map<model::JobRun, Run> runs_;
  std::set<model::JobRun> unkillable_;
  std::multimap<model::JobRun, Step> steps_;
  std::list<Wanted> wanted_;
  const Duration opened_at_ = EventLoop::now();
  std::unique_ptr<RunLedger> ledger_;
  std::unique_ptr<StepSpawner> spawner_;
  std::unique_ptr<UserLookup> users_;
  std::unique_ptr<HookRunner> hooks_;
  std::unique_ptr<StepCalls> calls_;
  EventLoop::TimerId gpu_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spur::os
