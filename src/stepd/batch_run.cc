// SPDX-License-Identifier: Apache-2.0
#include "stepd/batch_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "base/check.h"
#include "model/launch_failure.h"
#include "os/event_loop.h"
#include "os/files.h"
#include "os/process.h"
#include "os/step_control.h"
#include "stepd/batch_plan.h"
#include "stepd/job_message.h"
#include "stepd/job_output.h"
#include "stepd/process_set.h"
#include "stepd/step_container.h"
#include "stepd/task.h"
#include "stepd/usage_meter.h"
#include "wire/agent_codec.h"

namespace spur::stepd {
namespace {

constexpr int kReportWaitMs = 1000;
constexpr std::uint16_t kOutOfMemorySignal = 125;
constexpr Duration kFirstBatchLook = milliseconds(1), kSlowestBatchLook = milliseconds(100);

Time wall_time() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

// The user's mistake ends the job; the node's sends it back to the queue (state/apply_done.cc).
os::EndRecord failed_launch(const Error& error, bool by_user = false) {
  os::EndRecord out;
  out.exit = model::kNeverRan;
  out.launch_failed = !by_user;
  out.error = error.message;
  return out;
}

Status write_script(const BatchInput& input, const std::string& script) {
  const std::string path = input.directory + "/slurm_script";
  ::unlink(path.c_str());  // of an attempt that a crash cut short
  const os::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700));
  if (!fd) return os::fail_errno("cannot create the batch script " + path, errno);
  SPUR_TRY(os::write_all(fd.get(), script, path));
  if (::geteuid() == 0 && ::fchown(fd.get(), input.identity.uid.value, input.identity.gid.value) != 0)
    return os::fail_errno("cannot hand over the batch script " + path, errno);
  if (::fchmod(fd.get(), 0700) != 0) return os::fail_errno("cannot set the mode of " + path, errno);
  return {};
}

class BatchRun {
 public:
  BatchRun(BatchInput input, os::EventLoop& loop) : input_(std::move(input)), loop_(loop) {}

  // Until the end is recorded.
  void run() {
    if (auto begun = begin(); !begun) record(failed_launch(begun.error(), bad_plan_));
    loop_.run();
  }

 private:
  Status begin();
  Status begin_container(TaskPlan plan);
  Status start(const TaskPlan& plan);
  void never_start(const char* why);
  Status watch();
  void on_children();
  bool take_report();
  void on_orders();
  void obey(const os::StepOrder& order);
  void announce(model::JobState why);
  void await_output();
  void tell_notices();
  void on_script_ended(int wait_status);
  void on_epilog_ended(int wait_status);
  void clear();
  void note_out_of_memory();
  void record(os::EndRecord end);

  BatchInput input_;
  os::EventLoop& loop_;
  model::ControllerLaunch launch_;
  ProcessSet processes_;
  UsageMeter meter_{loop_, processes_};
  StartedTask script_, epilog_{};
  std::optional<TaskPlan> epilog_plan_{};  // runs when the script has ended
  ContainerMaker maker_{loop_};
  std::shared_ptr<const Container> container_;
  os::UniqueFd children_, error_output_;
  os::EndRecord end_;
  bool announced_ = false, terminating_ = false, ended_ = false, never_ran_ = false, bad_plan_ = false;
  Duration clearing_since_{0};
  std::size_t notices_told_ = 0;  // bytes of their file
};

Status BatchRun::begin() {
  SPUR_ASSIGN(const auto header, input_.record.header());
  SPUR_ASSIGN(const auto bytes, input_.record.launch());
  SPUR_ASSIGN(auto message, wire::decode_controller_message(bytes));
  auto* launch = std::get_if<model::ControllerLaunch>(&message);
  if (launch == nullptr || !launch->spec || launch->parts.empty())
    return fail(ErrorCode::Corrupt, "the record holds no launch");
  launch_ = std::move(*launch);
  if (launch_.spec->uid != input_.identity.uid)
    return fail(ErrorCode::InvalidUser, "the identity is not that of the job's user");
  if (!launch_.spec->script) return fail(ErrorCode::JobScriptMissing, "the job has no batch script");
  SPUR_TRY(write_script(input_, *launch_.spec->script));
  const auto& part = launch_.parts.front();
  SPUR_ASSIGN(processes_, ProcessSet::make(header.cgroup, "step_batch", input_.limits,
                                           os::limits_of_step(input_.limits, part.memory_mib, 0, part.devices)));
  auto plan = plan_batch({.launch = launch_,
                          .identity = input_.identity,
                          .script_path = input_.directory + "/slurm_script",
                          .of_node = input_.of_node,
                          .token = os::run_token(input_.token, launch_.run)});
  if (plan) plan->propagate_nice = input_.hooks.propagate_nice;
  if (plan && !input_.hooks.prolog.empty()) plan->task_prologs = {{HookOf::Site, input_.hooks.prolog}};
  if (!plan) {
    bad_plan_ = true;  // a file name that cannot be
    return std::unexpected(plan.error());
  }
  plan->cgroup_fd = processes_.cgroup_fd();
  SPUR_TRY(watch());
  if (launch_.spec->container.wanted()) return begin_container(*std::move(plan));
  return start(*plan);
}

