// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_loop.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "cli/display.h"
#include "cli/srun_exits.h"
#include "cli/srun_output.h"
#include "cli/srun_signals.h"
#include "cli/srun_terminal.h"

namespace spur::cli {
namespace {

constexpr std::string_view kCannotBind = "Unable to satisfy cpu bind request";
constexpr int kNotBoundStatus = 192;  // Slurm's
constexpr milliseconds kTogether{40};  // how long the end of a task waits for others of its node

// The loop around a running step.
class StepLoop {
 public:
  explicit StepLoop(const AttendedStep& step)
      : context_(step.context),
        request_(step.request),
        runner_(step.runner),
        streams_(step.streams),
        job_(step.job),
        tasks_(step.tasks),
        first_rank_(step.het ? step.het->first_rank : 0),
        out_(streams_.out(), all_tasks(step), request_.label, request_.unbuffered, streams_.only_out),
        err_(streams_.err(), all_tasks(step), request_.label, request_.unbuffered, streams_.only_err) {}

  wire::StepEvents events() {
    wire::StepEvents events;
    events.started = [this](const std::string&, std::uint32_t step, const std::vector<std::uint32_t>&) {
      step_ = step;
      if (std::exchange(waiting_, false)) context_.info("Step created for StepId={}.{}", job_.value, step);
      started_ = true;
    };
    events.output = [this](std::uint32_t rank, std::string_view data, bool is_stderr) {
      (is_stderr ? err_ : out_).add(first_rank_ + rank, data);
    };
    events.exited = [this](const wire::StepEvents::Exit& exit) { exits_.add(exit); };
    events.failed = [this](const std::string& node, const Error& error) { on_failure(node, error); };
    events.not_bound = [this](const std::string& node, std::uint32_t step, const std::string& text) {
      step_ = step;
      context_.error("{}", text);
      context_.error("Task launch for StepId={} failed on node {}: {}", step_name(), node, kCannotBind);
      not_bound_ = true;
    };
    events.waiting = [this](ErrorCode why) { on_waiting(why); };
    events.notice = [this](const std::string& text) {
      if (text.starts_with("Job step aborted")) {
        if (std::exchange(aborted_, true)) return;  // each component says so
      }
      context_.info("{}", text);
    };
    events.contact = [this](bool lost) {
      if (lost)
        context_.error("The agent of the job's first node does not answer, waiting for it");
      else
        context_.info("The agent answers again");
    };
    return events;
  }

  int run() {
    while (!runner_.ended()) {
      const bool wants_input = input_open_ && !runner_.input_is_full();
      const bool readable = runner_.turn(wants_input ? streams_.input : -1, next_timeout());
      report_exits();
      tell_of_kill();
      if (readable) forward_input();
      if (input_open_ && streams_.input < 0) end_input();
      while (const auto signal = SignalWatch::take()) on_signal(*signal);
      check_wait();
      if (given_up_) return 1;
    }
    out_.finish();
    err_.finish();
    if (!cancelled_) exits_.report(context_);
    if (not_bound_) {
      context_.error("Application launch failed: {}", kCannotBind);
      context_.info("Job step aborted");
      return kNotBoundStatus;
    }
    if (exits_.any_killed() && !aborted_) context_.info("Force Terminated StepId={}.{}", job_.value, step_);
    if (const Status ended = runner_.result(); !ended && !failed_) on_failure("", ended.error());
    return failed_ && exits_.status() == 0 ? 1 : exits_.status();
  }

 private:
  static std::uint32_t all_tasks(const AttendedStep& step) { return step.het ? step.het->tasks : step.tasks; }

  // What ends within a moment is told in one line for each node and kind. After a forced end nobody wonders why.
  void report_exits() {
    if (cancelled_ || !exits_.has_unreported()) return;
    const Time now = context_.now();
    if (!is_set(unreported_since_)) unreported_since_ = now;
    const bool all = exits_.count() >= tasks_, kills = !told_of_kill_ && ends_on_bad_exit(request_);
    if (!all && !kills && now - unreported_since_ < kTogether) return;
    exits_.report(context_);
    unreported_since_ = {};
  }

  void on_waiting(ErrorCode why) {
    if (waiting_) return;
    waiting_ = true;
    waits_since_ = context_.now();
    if (request_.spec.immediate_seconds == 0)
      context_.info("Job {} step creation temporarily disabled, retrying ({})", job_.value, slurm_message(why));
  }

  void give_up(ErrorCode why) {
    given_up_ = true;
    context_.error("Unable to create step for job {}: {}", job_.value, slurm_message(why));
  }

  void on_failure(const std::string& node, const Error& error) {
    if (std::exchange(failed_, true) && !started_) return;  // every node refuses for the same reason
    if (!started_) {
      context_.error("Unable to create step for job {}: {}", job_.value, words(error));
    } else {
      context_.error("{}{}{}", node, node.empty() ? "" : ": ", error.message.empty() ? words(error) : error.message);
    }
  }

