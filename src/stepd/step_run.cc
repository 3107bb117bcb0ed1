// SPDX-License-Identifier: Apache-2.0
#include "stepd/step_run.h"

#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"
#include "os/event_loop.h"
#include "os/files.h"
#include "os/process.h"
#include "os/step_control.h"
#include "spur/v1/agent.pb.h"
#include "stepd/job_message.h"
#include "stepd/mpi_server.h"
#include "stepd/process_set.h"
#include "stepd/step_container.h"
#include "stepd/step_line.h"
#include "stepd/step_plan.h"
#include "stepd/task_pipes.h"
#include "stepd/usage_meter.h"
#include "wire/agent_codec.h"
#include "wire/id_codec.h"
#include "wire/spec_codec.h"

namespace spur::stepd {
namespace {

constexpr std::size_t kMaxQueuedInput = std::size_t{4} << 20;  // then the caller waits
constexpr std::size_t kTakenEvery = std::size_t{256} << 10;    // bytes of input, between words that we have them
constexpr Duration kFirstLook = milliseconds(1), kSlowestLook = milliseconds(100);
constexpr int kFilesPatienceMs = 10'000;
constexpr Duration kMpiPatience = seconds(2), kAbortPatience = milliseconds(200);
constexpr Duration kUserEpilogTime = seconds(5);

Time wall_clock() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

class StepRun {
 public:
  StepRun(const StepRun&) = delete;
  StepRun& operator=(const StepRun&) = delete;
  ~StepRun() { maker_.remove(); }
  StepRun(StepRunInput input, os::EventLoop& loop)
      : input_(std::move(input)), loop_(loop), line_(loop, std::move(input_.stream)) {}
  Status open();

 private:
  struct Task {
    std::uint32_t rank = 0;
    StartedTask started;
    std::unique_ptr<TaskPipes> pipes;
    std::vector<TaskPlan> epilogs{};  // run one after the other when the task has ended
    std::size_t epilogs_begun = 0;
    StartedTask epilog{};  // that runs
    int wait_status = 0;
    bool ended = false, over = false;
    std::optional<int> abort_code{};  // with which it asked for the end of all, itself included
  };

  // input
  void on_message(std::string_view bytes);
  Status start(const v1::StepStart& start);
  void limit_to(TimeLimit limit);
  Status begin_mpi(const StepPlan& plan, const v1::StepStart& start);
  Status begin_container(const StepPlan& plan, const v1::StepStart& start);
  void go(const StepPlan& plan, const v1::StepStart& start);
  Status start_tasks(StepPlan plan, const v1::StepStart& start);
  Status start_one(TaskPlan plan, const v1::StepStart& start);
  void on_stdin(const v1::StepStdin& input);
  void say_taken();
  void on_attached();
  void keep_line(const v1::StepStart& start);
  void on_orders();
  void obey(const os::StepOrder& order);
  void tell_end(model::JobState why, bool with_notice);
  void end_all(model::JobState why, bool with_notice = true);
  // output
  void send(v1::StepOutput message) { line_.send(std::move(message)); }
  void send_fence(std::uint64_t number);
  void send_data(std::uint32_t rank, std::string_view data, bool is_stderr, bool eof);
  void send_exit(const Task& task, int wait_status);
  void send_error(const Error& error, bool of_binding = false);
  void pace();
  // ends
  void on_children();
  void on_task_end(Task& task, int wait_status);
  void begin_epilog(Task& task);
  void on_epilog_end(Task& task, int wait_status);
  void clear();
  void finish();