// Whatever is wrong with the container is said in the job's output.
Status BatchRun::begin_container(TaskPlan plan) {
  const auto& part = launch_.parts.front();
  std::vector<std::string> devices;
  for (const auto& device : os::limits_of_step(input_.limits, 0, 0, part.devices).granted)
    devices.insert(devices.end(), device.files.begin(), device.files.end());
  return maker_.begin({.request = launch_.spec->container,
                       .settings = input_.containers,
                       .spool_token = input_.token,
                       .run = launch_.run,
                       .instance = "batch",
                       .identity = input_.identity,
                       .environment = plan.environment,
                       .work_dir = plan.work_dir,
                       .binds = {plan.program},
                       .devices = std::move(devices),
                       .cgroup_fd = plan.cgroup_fd},
                      [this, plan](Result<std::shared_ptr<const Container>> made) mutable {
                        if (announced_) return never_start("the job was ended while its container was made");
                        if (made) {
                          put_into(*made, launch_.spec->container, plan);
                          plan.notes = (*made)->notes;
                          container_ = *std::move(made);
                        } else {
                          plan.refusal = "container: " + made.error().message;
                        }
                        if (auto started = start(plan); !started) record(failed_launch(started.error()));
                      });
}

void BatchRun::never_start(const char* why) {
  ended_ = never_ran_ = true;
  end_ = failed_launch({ErrorCode::Internal, why}, true);
  clearing_since_ = os::EventLoop::now();
  clear();
}

Status BatchRun::start(const TaskPlan& plan) {
  SPUR_ASSIGN(script_, start_task(plan));
  if (!input_.hooks.epilog.empty()) epilog_plan_ = epilog_plan(plan, input_.hooks.epilog, HookOf::Site);
  meter_.start("batch", {{0, script_.pid}}, input_.sample_every,
               os::usage_file(input_.directory, launch_.run, "batch"));
  return {};
}

Status BatchRun::watch() {
  sigset_t chld;
  ::sigemptyset(&chld);
  ::sigaddset(&chld, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &chld, nullptr);
  children_ = os::UniqueFd(::signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!children_) return os::fail_errno("cannot watch for ended processes", errno);
  SPUR_TRY(loop_.watch(children_.get(), EPOLLIN, [this](std::uint32_t) { on_children(); }));
  return loop_.watch(input_.orders.get(), EPOLLIN, [this](std::uint32_t) { on_orders(); });
}

void BatchRun::on_children() {
  signalfd_siginfo info;
  while (::read(children_.get(), &info, sizeof info) == sizeof info) {
  }
  int status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (pid == script_.pid)
      on_script_ended(status);
    else if (pid == epilog_.pid)
      on_epilog_ended(status);
}

// Not watched for: what the new process reports is needed only when it has ended or is being ended.
bool BatchRun::take_report() {
  auto report = next_report(script_.reports.get());
  if (!report) return false;
  if (report->launch_failed) {
    never_ran_ = true;
    end_ = failed_launch({ErrorCode::Internal, report->error}, report->by_user);
  } else {
    error_output_ = std::move(report->error_output);
  }
  return true;
}

void BatchRun::on_orders() {
  while (const auto order = os::receive_order(input_.orders.get())) obey(*order);
}

void BatchRun::obey(const os::StepOrder& order) {
  using Kind = os::StepOrder::Kind;
  switch (order.kind) {
    case Kind::Terminate:
      if (std::exchange(terminating_, true)) return;  // orders are repeated until the end is known; TERM is not
      announce(order.why);
      processes_.freeze(false);
      processes_.signal(SIGCONT);
      processes_.signal(SIGTERM);
      loop_.call_after(launch_.kill_wait, [this] { processes_.kill(); });
      return;
    case Kind::Kill:
      announce(order.why);
      return processes_.kill();
    case Kind::Signal:
      return processes_.signal(order.signal);
    case Kind::SignalShell:
      if (!ended_ && script_.pid > 0) ::kill(script_.pid, order.signal);
      return;
    case Kind::Suspend:
      return processes_.freeze(true);
    case Kind::Resume:
      return processes_.freeze(false);
    case Kind::Notify:
      return tell_notices();
  }
}

