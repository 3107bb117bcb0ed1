// SPDX-License-Identifier: Apache-2.0
// How runs end in the launcher, and what a new agent makes of the records an old one left. Every noted run gets
// exactly one reported end: from its record, or, where spurstepd died without writing one, the end defined here
// (signal 9).
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "os/files.h"
#include "os/step_launcher.h"
#include "os/sysfs.h"
#include "wire/agent_codec.h"

namespace spur::os {
namespace {

constexpr Duration kFirstLook = milliseconds(2), kSlowestLook = milliseconds(250);
constexpr int kAdoptAttempts = 500;
constexpr Duration kAdoptRetry = milliseconds(10);

Time wall_clock() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

EndRecord killed_record(std::string why) {
  return {.exit = {.code = 0, .signal = SIGKILL}, .error = std::move(why)};
}

io::Launcher::Ended ended_of(model::JobRun run, const EndRecord& record) {
  return {.run = run,
          .exit = record.exit,
          .out_of_memory = record.out_of_memory,
          .launch_failed = record.launch_failed,
          .error = record.error,
          .prolog_failed = record.prolog_failed,
          .node_blameless = record.node_blameless,
          .drain = {},
          .usage = record.usage};
}

}  // namespace

void StepLauncher::on_stepd_gone(model::JobRun run) {
  order_steps(run, {.kind = StepOrder::Kind::Kill});  // the job is over here: its steps are too
  const auto file = spool_.open_run(run);
  const auto record = file ? file->end() : std::nullopt;
  if (!record) return clear(run, killed_record("spurstepd was killed"), Duration{0});
  report(run, *record);
}

void StepLauncher::clear(model::JobRun run, EndRecord record, Duration kill_after) {
  Run& state = runs_.at(run);
  state.phase = Phase::Clearing;
  state.end = std::move(record);
  state.clearing_since = EventLoop::now();
  state.kill_at = state.clearing_since + kill_after;
  watch_end(run, kill_after);
  go_on_clearing(run);
}

// It is to be over when what was killed had time to die.
void StepLauncher::watch_end(model::JobRun run, Duration kill_after) {
  if (std::exchange(runs_.at(run).end_watched, true)) return;
  loop_.call_after(kill_after + options_.hooks.unkillable_after, [this, alive = alive_, run] {
    if (*alive) look_at_end(run);
  });
}

void StepLauncher::look_at_end(model::JobRun run) {
  const auto it = runs_.find(run);
  if (it == runs_.end() || it->second.prolog == PrologState::Running) return;
  if (it->second.phase == Phase::Epilog || it->second.phase == Phase::Ended) return;
  warn(fmt::format("job {}: processes do not end after SIGKILL; waiting for them", run.job.value));
  unkillable_.insert(run);
  if (on_unkillable) on_unkillable();
  const std::string& program = options_.hooks.unkillable_program;
  if (program.empty()) return;
  std::vector<std::string> environment = options_.job_environment;
  environment.push_back("SLURMD_NODENAME=" + options_.node);
  environment.push_back(fmt::format("SLURM_JOB_ID={}", run.job.value));
  environment.emplace_back("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  hooks_->run({.name = "unkillable step program", .programs = {program}, .environment = std::move(environment), .cgroup = {}},
              [this, run](const Status& status) {
                if (!status) warn(fmt::format("job {}: {}", run.job.value, status.error().message));
              });
}

void StepLauncher::go_on_clearing(model::JobRun run) {
  Run& state = runs_.at(run);
  const Duration now = EventLoop::now();
  if (!anything_left(run, state, now >= state.kill_at)) return finish(run, state.end);
  const Duration pause = std::clamp((now - state.clearing_since) / 4, kFirstLook, kSlowestLook);
  state.timer = loop_.call_after(pause, [this, run] { go_on_clearing(run); });
}

bool StepLauncher::anything_left(model::JobRun run, const Run& state, bool kill) {
  if (kill) order_steps(run, {.kind = StepOrder::Kind::Kill});
  bool left = steps_.contains(run);
  if (!state.header.cgroup.empty()) {
    const auto group = Cgroup::open(state.header.cgroup);
    if (!group) return left;  // removed by the last one out
    if (group->populated()) {
      if (kill) (void)group->kill();
      return true;
    }
    return left || !group->remove();
  }
  if (!state.header.has_script && !state.may_have_strays) return left;
  // By the mark in their environment; the number of the daemon's session may belong to others by now.
  for (const pid_t pid : processes_of(0, run_token(token_, run))) {
    left = true;
    if (kill) ::kill(pid, SIGKILL);
  }
  return left;
}

void StepLauncher::finish(model::JobRun run, EndRecord record) {
  if (Run& state = runs_.at(run); state.prolog == PrologState::Running) {
    state.phase = Phase::Clearing;
    state.kill_at = Duration::max();
    state.end_after_prolog = std::move(record);
    return;
  }
  record.ended = wall_clock();
  const auto file = spool_.open_run(run);
  const Status noted = file ? file->note_end(record) : Status(std::unexpected(file.error()));
  if (!noted) warn(fmt::format("job {}: {}", run.job.value, noted.error().message));
  report(run, record);
}

void StepLauncher::report(model::JobRun run, const EndRecord& record) {
  unkillable_.erase(run);
  // Nobody need wait for it: until the controller has the end, a power cut merely changes it.
  ledger_->note_end(run, record);
  remove_containers(container_scratch(options_.containers.image_dir, token_, run));
  Run& state = runs_.at(run);
  state.pidfd.reset();
  state.timer = {};
  if (options_.hooks.epilog.empty() || !state.launch) return tell_end(ended_of(run, record));
  state.phase = Phase::Epilog;
  run_epilog(run, ended_of(run, record));
}

// What is left of a run's containers may be a lot: another program does it.
void StepLauncher::remove_containers(const std::string& scratch) {
  if (options_.containers.image_dir.empty() || ::access(scratch.c_str(), F_OK) != 0) return;
  const std::string program = parent_directory(options_.stepd) + "/spurcontainer";
  auto started = spawn({.path = program,
                        .arguments = {"spurcontainer", "--remove=" + scratch},
                        .environment = {"PATH=/usr/bin:/bin"},
                        .fds = {},
                        .new_session = true});
  if (!started) return warn(fmt::format("cannot remove {}: {}", scratch, started.error().message));
  const auto pidfd = std::make_shared<const UniqueFd>(std::move(started->pidfd));
  (void)loop_.watch_process(pidfd, [pidfd] { (void)reap(*pidfd); });
}

Result<std::vector<io::Launcher::Known>> StepLauncher::recover() {
  SPUR_ASSIGN(const auto runs, spool_.list());
  std::vector<Known> out;
  for (const auto run : runs) {
    auto known = recover_run(run);
    if (known) {
      out.push_back(std::move(*known));
    } else if (known.error().code == ErrorCode::Corrupt) {
      // Cut short by a crash. If it was more than a beginning, the ledger knows it.
      warn(fmt::format("dropping the damaged note of {}: {}", Spool::run_name(run), known.error().message));
      spool_.remove(run);
      runs_.erase(run);
    } else {
      return std::unexpected(known.error());
    }
  }
  recover_lost_notes(out);
  remove_strange_groups();
  std::vector<model::JobRun> known;
  for (const auto& [run, state] : runs_) known.push_back(run);
  if (!options_.containers.image_dir.empty())
    for (const auto& path : stale_scratch(options_.containers.image_dir, token_, known)) remove_containers(path);
  return out;
}

// Empty groups of runs that are no more: a former life of this agent was killed before it could remove them.
void StepLauncher::remove_strange_groups() const {
  if (cgroups_.path.empty()) return;
  for (const auto& name : sysfs_list(cgroups_.path)) {
    const std::string path = cgroups_.path + "/" + name;
    const bool ours = std::ranges::any_of(runs_, [&](const auto& run) { return run.second.header.cgroup == path; });
    if (!name.starts_with("job_") || ours) continue;
    if (const auto group = Cgroup::open(path); group && !group->populated()) group->remove();
  }
}

// Runs that the ledger knows and the spool does not: a power cut took their directories.
void StepLauncher::recover_lost_notes(std::vector<Known>& known) {
  for (const auto& entry : ledger_->found()) {
    if (runs_.contains(entry.run) || !ledger_->knows(entry.run)) continue;
    // Should only the directory be gone, and not the machine have been: nothing of the job may go on.
    if (!cgroups_.path.empty())
      if (const auto group = Cgroup::open(job_cgroup_path(cgroups_.path, entry.run)); group && !group->remove())
        (void)group->kill();
    EndRecord record = entry.end ? *entry.end : killed_record("the node was restarted");
    runs_[entry.run].phase = Phase::Ended;
    known.push_back({.run = entry.run,
                     .is_batch_host = entry.is_batch_host,
                     .running = false,
                     .ended = ended_of(entry.run, record),
                     .launch = nullptr});
  }
  std::ranges::sort(known, {}, &Known::run);
}

Result<io::Launcher::Known> StepLauncher::recover_run(model::JobRun run) {
  auto file = spool_.open_run(run);
  if (!file && file.error().code == ErrorCode::NotFound) return fail(ErrorCode::Corrupt, "it holds no record");
  if (!file) return std::unexpected(file.error());
  SPUR_ASSIGN(auto header, file->header());
  if (header.run != run) return fail(ErrorCode::Corrupt, "its record is that of another run");
  SPUR_ASSIGN(const auto bytes, file->launch());
  SPUR_ASSIGN(auto message, wire::decode_controller_message(bytes));
  auto* launch = std::get_if<model::ControllerLaunch>(&message);
  if (launch == nullptr || !launch->spec || launch->run != run) return fail(ErrorCode::Corrupt, "it holds no launch");

  Known known{.run = run, .is_batch_host = header.is_batch_host, .running = true, .ended = {}, .launch = nullptr};
  known.launch = std::make_shared<const model::ControllerLaunch>(std::move(*launch));
  Run& state = runs_[run];
  state.header = std::move(header);
  state.kill_wait = known.launch->kill_wait;
  state.uid = known.launch->spec->uid;
  state.gid = known.launch->spec->gid;
  state.part = known.launch->parts.front();
  state.may_have_strays = true;  // steps that have not called yet
  auto record = file->end();
  const bool rebooted = state.header.boot_id != boot_id_;
  if (!record && rebooted) {
    // What the ledger does not know had not been started.
    if (!ledger_->knows(run)) return fail(ErrorCode::Corrupt, "it was never begun");
    const auto entry = std::ranges::find(ledger_->found(), run, &RunLedger::Entry::run);
    record = entry != ledger_->found().end() && entry->end ? *entry->end : killed_record("the node was restarted");
    SPUR_TRY(file->note_end(*record));
  }
  keep_for_hooks(state, *known.launch);
  if (record && !options_.hooks.epilog.empty()) {
    // Whether its epilog has run nobody knows; as in Slurm it may run twice.
    state.phase = Phase::Epilog;
    loop_.post([this, alive = alive_, run, end = *record] {
      if (*alive && runs_.contains(run)) report(run, end);
    });
  } else if (record) {
    state.phase = Phase::Ended;
    known.running = false;
    known.ended = ended_of(run, *record);
  } else if (state.header.has_script) {
    recover_script(run, std::move(*file));
  }
  return known;
}

void StepLauncher::recover_script(model::JobRun run, RunFile file) {
  runs_.at(run).phase = Phase::Running;
  if (file.started()) runs_.at(run).prolog = PrologState::Done;
  if (!file.try_lock()) return adopt(run, 0);
  if (!file.started()) return note(run, std::move(file));  // the old agent died before it came to that
  // Reported from the loop, after recover() has told of the run.
  loop_.post([this, alive = alive_, run] {
    if (*alive && runs_.contains(run)) on_stepd_gone(run);
  });
}

// Watches a spurstepd that another agent started. Its pid is good if the lock is still held after we have its pidfd.
void StepLauncher::adopt(model::JobRun run, int attempt) {
  const auto it = runs_.find(run);
  if (it == runs_.end() || it->second.phase != Phase::Running) return;
  Run& state = it->second;
  auto file = spool_.open_run(run);
  const pid_t pid = file ? file->started().value_or(0) : 0;
  auto pidfd = std::make_shared<const UniqueFd>(pid > 0 ? open_pidfd(pid) : UniqueFd());
  if (file && file->try_lock()) return recover_script(run, std::move(*file));  // it has ended meanwhile
  if (*pidfd) {
    state.pid = pid;
    state.pidfd = std::move(pidfd);
    if (loop_.watch_process(state.pidfd, [this, run] { on_stepd_gone(run); })) return;
  }
  // It has been started and has not yet written its pid.
  if (attempt == kAdoptAttempts)
    warn(fmt::format("job {}: spurstepd holds its record but does not say its pid", run.job.value));
  state.timer = loop_.call_after(attempt < kAdoptAttempts ? kAdoptRetry : kSlowestLook * 4,
                                 [this, run, attempt] { adopt(run, std::min(attempt + 1, kAdoptAttempts + 1)); });
}

}  // namespace spur::os