  StepRunInput input_;
  os::EventLoop& loop_;
  StepLine line_;
  model::ControllerLaunch launch_;
  std::string job_cgroup_, node_;
  std::uint32_t step_ = 0;
  ProcessSet processes_;
  UsageMeter meter_{loop_, processes_};
  std::vector<std::unique_ptr<Task>> tasks_;
  std::unique_ptr<MpiServer> mpi_;
  std::uint64_t input_seq_ = 0;  // of the last input taken
  std::size_t input_taken_ = 0;  // bytes since we said so
  std::uint64_t fences_ = 0, fences_passed_ = 0;
  std::string fence_data_[2];  // of the last two, by number: who comes next may have to gather them again
  ContainerMaker maker_{loop_};
  std::shared_ptr<const Container> container_;
  std::optional<std::vector<std::string>> early_;  // what came while MPI server or container were not ready
  os::UniqueFd children_;
  std::string last_words_;  // to the agent: what was used
  bool is_first_node_ = false, told_end_ = false;
  bool started_ = false, terminating_ = false, clearing_ = false, finished_ = false;
  Duration clearing_since_{0};
  const Duration began_ = os::EventLoop::now();
  os::EventLoop::TimerId limit_timer_, warn_timer_;
  int warn_signal_ = 0;
  Duration warn_before_{0};
};

Status StepRun::open() {
  SPUR_ASSIGN(const auto header, input_.record.header());
  job_cgroup_ = header.cgroup;
  SPUR_ASSIGN(const auto bytes, input_.record.launch());
  SPUR_ASSIGN(auto message, wire::decode_controller_message(bytes));
  auto* launch = std::get_if<model::ControllerLaunch>(&message);
  if (launch == nullptr || !launch->spec || launch->parts.empty())
    return fail(ErrorCode::Corrupt, "the record holds no launch");
  launch_ = std::move(*launch);
  node_ = launch_.parts.front().node;
  if (launch_.spec->uid != input_.identity.uid)
    return fail(ErrorCode::InvalidUser, "the identity is not that of the job's user");
  sigset_t chld;
  ::sigemptyset(&chld);
  ::sigaddset(&chld, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &chld, nullptr);
  children_ = os::UniqueFd(::signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!children_) return os::fail_errno("cannot watch for ended processes", errno);
  SPUR_TRY(loop_.watch(children_.get(), EPOLLIN, [this](std::uint32_t) { on_children(); }));
  SPUR_TRY(loop_.watch(input_.orders.get(), EPOLLIN, [this](std::uint32_t) { on_orders(); }));
  return line_.open({.on_input = [this](std::string_view input_bytes) { on_message(input_bytes); },
                     .on_room = [this] { pace(); },
                     .on_attached = [this] { on_attached(); },
                     .on_orders =
                         [this](os::UniqueFd orders) {
                           loop_.unwatch(input_.orders.get());
                           input_.orders = std::move(orders);
                           (void)loop_.watch(input_.orders.get(), EPOLLIN, [this](std::uint32_t) { on_orders(); });
                           if (finished_) os::tell_agent(input_.orders.get(), last_words_);
                         },
                     .on_nobody = [this] { clear(); },
                     .on_left = [this] { loop_.stop(); }});
}

// ---- input

void StepRun::on_message(std::string_view bytes) {
  v1::StepInput input;
  if (clearing_) return;
  if (early_) {
    const bool is_end = input.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) && input.has_signal() &&
                        (input.signal().end() || input.signal().signal() == SIGKILL);
    if (is_end) return clear();
    return early_->emplace_back(bytes), void();
  }
  if (!input.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    send_error({ErrorCode::Corrupt, "garbled step input"});
    return clear();
  }
  if (input.has_start() && !std::exchange(started_, true)) {
    if (auto begun = start(input.start()); !begun) {
      send_error(begun.error(), begun.error().code == ErrorCode::StepTooLarge);
      clear();
    }
    return;
  }
  if (input.seq() != 0 && input.seq() <= input_seq_) return;  // sent again, and we had it
  if (input.seq() != 0) input_seq_ = input.seq();
  if (!started_ || input.has_start()) {
    send_error({ErrorCode::InvalidArgument, "a step begins with its one start"});
    return clear();
  }
  if (input.has_stdin_data()) return on_stdin(input.stdin_data());
  if (input.has_signal() && input.signal().end())  // with a signal: after a bad exit, which srun tells itself
    return end_all(model::JobState::Cancelled, input.signal().signal() == 0);
  if (input.has_signal() && input.signal().has_time_limit())
    return limit_to(TimeLimit::from_raw(input.signal().time_limit()));
  if (input.has_signal()) return obey({.kind = os::StepOrder::Kind::Signal, .signal = input.signal().signal()});
  if (input.has_fence() && mpi_) {
    if (input.fence().number() != fences_passed_ + 1) return;
    ++fences_passed_;
    if (auto passed = mpi_->pass_fence(input.fence().data()); !passed) send_error(passed.error()), clear();
    return;
  }
  if (input.has_window())
    for (auto& task : tasks_) task->pipes->resize(input.window().rows(), input.window().columns());
}

void StepRun::say_taken() {
  input_taken_ = 0;
  v1::StepOutput message;
  message.mutable_taken()->set_seq(input_seq_);
  line_.send_now(message);
}

// What is not in the log is said again.
void StepRun::on_attached() {
  say_taken();
  if (fences_ > 1) send_fence(fences_ - 1);
  if (fences_ > 0) send_fence(fences_);
}

void StepRun::send_fence(std::uint64_t number) {
  v1::StepOutput message;
  message.mutable_fence()->set_number(number);
  message.mutable_fence()->set_data(fence_data_[number % 2]);
  line_.send_now(message);
}

// From now on the step does not depend on the agent that started it.
void StepRun::keep_line(const v1::StepStart& start) {
  if (start.key().empty()) return;
  v1::StepHello hello;
  hello.set_job(launch_.run.job.value);
  hello.set_epoch(launch_.run.epoch.value);
  hello.set_step(step_);
  hello.set_key(start.key());
  const auto here = std::ranges::find(start.nodes(), node_);
  line_.keep(input_.directory, std::move(hello), static_cast<std::uint32_t>(here - start.nodes().begin()));
}

Status StepRun::start(const v1::StepStart& start) {
  step_ = start.step();
  keep_line(start);
  SPUR_ASSIGN(auto plan, plan_step({.launch = launch_,
                                    .identity = input_.identity,
                                    .start = start,
                                    .of_node = input_.of_node,
                                    .token = os::run_token(input_.token, launch_.run),
                                    .cpus = input_.cpus,
                                    .hooks = input_.hooks,
                                    .gpu_cores = input_.gpu_cores}));
  const model::LaunchPart& part = launch_.parts.front();
  auto limits = os::limits_of_step(input_.limits, part.memory_mib, start.grant().memory_mib(), plan.devices);
  is_first_node_ = plan.layout.node_id == 0 && (!start.has_het() || start.het().first_node() == 0);
  // A task that unbinds itself stays within its step all the same.
  if (!input_.limits.cpus.empty() && plan.layout.cpus.size() < part.cpus.size())
    limits.cpus = os::cpuset_of(input_.cpus, plan.layout.cpus);
  SPUR_ASSIGN(processes_, ProcessSet::make(job_cgroup_, fmt::format("step_{}", step_), input_.limits, limits));
  if (start.mpi().empty() && !start.has_container()) return start_tasks(std::move(plan), start);
  early_.emplace();
  return start.mpi().empty() ? begin_container(plan, start) : begin_mpi(plan, start);
}

Status StepRun::begin_mpi(const StepPlan& plan, const v1::StepStart& start) {
  MpiStep step{.name = fmt::format("{}.{}.{}", launch_.run.job.value, launch_.run.epoch.value, step_),
               .size = start.ntasks(),
               .nodes = plan.layout.nodes,
               .node = plan.layout.node_id,
               .process_mapping = start.process_mapping(),
               .ranks = {},
               .identity = input_.identity};
  for (const auto& task : plan.tasks) step.ranks.push_back(task.rank);
  MpiServer::Events events{.fence =
                               [this](std::string data) {
                                 fence_data_[++fences_ % 2] = std::move(data);
                                 send_fence(fences_);
                               },
                           .abort =
                               [this](std::uint32_t rank, int code, std::string text) {
                                 for (auto& task : tasks_)
                                   if (task->rank == rank) task->abort_code = code & 0xff;
                                 v1::StepOutput message;
                                 message.mutable_abort()->set_rank(rank);
                                 message.mutable_abort()->set_code(code);
                                 message.mutable_abort()->set_text(std::move(text));
                                 // Some leave by themselves then.
                                 loop_.call_after(kAbortPatience, [this, message] { send(message); });
                               },
                           .failed =
                               [this](const Error& error) {
                                 send_error(error);
                                 clear();
                               }};
  SPUR_ASSIGN(mpi_, make_mpi_server(start.mpi(), loop_, std::move(step), std::move(events)));
  return mpi_->begin([this, plan, start] {
    if (clearing_) return;
    if (auto begun = begin_container(plan, start); !begun) {
      send_error(begun.error());
      clear();
    }
  });
}

Status StepRun::begin_container(const StepPlan& plan, const v1::StepStart& start) {
  if (!start.has_container()) return go(plan, start), Status{};
  model::ContainerRequest request;
  SPUR_TRY(wire::from_proto(start.container(), &request));
  std::vector<std::string> devices;
  for (const auto& device : os::limits_of_step(input_.limits, 0, 0, plan.devices).granted)
    devices.insert(devices.end(), device.files.begin(), device.files.end());
  SPUR_ASSIGN(const int cgroup, processes_.task_fd(plan.tasks.front().rank));
  return maker_.begin(
      {.request = request,
       .settings = input_.containers,
       .spool_token = input_.token,
       .run = launch_.run,
       .instance = fmt::format("step-{}", step_),
       .identity = input_.identity,
       .environment = plan.tasks.front().environment,
       .work_dir = plan.tasks.front().work_dir,
       .binds = mpi_ ? mpi_->directories() : std::vector<std::string>(),
       .devices = std::move(devices),
       .cgroup_fd = cgroup},
      [this, plan = StepPlan(plan), start, request](Result<std::shared_ptr<const Container>> made) mutable {
        if (clearing_) return;
        if (!made) {
          send_error({ErrorCode::Internal, made.error().message});
          return clear();
        }
        container_ = *std::move(made);
        for (TaskPlan& task : plan.tasks) put_into(container_, request, task);
        plan.tasks.front().notes = container_->notes;
        go(plan, start);
      });
}

// All that tasks need is there.
void StepRun::go(const StepPlan& plan, const v1::StepStart& start) {
  const auto early = *std::exchange(early_, std::nullopt);
  if (clearing_) return;
  if (auto begun = start_tasks(plan, start); !begun) {
    send_error(begun.error());
    return clear();
  }
  for (const auto& bytes : early) on_message(bytes);
}

Status StepRun::start_tasks(StepPlan plan, const v1::StepStart& start) {
  for (auto& task : plan.tasks) {
    SPUR_ASSIGN(task.cgroup_fd, processes_.task_fd(task.rank));
    SPUR_TRY(start_one(std::move(task), start));
  }
  v1::StepOutput message;
  auto* told = message.mutable_started();
  told->set_node(node_);
  told->set_step(step_);
  for (const auto& task : tasks_) {
    told->add_ranks(task->rank);
    told->add_pids(static_cast<std::uint32_t>(task->started.pid));
  }
  send(message);
  std::vector<UsageMeter::Task> metered;
  for (const auto& task : tasks_) metered.push_back({task->rank, task->started.pid});
  meter_.start(std::to_string(step_), std::move(metered), input_.sample_every,
               os::usage_file(input_.directory, launch_.run, std::to_string(step_)));
  if (const auto limit = TimeLimit::from_raw(start.has_time_limit() ? start.time_limit() : TimeLimit().raw());
      limit.is_set()) {
    warn_signal_ = start.warn_signal();
    warn_before_ = seconds(start.warn_seconds());
    limit_to(limit);
  }
  return {};
}

// The first one, or a new one (scontrol update StepId=): counted from the start either way.
void StepRun::limit_to(TimeLimit limit) {
  for (auto* timer : {&limit_timer_, &warn_timer_}) loop_.cancel(std::exchange(*timer, {}));
  if (!limit.is_finite()) return;
  const Duration end = began_ + limit.duration();
  limit_timer_ = loop_.call_at(end, [this] { end_all(model::JobState::Timeout); });
  if (warn_signal_ > 0 && end - warn_before_ > os::EventLoop::now())
    warn_timer_ = loop_.call_at(end - warn_before_, [this] { processes_.signal(warn_signal_); });
}

Status StepRun::start_one(TaskPlan plan, const v1::StepStart& start) {
  auto task = std::make_unique<Task>();
  task->rank = plan.rank;
  task->pipes = std::make_unique<TaskPipes>(loop_);
  TaskPipes::Ends ends;
  if (start.pty() && plan.rank == 0) {
    SPUR_ASSIGN(ends, task->pipes->make_terminal(plan.identity.uid, start.pty_rows(), start.pty_columns()));
    plan.in_fd = plan.out_fd = plan.err_fd = ends.in.get();
    plan.is_terminal = true;
  } else {
    const bool in = plan.in_path.empty(), out = plan.out_path.empty(), err = out && plan.err_path.empty();
    SPUR_ASSIGN(ends, task->pipes->make_pipes(in, out, err));
    plan.in_fd = ends.in.get();
    plan.out_fd = ends.out.get();
    plan.err_fd = ends.err.get();
  }
  if (!start.task_epilog().empty())
    task->epilogs.push_back(epilog_plan(plan, start.task_epilog(), HookOf::User));
  if (!input_.hooks.epilog.empty())
    task->epilogs.push_back(epilog_plan(plan, input_.hooks.epilog, HookOf::Site));
  os::UniqueFd mpi_end;  // the task's
  if (mpi_) {
    SPUR_ASSIGN(mpi_end, mpi_->prepare(plan.local_id, plan));
  }
  SPUR_ASSIGN(task->started, start_task(plan));
  mpi_end.reset();
  ends = {};
  const std::uint32_t rank = plan.rank;
  SPUR_TRY(task->pipes->watch(
      {.on_output = [this, rank](std::string_view data, bool is_stderr) { send_data(rank, data, is_stderr, false); },
       .on_end = [this, rank](bool is_stderr) { send_data(rank, {}, is_stderr, true); },
       .on_input_taken = [this] { pace(); }}));
  tasks_.push_back(std::move(task));
  // A file that several tasks share is emptied by the first: it must have done so before the next one writes.
  if (!plan.out_path.empty()) {
    pollfd wait{.fd = tasks_.back()->started.reports.get(), .events = POLLIN, .revents = 0};
    ::poll(&wait, 1, kFilesPatienceMs);
  }
  return {};
}

void StepRun::on_stdin(const v1::StepStdin& input) {
  for (auto& task : tasks_) {
    if (input.has_task() && input.task() != task->rank) continue;
    task->pipes->write_input(input.data());
    if (input.eof()) task->pipes->end_input();
  }
  input_taken_ += input.data().size() + (input.eof() ? kTakenEvery : 0);
  pace();
}

void StepRun::on_orders() {
  while (const auto order = os::receive_order(input_.orders.get())) obey(*order);
}

void StepRun::obey(const os::StepOrder& order) {
  using Kind = os::StepOrder::Kind;
  if (!started_ && order.kind != Kind::Kill && order.kind != Kind::Terminate) return;
  switch (order.kind) {
    case Kind::Terminate:
      line_.hurry_when_finished();
      return end_all(order.why);
    case Kind::Kill:
      line_.hurry_when_finished();
      return clear();
    case Kind::Signal:
      if (order.signal != SIGKILL) return processes_.signal(order.signal);
      tell_end(model::JobState::Cancelled, true);
      return processes_.kill();
    case Kind::SignalShell:
      for (const auto& task : tasks_)
        if (!task->ended) ::kill(task->started.pid, order.signal);
      return;
    case Kind::Suspend:
      return processes_.freeze(true);
    case Kind::Resume:
      return processes_.freeze(false);
    case Kind::Notify:  // for batch scripts
      return;
  }
}

// The step's first node speaks for all.
void StepRun::tell_end(model::JobState why, bool with_notice) {
  if (tasks_.empty() || !is_first_node_ || std::exchange(told_end_, true)) return;
  if (with_notice) {
    v1::StepOutput message;
    message.mutable_notice()->set_text(fmt::format(
        "Job step aborted: Waiting up to {} seconds for job step to finish.", launch_.kill_wait.count() + 2));
    send(std::move(message));
  }
  const auto text = end_message(fmt::format("STEP {}.{}", launch_.run.job.value, step_), node_, wall_clock(), why);
  send_data(tasks_.front()->rank, message_prefix(node_) + text + "\n", true, false);
}

void StepRun::end_all(model::JobState why, bool with_notice) {
  if (clearing_ || std::exchange(terminating_, true)) return;
  tell_end(why, with_notice);
  processes_.freeze(false);
  processes_.signal(SIGCONT);
  processes_.signal(SIGTERM);
  loop_.call_after(launch_.kill_wait, [this] { processes_.kill(); });
  if (tasks_.empty()) clear();
}

// ---- output

void StepRun::send_data(std::uint32_t rank, std::string_view data, bool is_stderr, bool eof) {
  v1::StepOutput message;
  auto* out = message.mutable_data();
  out->set_rank(rank);
  out->set_data(std::string(data));
  out->set_is_stderr(is_stderr);
  out->set_eof(eof);
  send(std::move(message));
  pace();
}

void StepRun::send_exit(const Task& task, int wait_status) {
  v1::StepOutput message;
  auto* out = message.mutable_task_exit();
  auto exit = os::exit_status_of(wait_status);
  if (task.abort_code && exit.signal == SIGKILL) exit = {static_cast<std::uint8_t>(*task.abort_code), 0};
  out->set_rank(task.rank);
  out->set_code(exit.code);
  out->set_signal(exit.signal);
  out->set_node(node_);
  out->set_core_dumped(WIFSIGNALED(wait_status) && WCOREDUMP(wait_status));
  out->set_out_of_memory(exit.signal == SIGKILL && processes_.out_of_memory());
  send(message);
}

void StepRun::send_error(const Error& error, bool of_binding) {
  v1::StepOutput message;
  message.mutable_error()->set_code(static_cast<std::uint32_t>(error.code));
  message.mutable_error()->set_text(error.message);
  message.mutable_error()->set_node(node_);
  message.mutable_error()->set_of_binding(of_binding);
  message.mutable_error()->set_step(step_);
  send(message);
}

// Tasks wait while the caller is slow to read, and the caller while a task is.
void StepRun::pace() {
  if (clearing_) return;
  const bool slow_caller = line_.backed_up();
  std::size_t queued = 0;
  for (auto& task : tasks_) {
    task->pipes->pause(slow_caller);
    queued = std::max(queued, task->pipes->queued_input());
  }
  // The caller of a line that is kept waits for our word that we have what he sent; what comes on the line is not
  // input alone, and must be read.
  if (!line_.kept()) return line_.pause_input(queued > kMaxQueuedInput);
  if (input_taken_ >= kTakenEvery && queued <= kMaxQueuedInput) say_taken();
}

// ---- ends

void StepRun::on_children() {
  signalfd_siginfo info;
  while (::read(children_.get(), &info, sizeof info) == sizeof info) {
  }
  int status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (mpi_) mpi_->on_child(pid);
    for (auto& task : tasks_)
      if (task->started.pid == pid && !task->ended) {
        on_task_end(*task, status);
      } else if (task->epilog.pid == pid) {
        on_epilog_end(*task, status);
      }
  }
  if (!clearing_ && !tasks_.empty() && std::ranges::all_of(tasks_, [](const auto& t) { return t->over; })) clear();
}

