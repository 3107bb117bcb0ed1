// SPDX-License-Identifier: Apache-2.0
#include "os/step_launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "model/launch_failure.h"
#include "os/files.h"
#include "os/sysfs.h"
#include "wire/agent_codec.h"

namespace spur::os {
namespace {

constexpr int kOrderAttempts = 100, kMaxStarts = 3;
constexpr seconds kLeftFor{60};
constexpr Duration kOrderRetry = milliseconds(50);

bool has_script(const model::ControllerLaunch& launch) {
  return launch.this_part == 0 && launch.spec->kind == model::JobKind::Batch && launch.spec->script;
}

// One task per group of one, or the step as a whole; peaks of earlier samples stay.
void add_task(const std::string& path, std::uint32_t rank, StepSample& sample) {
  const auto group = Cgroup::open(path);
  if (!group) return;
  const auto pids = group->processes();
  if (pids.empty()) return;
  auto task = std::ranges::find(sample.tasks, rank, &StepSample::Task::rank);
  if (task == sample.tasks.end())
    task = sample.tasks.insert(sample.tasks.end(), {rank, *std::ranges::min_element(pids), {}});
  keep_peaks(task->usage, usage_of_cgroup(*group));
}

void add_usage_now(const std::string& cgroup, std::vector<StepSample>& samples) {
  if (cgroup.empty()) return;
  for (const auto& name : sysfs_list(cgroup)) {
    if (!name.starts_with("step_")) continue;
    auto sample = std::ranges::find(samples, name.substr(5), &StepSample::step);
    if (sample == samples.end()) sample = samples.insert(samples.end(), {.step = name.substr(5), .tasks = {}});
    bool by_task = false;
    for (const auto& task : sysfs_list(cgroup + "/" + name)) {
      if (!task.starts_with("task_")) continue;
      by_task = true;
      add_task(fmt::format("{}/{}/{}", cgroup, name, task),
               static_cast<std::uint32_t>(std::strtoul(task.c_str() + 5, nullptr, 10)), *sample);
    }
    if (!by_task) add_task(cgroup + "/" + name, 0, *sample);
  }
}

}  // namespace

Result<std::unique_ptr<StepLauncher>> StepLauncher::open(EventLoop& loop, Options options) {
  SPUR_ASSIGN(auto spool, Spool::open(options.spool));
  // Jobs see their script under this name, from whatever directory.
  char* absolute = ::realpath(options.spool.c_str(), nullptr);
  if (absolute == nullptr) return fail_errno("cannot resolve " + options.spool, errno);
  const std::string path = absolute;
  std::free(absolute);
  SPUR_ASSIGN(spool, Spool::open(path));
  if (::access(options.stepd.c_str(), X_OK) != 0)
    return fail_errno("cannot use the step daemon " + options.stepd, errno);
  struct stat info{};
  if (::fstat(spool.fd(), &info) != 0) return fail_errno("cannot examine " + path, errno);
  std::unique_ptr<StepLauncher> out(new StepLauncher(loop, std::move(options), std::move(spool)));
  out->token_ = fmt::format("{:x}-{:x}", info.st_dev, info.st_ino);
  SPUR_ASSIGN(out->ledger_, RunLedger::open(loop, path + "/ledger"));
  out->sweep_usage();
  out->spawner_ = std::make_unique<StepSpawner>(loop, out->options_.stepd);
  SPUR_TRY(out->spawner_->start());
  if (out->options_.use_cgroups) {
    // Several agents may share a host, and their nodes a name: the spool tells them apart.
    out->cgroups_ = open_cgroup_base(fmt::format("spur.{}.{}", out->options_.node, out->token_));
    if (!out->cgroups_.problem.empty()) out->warn(out->cgroups_.problem);
    remove_left_groups(out->cgroups_, fmt::format("spur.{}.", out->options_.node), kLeftFor);
  }
  out->hooks_ = std::make_unique<HookRunner>(loop, out->options_.hooks.serial);
  SPUR_ASSIGN(out->calls_, StepCalls::open(loop, path, [raw = out.get()](StepCalls::Call call) {
                raw->on_step_call(std::move(call));
              }));
  if (out->options_.gpu_load && out->options_.sample_every > seconds(0)) out->sample_gpus();
  if (::geteuid() == 0) {
    out->users_ = std::make_unique<UserLookup>(loop, out->options_.keep_users);
  } else {
    out->self_ = look_up_user(Uid{::getuid()}, Gid{::getgid()})
                     .value_or(Identity{Uid{::getuid()}, Gid{::getgid()}, std::to_string(::getuid()), {}});
  }
  return out;
}

void StepLauncher::set_site(Options::Hooks hooks, seconds sample_every) {
  hooks_->set_one_at_a_time(hooks.serial);
  options_.hooks = std::move(hooks);
  const bool was_off = options_.sample_every == seconds(0);
  // The timer of GPU samples runs from the first time on; it needs a pace.
  if (sample_every > seconds(0)) options_.sample_every = sample_every;
  samples_ = sample_every > seconds(0);
  if (was_off && samples_ && options_.gpu_load) sample_gpus();
}

StepLauncher::StepLauncher(EventLoop& loop, Options options, Spool spool)
    : loop_(loop),
      options_(std::move(options)),
      samples_(options_.sample_every > seconds(0)),
      spool_(std::move(spool)),
      boot_id_(current_boot_id()) {}

// Running step daemons write theirs anew.
void StepLauncher::sweep_usage() {
  const std::string dir = spool_.path() + "/" + std::string(kUsageDirectory);
  if (::mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) return;  // sstat then tells what runs at that moment
  for (const auto& name : sysfs_list(dir)) ::unlink((dir + "/" + name).c_str());
}

void StepLauncher::sample_gpus() {
  gpu_timer_ = loop_.call_after(options_.sample_every, [this] { sample_gpus(); });
  for (auto& [run, state] : runs_) {
    if (state.phase == Phase::Ended ||
        std::ranges::none_of(state.part.devices, [](const auto& d) { return d.gres == "gpu"; }))
      continue;
    const GpuLoad now = options_.gpu_load(state.part);
    state.gpu_peak.memory_mib = std::max(state.gpu_peak.memory_mib, now.memory_mib);
    state.gpu_peak.percent = std::max(state.gpu_peak.percent, now.percent);
  }
}

// What is known of the job's steps here: samples that their daemons left, or what the cgroups say now.
std::vector<StepSample> StepLauncher::usage(JobId job) const {
  std::vector<StepSample> out;
  for (auto it = runs_.lower_bound({job, Epoch{}}); it != runs_.end() && it->first.job == job; ++it) {
    if (it->second.phase == Phase::Ended) continue;
    const std::string prefix = Spool::run_name(it->first) + ".";
    const std::string dir = spool_.path() + "/" + std::string(kUsageDirectory);
    for (const auto& name : sysfs_list(dir))
      if (name.starts_with(prefix))
        if (auto sample = decode_sample(sysfs_text(dir + "/" + name) + "\n")) out.push_back(std::move(*sample));
    add_usage_now(it->second.header.cgroup, out);
  }
  return out;
}

std::map<JobId, std::vector<StepProcess>> StepLauncher::processes() const {
  std::map<JobId, std::vector<StepProcess>> out;
  for (const auto& [run, state] : runs_) {
    if (state.phase == Phase::Ended || state.phase == Phase::Epilog) continue;
    auto& of_job = out[run.job];
    if (!state.header.cgroup.empty()) {
      of_job = processes_of_job(state.header.cgroup);
      continue;
    }
    for (const auto& step : usage(run.job))
      for (std::uint32_t i = 0; i < step.tasks.size(); ++i)
        of_job.push_back({step.step, static_cast<std::uint32_t>(step.tasks[i].pid), step.tasks[i].rank, i});
  }
  return out;
}

StepLauncher::~StepLauncher() {
  *alive_ = false;
  loop_.cancel(gpu_timer_);
  for (auto& wanted : wanted_) loop_.cancel(wanted.timer);
  for (auto& [run, state] : runs_) {
    loop_.cancel(state.timer);
    if (state.pidfd) loop_.unwatch(state.pidfd->get());
  }
  for (auto& [run, step] : steps_) loop_.unwatch(step.pidfd->get());
  if (auto base = Cgroup::open(cgroups_.path); base) ::rmdir(cgroups_.path.c_str());  // stays while jobs are in it
}

void StepLauncher::warn(const std::string& text) const {
  if (options_.warn) options_.warn(text);
}

std::vector<std::string> StepLauncher::stepd_environment(const Identity& identity,
                                                         const model::LaunchPart& part) const {
  std::vector<std::string> out = options_.job_environment;
  out.push_back("SPURSTEPD_IDENTITY=" + encode_identity(identity));
  out.push_back("SPURSTEPD_TOKEN=" + token_);
  if (samples_)
    out.push_back(fmt::format("SPURSTEPD_SAMPLE={}", options_.sample_every.count()));
  if (!options_.containers.image_dir.empty())
    out.push_back("SPURSTEPD_CONTAINERS=" + encode_container_settings(options_.containers));
  if (!options_.gpu_cores.empty()) out.push_back("SPURSTEPD_GPU_CORES=" + options_.gpu_cores);
  if (!options_.hooks.task_prolog.empty()) out.push_back("SPURSTEPD_TASK_PROLOG=" + options_.hooks.task_prolog);
  if (!options_.hooks.task_epilog.empty()) out.push_back("SPURSTEPD_TASK_EPILOG=" + options_.hooks.task_epilog);
  if (options_.hooks.propagate_nice > 0)
    out.push_back(fmt::format("SPURSTEPD_NICE={}", options_.hooks.propagate_nice));
  if (options_.confine) out.push_back("SPURSTEPD_LIMITS=" + encode_limits(options_.confine(part)));
  return out;
}

void StepLauncher::find_user(Uid uid, Gid gid, UserLookup::Found found) {
  if (users_) return users_->find(uid, gid, std::move(found));
  if (uid != self_.uid)
    return found(
        fail(ErrorCode::InvalidUser, fmt::format("this node's agent runs as uid {} and cannot start a job of uid {}",
                                                 self_.uid.value, uid.value)));
  found(self_);
}

Status StepLauncher::launch(const model::ControllerLaunch& launch) {
  SPUR_CHECK(launch.spec && !launch.parts.empty());
  if (runs_.contains(launch.run)) return {};
  Run state;
  state.header = {.run = launch.run,
                  .is_batch_host = launch.this_part == 0,
                  .has_script = has_script(launch),
                  .boot_id = boot_id_,
                  .cgroup = cgroups_.path.empty() ? std::string() : job_cgroup_path(cgroups_.path, launch.run)};
  SPUR_ASSIGN(auto file, spool_.create(state.header, wire::encode_controller_message(launch)));
  state.kill_wait = launch.kill_wait;
  state.uid = launch.spec->uid;
  state.gid = launch.spec->gid;
  state.part = launch.parts.front();
  keep_for_hooks(state, launch);
  const bool starts = state.header.has_script;
  runs_.emplace(launch.run, std::move(state));
  if (starts) {
    note(launch.run, std::move(file));
    return {};
  }
  ledger_->note(launch.run, launch.this_part == 0, {});
  if (options_.hooks.alloc && !options_.hooks.prolog.empty())
    find_user(launch.spec->uid, launch.spec->gid,
              [this, alive = alive_, run = launch.run](const Result<Identity>& user) {
                // Whom the node does not know will not start anything here.
                if (*alive && user) with_prolog(run, *user, {});
              });
  return {};
}

void StepLauncher::note(model::JobRun run, RunFile file) {
  auto kept = std::make_shared<RunFile>(std::move(file));
  Run& state = runs_.at(run);
  state.phase = Phase::Noting;
  ledger_->note(run, state.header.is_batch_host, [this, alive = alive_, run, kept](const Status& noted) {
    const auto it = *alive ? runs_.find(run) : runs_.end();
    if (!*alive || it == runs_.end() || it->second.phase != Phase::Noting) return;  // ended meanwhile
    if (!noted) return fail_launch(run, noted.error().message);
    look_up(run, kept);
  });
}

void StepLauncher::look_up(model::JobRun run, std::shared_ptr<RunFile> file) {
  Run& state = runs_.at(run);
  state.phase = Phase::LookingUp;
  find_user(state.uid, state.gid, [this, alive = alive_, run, file](const Result<Identity>& user) {
    if (!*alive) return;
    const auto it = runs_.find(run);
    if (it == runs_.end() || it->second.phase != Phase::LookingUp) return;  // ended meanwhile
    if (!user) return fail_launch(run, user.error().message, true);
    it->second.phase = Phase::Prolog;
    with_prolog(run, *user, [this, run, file, identity = *user](const Status& ready) {
      if (ready) start_stepd(run, identity, file);
    });
  });
}

void StepLauncher::fail_launch(model::JobRun run, const std::string& error, bool node_blameless) {
  EndRecord record;
  record.exit = model::kNeverRan;
  record.launch_failed = true;
  record.node_blameless = node_blameless;
  record.error = error;
  finish(run, std::move(record));
}

void StepLauncher::start_stepd(model::JobRun run, const Identity& identity, std::shared_ptr<RunFile> file) {
  Run& state = runs_.at(run);
  const std::string path = spool_.run_path(run);
  const UniqueFd dir(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!dir) return fail_launch(run, errno_error("cannot open " + path, errno).message);
  auto orders = open_orders(dir.get(), "ctl");
  if (!orders) return fail_launch(run, orders.error().message);
  StepRequest request{.id = 0,
                      .kind = StepRequest::Kind::Batch,
                      .argument = path,
                      .title = fmt::format("spurstepd: [{}.batch]", run.job.value),
                      .environment = stepd_environment(identity, state.part),
                      .fds = {}};
  request.fds.push_back(file->take());  // from now on the request, then the daemon, holds the lock
  request.fds.push_back(std::move(*orders));
  state.phase = Phase::Running;
  ++state.starts;
  spawner_->spawn(std::move(request),
                  [this, run](Result<Spawned> spawned) { on_stepd_started(run, std::move(spawned)); });
}

void StepLauncher::on_stepd_started(model::JobRun run, Result<Spawned> spawned) {
  const auto it = runs_.find(run);
  if (it == runs_.end() || it->second.phase != Phase::Running) return;
  Run& state = it->second;
  if (!spawned && (spawned.error().code != ErrorCode::Unreachable || state.starts >= kMaxStarts))
    return fail_launch(run, spawned.error().message);
  if (!spawned) {  // the template died; whether it started ours before, the lock tells
    auto file = spool_.open_run(run);
    if (!file) return fail_launch(run, file.error().message);
    return recover_script(run, std::move(*file));
  }
  state.pid = spawned->pid;
  state.pidfd = std::make_shared<const UniqueFd>(std::move(spawned->pidfd));
  if (auto watched = loop_.watch_process(state.pidfd, [this, run] { on_stepd_gone(run); }); !watched)
    warn(fmt::format("job {}: {}", run.job.value, watched.error().message));
}

void StepLauncher::start_step(const model::ControllerLaunch& launch, std::uint32_t step, StepReady ready) {
  start_beside(launch, Kind::Step, std::to_string(step), std::move(ready));
}

void StepLauncher::start_files(const model::ControllerLaunch& launch, StepReady ready) {
  start_beside(launch, Kind::Files, "files", std::move(ready));
}

void StepLauncher::start_beside(const model::ControllerLaunch& launch, Kind kind, const std::string& name,
                                StepReady ready) {
  auto kept = std::make_shared<const model::ControllerLaunch>(launch);
  find_user(launch.spec->uid, launch.spec->gid,
            [this, alive = alive_, kept, kind, name, ready = std::move(ready)](const Result<Identity>& user) {
              if (!*alive) return;
              if (!user) return ready(std::unexpected(user.error()));
              with_prolog(kept->run, *user, [this, kept, kind, name, ready, identity = *user](const Status& may) {
                if (!may) return ready(std::unexpected(may.error()));
                start_beside_now(*kept, kind, name, identity, ready);
              });
            });
}

void StepLauncher::start_beside_now(const model::ControllerLaunch& launch, Kind kind, const std::string& name,
                                    const Identity& identity, StepReady ready) {
  const model::JobRun run = launch.run;
  const auto it = runs_.find(run);
  if (it == runs_.end() || it->second.phase == Phase::Ended || it->second.phase == Phase::Epilog ||
      it->second.phase == Phase::Clearing)
    return ready(fail(ErrorCode::InvalidJobId, fmt::format("job {} is not running on this node", run.job.value)));
  int stream[2], orders[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream) != 0)
    return ready(fail_errno("cannot make a socket", errno));
  auto ours = std::make_shared<UniqueFd>(stream[0]);
  UniqueFd theirs(stream[1]);
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, orders) != 0)
    return ready(fail_errno("cannot make a socket", errno));
  auto our_orders = std::make_shared<UniqueFd>(orders[0]);
  UniqueFd their_orders(orders[1]);
  auto file = spool_.open_run(run);
  if (!file) return ready(std::unexpected(file.error()));
  if (auto expected = expect_orders(their_orders.get()); !expected) return ready(std::unexpected(expected.error()));
  StepRequest request{.id = 0,
                      .kind = kind,
                      .argument = spool_.run_path(run),
                      .title = fmt::format("spurstepd: [{}.{}]", run.job.value, name),
                      .environment = stepd_environment(identity, launch.parts.front()),
                      .fds = {}};
  request.fds.push_back(file->take());
  request.fds.push_back(std::move(their_orders));
  request.fds.push_back(std::move(theirs));
  spawner_->spawn(
      std::move(request), [this, run, name, ours, our_orders, ready = std::move(ready)](Result<Spawned> spawned) {
        if (!spawned) return ready(std::unexpected(spawned.error()));
        auto pidfd = std::make_shared<const UniqueFd>(std::move(spawned->pidfd));
        const auto entry = steps_.emplace(run, Step{.name = name, .pidfd = pidfd, .orders = std::move(*our_orders)});
        if (auto watched = loop_.watch_process(pidfd, [this, entry] { on_step_gone(entry); }); !watched) {
          steps_.erase(entry);
          return ready(std::unexpected(watched.error()));  // closing our end ends the step
        }
        ready(std::move(*ours));
      });
}