  // -K: the step manager ends the others; once, so that the user knows why.
  void tell_of_kill() {
    if (told_of_kill_ || !ends_on_bad_exit(request_) || !exits_.any_bad() || exits_.count() >= tasks_) return;
    told_of_kill_ = true;
    context_.info("Terminating StepId={}", step_name());
  }

  void end_input() {
    input_open_ = false;
    runner_.end_input();
  }

  void forward_input() {
    static std::array<char, 512 * 1024> buffer;  // one step at a time
    const ssize_t got = ::read(streams_.input, buffer.data(), buffer.size());
    if (got > 0) {
      runner_.send_input({buffer.data(), static_cast<std::size_t>(got)}, streams_.input_rank);
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      end_input();
    }
  }

  std::string step_name() const { return fmt::format("{}.{}", job_.value, step_); }

  void on_interrupt() {
    const Time now = context_.now();
    const bool soon = is_set(last_interrupt_) && now - last_interrupt_ <= seconds(1);
    last_interrupt_ = now;
    if (cancelled_ || (interrupts_sent_ > 0 && soon)) return force_end();
    if (!request_.disable_status && !request_.quit_on_interrupt && !soon) {
      context_.info("interrupt (one more within 1 sec to abort)");
      return tell_states();
    }
    context_.info("sending Ctrl-C to StepId={}", step_name());
    ++interrupts_sent_;
    runner_.send_signal(SIGINT);
    if (request_.disable_status && !request_.quit_on_interrupt) return;
    cancelled_ = true;
    force_end();
  }

  void force_end() {
    if (std::exchange(forced_, true)) return;
    context_.info("forcing job termination");
    runner_.send_signal(SIGKILL);
  }

  void tell_states() {
    for (const std::string& state : exits_.states(tasks_)) context_.info("StepId={} {}", step_name(), state);
  }

  void on_signal(int signal) {
    if (signal == SIGWINCH) {
      if (const auto size = request_.pty ? window_size(streams_.input) : std::nullopt)
        runner_.resize(size->rows, size->columns);
      return;
    }
    if (waiting_ && signal != SIGCONT) {
      context_.info("Cancelled pending job step with signal {}", signal);
      return give_up(ErrorCode::JobAlreadyDone);
    }
    switch (signal) {
      case SIGINT:
        return on_interrupt();
      case SIGQUIT:
        context_.info("Quit");
        return force_end();
      case SIGTERM:
      case SIGHUP:
        return force_end();
      case SIGCONT:
        return context_.info("got SIGCONT");
      case SIGALRM:
        return;
      case SIGPIPE:  // nobody reads any more: the tasks end, as they would behind a pipe of their own
        return runner_.send_signal(SIGKILL);
      default:
        return runner_.send_signal(signal);
    }
  }

  // -W: the others have this long after the first task has ended.
  void check_wait() {
    const std::uint32_t patience = request_.spec.immediate_seconds;
    if (waiting_ && !given_up_ && patience > 0 && context_.now() - waits_since_ >= seconds(patience))
      return give_up(ErrorCode::NodesBusy);
    if (exits_.count() == 0 || exits_.count() >= tasks_ || wait_over_) return;
    if (!is_set(first_exit_)) first_exit_ = context_.now();
    if (request_.wait_seconds.value_or(0) == 0 || context_.now() - first_exit_ < seconds(*request_.wait_seconds))
      return;
    wait_over_ = true;
    context_.info("First task exited {}s ago", *request_.wait_seconds);
    tell_states();
    context_.info("Terminating StepId={}", step_name());
    runner_.send_signal(SIGKILL);
  }
  Duration next_timeout() const {
    if (!cancelled_ && exits_.has_unreported()) return kTogether / 2;
    if (waiting_ && request_.spec.immediate_seconds > 0) return milliseconds(50);
    return request_.wait_seconds.value_or(0) != 0 && exits_.count() > 0 && !wait_over_ ? Duration(milliseconds(200))
                                                                                       : Duration(seconds(60));
  }

  Context& context_;
  const JobRequest& request_;
  StepRunner& runner_;
  StepStreams& streams_;
  JobId job_;
  std::uint32_t tasks_, first_rank_, step_ = 0;
  TaskOutput out_, err_;
  TaskExits exits_;
  bool not_bound_ = false, waiting_ = false, given_up_ = false;
  Time waits_since_;
  bool started_ = false, failed_ = false, input_open_ = true, wait_over_ = false, told_of_kill_ = false;
  bool cancelled_ = false, forced_ = false, aborted_ = false;
  int interrupts_sent_ = 0;
  Time last_interrupt_, first_exit_, unreported_since_;
};

}  // namespace

bool ends_on_bad_exit(const JobRequest& request) {
  return request.kill_on_bad_exit.value_or(!request.mpi.empty());
}

Result<int> attend_step(const AttendedStep& step, const std::function<Status(const wire::StepEvents&)>& start) {
  StepLoop loop(step);
  SPUR_TRY(start(loop.events()));
  return loop.run();
}

}  // namespace spur::cli