void StepRun::on_task_end(Task& task, int wait_status) {
  task.ended = true;
  task.wait_status = wait_status;
  task.pipes->drain();  // before the news of its end
  for (auto report = next_report(task.started.reports.get()); report;
       report = next_report(task.started.reports.get())) {
    if (!report->launch_failed) continue;
    send_error({ErrorCode::Internal, report->error});
    processes_.kill();  // a step with a task that could not be started is none
  }
  begin_epilog(task);
}

// The next of them, or, when there is none, the end of the task.
void StepRun::begin_epilog(Task& task) {
  while (!clearing_ && task.epilogs_begun < task.epilogs.size()) {
    const TaskPlan& plan = task.epilogs[task.epilogs_begun++];
    auto started = start_task(plan);
    if (!started) continue;
    task.epilog = std::move(*started);
    if (plan.epilog_of == HookOf::User)  // who made the step does not keep it for long
      loop_.call_after(kUserEpilogTime, [this, t = &task, pid = task.epilog.pid] {
        if (t->epilog.pid == pid) ::kill(-pid, SIGKILL);
      });
    return;
  }
  if (!std::exchange(task.over, true)) send_exit(task, task.wait_status);
}

void StepRun::on_epilog_end(Task& task, int wait_status) {
  const HookOf of = *task.epilogs[task.epilogs_begun - 1].epilog_of;
  const auto complain = [&](const std::string& text) {
    send_data(task.rank, message_prefix(node_) + text + "\n", true, false);
  };
  for (auto report = next_report(task.epilog.reports.get()); report; report = next_report(task.epilog.reports.get()))
    if (report->launch_failed) {
      complain(report->error);
      wait_status = -1;
    }
  if (wait_status != 0 && !clearing_) complain(epilog_failed(wait_status, of));
  task.epilog.pid = -1;
  begin_epilog(task);
}