void StepLauncher::order_batch(model::JobRun run, StepOrder order, int attempt) {
  const auto it = runs_.find(run);
  if (it == runs_.end() || it->second.phase != Phase::Running) return;
  const auto sent = send_order_to(spool_.fd(), (Spool::run_name(run) + "/ctl").c_str(), order);
  if (sent || sent.error().code == ErrorCode::NotFound) return;  // gone: its end is on the way
  if (attempt >= kOrderAttempts) return warn(fmt::format("job {}: {}", run.job.value, sent.error().message));
  loop_.call_after(kOrderRetry, [this, alive = alive_, run, order, attempt] {
    if (*alive) order_batch(run, order, attempt + 1);
  });
}

void StepLauncher::order_steps(model::JobRun run, const StepOrder& order) {
  const auto [first, last] = steps_.equal_range(run);
  for (auto it = first; it != last; ++it)
    if (const auto sent = send_order(it->second.orders.get(), order); !sent && sent.error().code == ErrorCode::Busy)
      warn(fmt::format("job {}: {}", run.job.value, sent.error().message));
}

void StepLauncher::end(model::JobRun run, bool kill, model::JobState why) {
  const auto it = runs_.find(run);
  if (it == runs_.end() || it->second.phase == Phase::Ended) return;
  const StepOrder order{.kind = kill ? StepOrder::Kind::Kill : StepOrder::Kind::Terminate, .why = why};
  order_steps(run, order);
  watch_end(run, kill ? Duration{0} : it->second.kill_wait);
  switch (it->second.phase) {
    case Phase::Running:
      return order_batch(run, order);
    case Phase::Noting:
    case Phase::LookingUp:
    case Phase::Prolog: {  // never started
      EndRecord record;
      record.exit.signal = SIGTERM;
      record.error = "ended before it was started";
      return finish(run, std::move(record));
    }
    case Phase::Held:
      return clear(run, {}, kill ? Duration{0} : it->second.kill_wait);
    case Phase::Clearing:
      if (kill) it->second.kill_at = EventLoop::now();
      return;
    case Phase::Epilog:
    case Phase::Ended:
      return;
  }
}

