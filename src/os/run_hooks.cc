// SPDX-License-Identifier: Apache-2.0
// Prolog and epilog of a run on this node: what waits for them, and what their failure means. A prolog that fails is
// a failed launch, an epilog that fails leaves the job alone; either way the controller drains the node.
#include <fmt/format.h>

#include <utility>

#include "model/launch_failure.h"
#include "os/hook_environment.h"
#include "os/step_launcher.h"

namespace spur::os {

void StepLauncher::keep_for_hooks(Run& state, const model::ControllerLaunch& launch) {
  if (options_.hooks.prolog.empty() && options_.hooks.epilog.empty()) return;
  auto kept = std::make_shared<model::ControllerLaunch>(launch);
  kept->parts.resize(1);
  kept->addresses.resize(1);
  state.launch = std::move(kept);
}

HookRequest StepLauncher::hook_request(const Run& state, const Identity& user, bool epilog,
                                       const model::ExitStatus* exit) const {
  const auto& hooks = options_.hooks;
  HookRequest out{.name = epilog ? "epilog" : "prolog",
                  .programs = epilog ? hooks.epilog : hooks.prolog,
                  .environment = hook_environment(*state.launch, user, epilog ? "epilog_slurmd" : "prolog_slurmd",
                                                  exit, options_.job_environment),
                  .timeout = epilog ? hooks.epilog_timeout : hooks.prolog_timeout,
                  .cgroup = {}};
  // What a prolog leaves running then ends with the job.
  if (!epilog && hooks.contain && !state.header.cgroup.empty()) {
    const std::string path = state.header.cgroup + "/step_extern";
    if (Cgroup::create(state.header.cgroup) && Cgroup::create(path)) out.cgroup = path;
  }
  return out;
}

void StepLauncher::with_prolog(model::JobRun run, const Identity& user, Ready then) {
  const auto it = runs_.find(run);
  if (options_.hooks.prolog.empty() || it == runs_.end() || it->second.prolog == PrologState::Done) {
    if (then) then({});
    return;
  }
  Run& state = it->second;
  if (then) state.after_prolog.push_back(std::move(then));
  if (state.prolog == PrologState::Running) return;
  state.prolog = PrologState::Running;
  hooks_->run(hook_request(state, user, false, nullptr),
              [this, run](const Status& status) { on_prolog(run, status); });
}

void StepLauncher::on_prolog(model::JobRun run, const Status& status) {
  const auto it = runs_.find(run);
  if (it == runs_.end()) return;
  Run& state = it->second;
  state.prolog = PrologState::Done;
  const auto waiting = std::exchange(state.after_prolog, {});
  const auto tell = [&](const Status& answer) {
    for (const Ready& ready : waiting) ready(answer);
  };
  if (state.end_after_prolog) {
    EndRecord record = *std::exchange(state.end_after_prolog, std::nullopt);
    tell(fail(ErrorCode::InvalidJobId, fmt::format("job {} is over", run.job.value)));
    return finish(run, std::move(record));
  }
  if (status) return tell({});
  warn(fmt::format("job {}: {}", run.job.value, status.error().message));
  EndRecord record;
  record.exit = model::kNeverRan;
  record.launch_failed = record.prolog_failed = true;
  record.error = status.error().message;
  tell(fail(ErrorCode::Internal, status.error().message));
  clear(run, std::move(record), Duration{0});
}

void StepLauncher::run_epilog(model::JobRun run, Ended ended) {
  const Run& state = runs_.at(run);
  find_user(state.uid, state.gid,
            [this, alive = alive_, run, ended = std::move(ended)](const Result<Identity>& user) {
              const auto it = *alive ? runs_.find(run) : runs_.end();
              if (!*alive || it == runs_.end()) return;
              // It runs also for a user who has vanished meanwhile.
              const Identity who =
                  user ? *user : Identity{it->second.uid, it->second.gid, std::to_string(it->second.uid.value), {}};
              hooks_->run(hook_request(it->second, who, true, &ended.exit), [this, run, ended](const Status& status) {
                if (!runs_.contains(run)) return;
                Ended told = ended;
                if (!status) {
                  warn(fmt::format("job {}: {}", run.job.value, status.error().message));
                  told.drain = "Epilog error";
                }
                tell_end(std::move(told));
              });
            });
}

void StepLauncher::tell_end(Ended ended) {
  Run& state = runs_.at(ended.run);
  state.phase = Phase::Ended;
  ended.batch_usage = ended.usage;
  ended.usage.add(state.steps_usage);
  ended.usage.gpu_memory_mib = state.gpu_peak.memory_mib;
  ended.usage.gpu_utilization = state.gpu_peak.percent;
  if (on_ended) on_ended(std::move(ended));
}

}  // namespace spur::os