void StepRun::clear() {
  if (finished_) return;
  if (!std::exchange(clearing_, true)) clearing_since_ = os::EventLoop::now();
  on_children();
  const Duration so_far = os::EventLoop::now() - clearing_since_;
  const bool mpi_left = mpi_ && !mpi_->end() && so_far < kMpiPatience;  // it goes by itself
  if (mpi_left || processes_.any_left()) {
    if (!mpi_left) processes_.kill();
    loop_.call_after(std::clamp(so_far / 4, kFirstLook, kSlowestLook), [this] { clear(); });
    return;
  }
  on_children();
  finish();
}

void StepRun::finish() {
  if (std::exchange(finished_, true)) return;
  for (auto& task : tasks_) task->pipes->drain();
  if (const auto kills = processes_.oom_kills(); kills > 0 && !tasks_.empty())
    send_data(tasks_.front()->rank,
              message_prefix(node_) + oom_message(kills, fmt::format("{}.{}", launch_.run.job.value, step_)) + "\n",
              true, false);
  const model::Usage usage = meter_.finish();
  last_words_ = os::encode_sample({std::to_string(step_), {{0, 0, usage}}});
  os::tell_agent(input_.orders.get(), last_words_);
  processes_.remove(false);
  container_.reset();  // whoever hears of the end may use its name and image
  maker_.remove();     // and finds nothing of it left
  v1::StepOutput message;
  wire::to_proto(usage, message.mutable_done()->mutable_usage());
  send(message);
  line_.finish();
}

}  // namespace

// Pieces of step data are larger than what the C library by itself takes from the kernel, and gives back, one by one:
// most of the time would go into fresh pages.
void run_step(StepRunInput input) {
  ::mallopt(M_MMAP_THRESHOLD, 8 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 16 << 20);
  adopt_orphans();
  auto loop = os::EventLoop::open();
  if (!loop) return;
  StepRun run(std::move(input), **loop);
  if (auto opened = run.open(); !opened) {
    fmt::print(stderr, "spurstepd: error: {}\n", opened.error().message);
    return;
  }
  (*loop)->run();
}

}  // namespace spur::stepd