// An order right after the start: the new process is about to open its files, or hangs in doing so.
void BatchRun::await_output() {
  if (error_output_ || never_ran_ || script_.pid <= 0) return;
  pollfd report{.fd = script_.reports.get(), .events = POLLIN, .revents = 0};
  (void)::poll(&report, 1, kReportWaitMs);
  take_report();
}

// Each in Slurm's words for what its step daemon has to say, once.
void BatchRun::tell_notices() {
  if (ended_) return;
  const os::UniqueFd file(
      ::open((input_.directory + "/" + os::kNoticesFile).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return;
  std::string text;
  char piece[4096];
  for (ssize_t got; (got = ::pread(file.get(), piece, sizeof piece,
                                   static_cast<off_t>(notices_told_ + text.size()))) > 0;)
    text.append(piece, static_cast<std::size_t>(got));
  await_output();
  for (std::size_t from = 0, end; (end = text.find('\0', from)) != std::string::npos; from = end + 1) {
    notices_told_ += end + 1 - from;
    if (error_output_)
      write_as_user(input_.identity, error_output_.get(), message_prefix() + text.substr(from, end - from) + "\n");
  }
}

// Once, whatever comes: TERM, KILL or both.
void BatchRun::announce(model::JobState why) {
  if (ended_ || std::exchange(announced_, true)) return;
  await_output();
  if (!error_output_) return;
  const auto text =
      end_message(fmt::format("JOB {}", launch_.run.job.value), launch_.parts.front().node, wall_time(), why);
  write_as_user(input_.identity, error_output_.get(), message_prefix() + text + "\n");
}

void BatchRun::on_script_ended(int wait_status) {
  if (std::exchange(ended_, true)) return;
  while (take_report()) {
  }
  if (!never_ran_) end_.exit = os::exit_status_of(wait_status);
  if (!never_ran_ && epilog_plan_) {
    if (auto started = start_task(*epilog_plan_)) {
      epilog_ = std::move(*started);
      return;
    }
  }
  clearing_since_ = os::EventLoop::now();
  clear();
}

void BatchRun::on_epilog_ended(int wait_status) {
  const auto complain = [this](const std::string& text) {
    if (error_output_) write_as_user(input_.identity, error_output_.get(), message_prefix() + text + "\n");
  };
  for (auto report = next_report(epilog_.reports.get()); report; report = next_report(epilog_.reports.get()))
    if (report->launch_failed) {
      complain(report->error);
      wait_status = -1;
    }
  if (wait_status != 0 && !announced_) complain(epilog_failed(wait_status, HookOf::Site));
  epilog_.pid = -1;
  clearing_since_ = os::EventLoop::now();
  clear();
}

void BatchRun::clear() {
  int status = 0;
  while (::waitpid(-1, &status, WNOHANG) > 0) {
  }
  if (processes_.any_left_of_job()) {
    processes_.kill_job();
    const Duration so_far = os::EventLoop::now() - clearing_since_;
    loop_.call_after(std::clamp(so_far / 4, kFirstBatchLook, kSlowestBatchLook), [this] { clear(); });
    return;
  }
  note_out_of_memory();
  end_.usage = meter_.finish();
  record(end_);
}

// As Slurm: whatever the script made of it, it counts as ended by "signal" 125.
void BatchRun::note_out_of_memory() {
  const auto kills = processes_.oom_kills();
  if (kills == 0) return;
  end_.out_of_memory = true;
  end_.exit = {.code = 0, .signal = kOutOfMemorySignal};
  const auto text = oom_message(kills, fmt::format("{}.batch", launch_.run.job.value));
  if (error_output_) write_as_user(input_.identity, error_output_.get(), message_prefix() + text + "\n");
}

void BatchRun::record(os::EndRecord end) {
  end.ended = wall_time();
  maker_.remove();
  processes_.remove(true);
  // A disk that fails here fails the agent too; it then reports this run as killed.
  auto noted = input_.record.note_end(end);
  if (noted && ::getppid() != input_.agent) noted = input_.record.sync();
  if (!noted) fmt::print(stderr, "spurstepd: error: job {}: {}\n", launch_.run.job.value, noted.error().message);
  loop_.stop();
}

}  // namespace

void run_batch(BatchInput input) {
  adopt_orphans();
  auto loop = os::EventLoop::open();
  if (!loop) {
    (void)input.record.note_end(failed_launch(loop.error()));
    return;
  }
  BatchRun(std::move(input), **loop).run();
}

}  // namespace spur::stepd