void StepLauncher::signal(model::JobRun run, int signal, bool batch_only, bool steps_only) {
  if (!runs_.contains(run)) return;
  if (batch_only) return order_batch(run, {.kind = StepOrder::Kind::SignalShell, .signal = signal});
  order_steps(run, {.kind = StepOrder::Kind::Signal, .signal = signal});
  if (!steps_only) order_batch(run, {.kind = StepOrder::Kind::Signal, .signal = signal});
}

void StepLauncher::suspend(model::JobRun run, bool resume) {
  if (!runs_.contains(run)) return;
  const StepOrder order{.kind = resume ? StepOrder::Kind::Resume : StepOrder::Kind::Suspend};
  order_steps(run, order);
  order_batch(run, order);
}

void StepLauncher::notify(model::JobRun run, const std::string& text) {
  const auto it = runs_.find(run);
  if (it == runs_.end() || it->second.phase != Phase::Running) return;
  const std::string name = Spool::run_name(run) + "/" + kNoticesFile;
  const UniqueFd file(::openat(spool_.fd(), name.c_str(),
                               O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  const std::string record = text.substr(0, text.find('\0')) + '\0';
  if (!file || ::write(file.get(), record.data(), record.size()) != static_cast<ssize_t>(record.size()))
    return warn(fmt::format("job {}: cannot note what is to be told: {}", run.job.value, std::strerror(errno)));
  order_batch(run, {.kind = StepOrder::Kind::Notify});
}

void StepLauncher::forget(model::JobRun run) {
  const auto it = runs_.find(run);
  if (it == runs_.end() || it->second.phase != Phase::Ended) return;
  ledger_->forget(run);
  spool_.remove(run);
  runs_.erase(it);
}

}  // namespace spur::os
