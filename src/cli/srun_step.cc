// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_step.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <expected>
#include <system_error>
#include <utility>

#include "cli/allocation.h"
#include "cli/display.h"
#include "cli/job_option_values.h"
#include "cli/read_file.h"
#include "cli/srun_address.h"
#include "cli/srun_broadcast.h"
#include "cli/srun_exits.h"
#include "cli/srun_layout.h"
#include "cli/srun_multi_prog.h"
#include "cli/srun_output.h"
#include "cli/srun_signals.h"
#include "cli/srun_streams.h"
#include "cli/srun_terminal.h"
#include "cli/step_gres.h"
#include "cli/step_runner.h"
#include "text/export_spec.h"
#include "text/hostlist.h"
#include "text/repeat.h"
#include "text/words.h"

namespace spur::cli {
namespace {

// The tasks of an MPI program cannot go on without one of them.
bool ends_on_bad_exit(const JobRequest& request) {
  return request.kill_on_bad_exit.value_or(!request.mpi.empty());
}

constexpr std::size_t kKeyBytes = 16;
constexpr std::string_view kCannotBind = "Unable to satisfy cpu bind request";
constexpr int kNotBoundStatus = 192;  // Slurm's

Result<StepSize> step_size(const JobRequest& request) {
  const model::JobSpec& spec = request.spec;
  StepSize size;
  if (request.interactive) {  // one task on the first node, whatever the variables of the job say
    size.tasks = size.nodes = 1;
    size.relative = 0;
    return size;
  }
  size.tasks = spec.tasks;
  if (request.nodes_given) size.nodes = spec.min_nodes;
  size.tasks_per_node = spec.tasks_per_node;
  size.relative = request.relative;
  size.distribution = spec.distribution;
  if (!spec.required_nodes.empty()) {
    SPUR_ASSIGN(size.required, text::expand_hostlist(spec.required_nodes));
  }
  if (!spec.excluded_nodes.empty()) {
    SPUR_ASSIGN(size.excluded, text::expand_hostlist(spec.excluded_nodes));
  }
  return size;
}

Result<std::vector<std::string>> step_environment(const Context& context, const JobRequest& request) {
  std::vector<std::string> own;
  for (const char* const* entry = context.environment; entry != nullptr && *entry != nullptr; ++entry)
    own.emplace_back(*entry);
  SPUR_ASSIGN(const auto wanted, text::parse_export(request.exported.value_or("ALL")));
  return text::apply_export(wanted, own);
}

// The loop around a running step.
class StepLoop {
 public:
  StepLoop(Context& context, const JobRequest& request, StepRunner& runner, StepStreams& streams, JobId job,
           std::uint32_t tasks, const std::optional<wire::HetStep>& het)
      : context_(context),
        request_(request),
        runner_(runner),
        streams_(streams),
        job_(job),
        tasks_(tasks),
        first_rank_(het ? het->first_rank : 0),
        out_(streams.out(), het ? het->tasks : tasks, request.label, request.unbuffered, streams.only_out),
        err_(streams.err(), het ? het->tasks : tasks, request.label, request.unbuffered, streams.only_err) {}

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
    events.notice = [this](const std::string& text) { context_.info("{}", text); };
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
      exits_.report(context_);
      tell_of_kill();
      if (readable) forward_input();
      if (input_open_ && streams_.input < 0) end_input();
      while (const auto signal = SignalWatch::take()) on_signal(*signal);
      check_wait();
      if (given_up_) return 1;
    }
    out_.finish();
    err_.finish();
    exits_.report(context_);
    if (not_bound_) {
      context_.error("Application launch failed: {}", kCannotBind);
      context_.info("Job step aborted");
      return kNotBoundStatus;
    }
    if (exits_.any_killed()) context_.info("Force Terminated StepId={}.{}", job_.value, step_);
    if (const Status ended = runner_.result(); !ended && !failed_) on_failure("", ended.error());
    return failed_ && exits_.status() == 0 ? 1 : exits_.status();
  }

 private:
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
    if (request_.quit_on_interrupt) return force_end();
    const bool soon = is_set(last_interrupt_) && now - last_interrupt_ <= seconds(1);
    last_interrupt_ = now;
    if (interrupts_sent_ > 0 && soon) return force_end();
    if (request_.disable_status || soon) {
      context_.info("sending Ctrl-C to StepId={}", step_name());
      ++interrupts_sent_;
      return runner_.send_signal(SIGINT);
    }
    context_.info("interrupt (one more within 1 sec to abort)");
    context_.info("StepId={} {}", step_name(), exits_.running(tasks_));
  }

  void force_end() {
    context_.info("forcing job termination");
    runner_.send_signal(SIGKILL);
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
      case SIGTERM:
      case SIGHUP:
      case SIGQUIT:
        return force_end();
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
    context_.info("StepId={} {}", step_name(), exits_.running(tasks_));
    context_.info("Terminating StepId={}", step_name());
    runner_.send_signal(SIGKILL);
  }
  Duration next_timeout() const {
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
  int interrupts_sent_ = 0;
  Time last_interrupt_, first_exit_;
};

// A step whose place in its job is known.
struct Prepared {
  StepOrder order;
  wire::ControllerClient::StepTicket ticket;
  StepLayout layout;
  std::optional<wire::HetStep> het;
  std::vector<std::string> het_environment;  // of an allocation made for it
};

std::string absolute(const JobRequest& request, const std::optional<std::string>& path) {
  if (!path || path->empty() || path->starts_with('/')) return path.value_or("");
  return request.directory + "/" + *path;
}

// --prolog and --epilog: programs that run here.
void run_here(Context& context, const std::optional<std::string>& program) {
  if (!program || program->empty()) return;
  if (::access(program->c_str(), R_OK | X_OK) != 0) {
    context.info("Access denied for {}: {}", *program, std::system_category().message(errno));
    return;
  }
  context.out.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    char* argv[] = {const_cast<char*>(program->c_str()), nullptr};
    ::execve(program->c_str(), argv, const_cast<char* const*>(context.environment));
    ::_exit(127);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0)
    context.error("{} exited with status {}", *program,
                  WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

// The terminal, unless there is none: then --pty is as if it had not been given.
std::optional<WindowSize> find_terminal(Context& context, int input) {
  const auto size = window_size(input);
  if (!size) {
    context.error("ioctl(TIOCGWINSZ): {}", std::system_category().message(errno));
    context.error("Not using a pseudo-terminal, disregarding --pty option");
  }
  return size;
}

std::expected<std::vector<wire::StepRequest::Program>, std::string> read_programs(const Prepared& prepared) {
  const std::string& path = prepared.order.program.front();
  const auto content = read_file(path);
  if (!content) return std::unexpected("Could not open multi_prog config file " + path);
  return parse_multi_prog(*content, path, prepared.layout.tasks);
}

Result<wire::StepRequest> make_request(const Context& context, const Prepared& prepared) {
  const JobRequest& request = *prepared.order.request;
  const auto& [order, ticket, layout, het, het_environment] = prepared;
  const model::JobSpec& spec = request.spec;
  wire::StepRequest step;
  step.ticket = ticket.ticket;
  step.name = spec.name;
  step.arguments = order.program;
  SPUR_ASSIGN(step.environment, step_environment(context, request));
  step.environment.insert(step.environment.end(), het_environment.begin(), het_environment.end());
  // The variables of Slurm that name srun's ports are left out: nobody listens there, and its PMI-1 library would
  // try.
  if (const std::string own = own_address_towards(ticket.addresses.front()); !own.empty())
    for (const char* name : {"SLURM_LAUNCH_NODE_IPADDR", "SLURM_SRUN_COMM_HOST"})
      step.environment.push_back(fmt::format("{}={}", name, own));
  step.environment.push_back(fmt::format("SLURM_PRIO_PROCESS={}", ::getpriority(PRIO_PROCESS, 0)));
  step.environment.push_back(
      fmt::format("SRUN_DEBUG={}", std::max(0, 3 + context.verbosity - (context.quiet ? 1 : 0))));
  step.directory = spec.work_dir.empty() ? request.directory : spec.work_dir;
  // A step that is one of several has its place; another one may be put where there is room.
  const bool anywhere = !het && !layout.candidates.empty() && layout.task_nodes.empty();
  if (anywhere) {
    step.node_count = static_cast<std::uint32_t>(layout.nodes.size());
    step.required_nodes = layout.required;
    step.max_tasks_per_node = layout.max_tasks_per_node;
  }
  for (const std::size_t node : anywhere ? layout.candidates : layout.nodes) {
    step.nodes.push_back(ticket.nodes[node]);
    step.addresses.push_back(node < ticket.addresses.size() ? ticket.addresses[node] : std::string());
  }
  if (!anywhere) step.tasks_per_node = layout.tasks_per_node;
  step.distribution = spec.distribution;
  step.task_nodes = layout.task_nodes;
  step.tasks = layout.tasks;
  step.cpus_per_task = spec.cpus_per_task_given ? spec.cpus_per_task : 0;
  step.label = request.label;
  step.overlap = request.overlap || request.interactive;
  step.kill_on_bad_exit = ends_on_bad_exit(request);
  step.no_kill = request.spec.no_kill;
  step.unbuffered = request.unbuffered;
  step.umask = spec.umask;
  step.rlimits = spec.rlimits;
  step.gres = step_gres(request);
  step.no_gres = request.gres_given && spec.gres.empty();
  step.memory_mib_per_node = spec.memory_per_node_mib.value_or(0);
  step.memory_mib_per_cpu = spec.memory_per_cpu_mib.value_or(0);
  step.cpus_per_gpu = spec.cpus_per_gpu;
  step.overcommit = spec.overcommit;
  // In a job --exclusive is about the step, and means that it shares nothing but takes no more than it needs.
  const bool exclusive = request.job_id && spec.exclusive != model::Exclusive::No;
  step.exact = !request.whole && (request.exact || exclusive || spec.cpus_per_task_given || spec.cpus_per_gpu > 0);
  if (request.time_given) step.time_limit = spec.time_limit;
  if (request.job_id && spec.signal.signal != 0) {
    step.warn_signal = spec.signal.signal;
    step.warn_seconds = spec.signal.seconds_before;
  }
  step.cpu_bind = request.cpu_bind.value_or("");
  step.gpu_bind = step_gpu_bind(request);
  step.mem_bind = request.mem_bind.value_or("");
  step.task_prolog = absolute(request, request.task_prolog);
  step.task_epilog = absolute(request, request.task_epilog);
  step.open_append = spec.open_append;
  step.distributed = request.distributed;
  step.preserve_environment = request.preserve_env;
  step.mpi = request.interactive ? std::string() : request.mpi;
  step.container = spec.container;
  if (request.reserved_ports > 0) return fail(ErrorCode::InvalidArgument, std::string(kNoPorts));
  if (!step.mpi.empty() && het)
    return fail(ErrorCode::NotSupported, "--mpi of a heterogeneous step is not supported yet");
  step.pid = static_cast<std::uint32_t>(::getpid());
  step.key.resize(kKeyBytes);
  if (::getrandom(step.key.data(), kKeyBytes, 0) != static_cast<ssize_t>(kKeyBytes)) step.key.clear();
  step.host = spec.submit_host;
  step.het = het;
  return step;
}

int refuse(Context& context, JobId job, const Error& error) {
  context.error("Unable to create step for job {}: {}", job.value, words(error));
  return 1;
}

// What srun -v says of the job; programs look for this line.
void announce_job(Context& context, Controller& controller, JobId id, const std::vector<std::string>& nodes) {
  if (context.verbosity == 0) return;
  const auto job = look_at_job(controller, id);
  if (!job || !(*job)->allocation) return;
  std::vector<std::uint32_t> cpus;
  for (const model::NodeGrant& grant : (*job)->allocation->nodes)
    cpus.push_back(static_cast<std::uint32_t>(grant.cpus.size()));
  context.info("jobid {}: nodes({}):`{}', cpu counts: {}", id.value, nodes.size(), text::compress_hostlist(nodes),
               text::repeat_text(cpus));
}

// SLURM_JOB_NUM_NODES is as old as the job, which may have lost nodes since.
void fit_to_what_is_left(Context& context, std::size_t left, StepSize& size) {
  if (size.nodes.value_or(0) <= left) return;
  if (size.tasks && *size.tasks < *size.nodes) {
    context.info("Warning: can't run {} processes on {} nodes, setting nnodes to {}", *size.tasks, *size.nodes,
                 *size.tasks);
    size.nodes = size.tasks;
  }
  if (*size.nodes <= left) return;
  context.error("SLURM_JOB_NUM_NODES environment variable conflicts with allocated node count ({} != {}).", *size.nodes,
                left);
  size.nodes = static_cast<std::uint32_t>(left);
}

std::expected<Prepared, int> prepare(Context& context, Controller& controller, const StepOrder& order) {
  const JobRequest& request = *order.request;
  const JobId job = order.job;
  const auto refused = [&](const Error& error) { return std::unexpected(refuse(context, job, error)); };
  auto ticket = controller.step_ticket(job);
  if (!ticket) {
    const ErrorCode code = ticket.error().code;
    if (!request.job_id || (code != ErrorCode::InvalidJobId && code != ErrorCode::JobAlreadyDone))
      return refused(ticket.error());
    context.error("Unable to confirm allocation for job {}: {}", job.value, words(ticket.error()));
    context.info("Check SLURM_JOB_ID environment variable. Expired or invalid job {}", job.value);
    return std::unexpected(1);
  }
  if (ticket->nodes.empty() || ticket->addresses.empty()) return refused({ErrorCode::NodesBusy, {}});
  announce_job(context, controller, job, ticket->nodes);
  auto size = step_size(request);
  if (!size) return refused(size.error());
  if (request.nodes_of_environment) fit_to_what_is_left(context, ticket->nodes.size(), *size);
  auto layout = lay_out_step(ticket->nodes, ticket->tasks_per_node, *size);
  if (!layout && layout.error().code == ErrorCode::InvalidNodeCount) {
    context.error("{}", layout.error().message);
    return std::unexpected(1);
  }
  if (!layout) return refused(layout.error());
  if (layout->ignored_tasks_per_node) {
    context.info(
        "Warning: can't honor --ntasks-per-node set to {} which doesn't match the requested tasks {} with the number "
        "of "
        "requested nodes {}. Ignoring --ntasks-per-node.",
        size->tasks_per_node, layout->tasks, layout->nodes.size());
  }
  if (layout->fewer_nodes) {
    context.info("Warning: can't run {} processes on {} nodes, setting nnodes to {}", layout->tasks, *size->nodes,
                 layout->nodes.size());
  }
  Prepared out{order, *std::move(ticket), *std::move(layout), {}, {}};
  if (!request.bcast || request.multi_prog) return out;
  wire::FilePlace place{.ticket = out.ticket.ticket, .nodes = {}, .addresses = {}};
  for (const std::size_t node : out.layout.candidates.empty() ? out.layout.nodes : out.layout.candidates) {
    place.nodes.push_back(out.ticket.nodes[node]);
    place.addresses.push_back(node < out.ticket.addresses.size() ? out.ticket.addresses[node] : std::string());
  }
  if (const int failed = broadcast_program(context, controller, request, job, place, out.order.program); failed != 0)
    return std::unexpected(failed);
  return out;
}

int run(Context& context, Controller& controller, const Prepared& prepared) {
  const JobRequest& request = *prepared.order.request;
  const JobId job = prepared.order.job;
  auto streams = StepStreams::open(context, request, job);
  if (!streams) {
    context.error("{}", streams.error().message);
    return 1;
  }
  auto step = make_request(context, prepared);
  if (!step) return refuse(context, job, step.error());
  step->renew = [&controller, job]() -> Result<wire::StepRequest::Whereabouts> {
    SPUR_ASSIGN(auto fresh, controller.step_ticket(job));
    return wire::StepRequest::Whereabouts{fresh.addresses.front(), std::move(fresh.ticket)};
  };
  step->std_out = streams->remote_out;
  step->std_err = streams->remote_err;

  if (request.multi_prog) {
    auto programs = read_programs(prepared);
    if (!programs) {
      for (const auto line : text::split(programs.error(), '\n')) context.error("{}", line);
      return 1;
    }
    step->programs = *std::move(programs);
    step->arguments.clear();
  }
  std::optional<RawTerminal> raw;
  if (const auto size = request.pty ? find_terminal(context, streams->input) : std::nullopt) {
    step->pty = true;
    step->pty_rows = size->rows;
    step->pty_columns = size->columns;
    step->environment.push_back(fmt::format("SLURM_PTY_WIN_ROW={}", size->rows));
    step->environment.push_back(fmt::format("SLURM_PTY_WIN_COL={}", size->columns));
    streams->only_out = streams->only_err = 0;
    raw.emplace(streams->input);
  }
  run_here(context, request.prolog);

  // Pieces of data would each be taken from the kernel and given back, with fresh pages every time.
  ::mallopt(M_MMAP_THRESHOLD, 8 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 16 << 20);
  const std::unique_ptr<StepRunner> runner = context.make_step_runner();
  StepLoop loop(context, request, *runner, *streams, job, prepared.layout.tasks, prepared.het);
  if (const Status started = runner->start(prepared.ticket.addresses.front(), *step, loop.events()); !started) {
    raw.reset();
    return refuse(context, job, started.error());
  }
  const int status = loop.run();
  raw.reset();
  run_here(context, request.epilog);
  return status;
}

// Where each step stands in the whole. The layout must be known for that: where it was left to the step manager, one
// task for each node first, then as many as the job has there, then evenly.
void join_steps(std::vector<Prepared>& steps, JobId leader) {
  wire::HetStep whole{leader, 0, 0, 0, {}, {}};
  for (Prepared& step : steps) {
    StepLayout& layout = step.layout;
    if (layout.tasks_per_node.empty()) {
      const auto nodes = static_cast<std::uint32_t>(layout.nodes.size());
      layout.tasks_per_node.assign(nodes, 1);
      std::uint32_t left = layout.tasks - nodes;
      for (std::uint32_t i = 0; i < nodes && left > 0; ++i) {
        const std::size_t node = layout.nodes[i];
        const std::uint32_t slots = node < step.ticket.tasks_per_node.size() ? step.ticket.tasks_per_node[node] : 1;
        const std::uint32_t more = std::min(left, std::max(slots, 1u) - 1);
        layout.tasks_per_node[i] += more;
        left -= more;
      }
      for (std::uint32_t i = 0; left > 0; i = (i + 1) % nodes, --left) ++layout.tasks_per_node[i];
    }
    step.het = wire::HetStep{leader, whole.tasks, static_cast<std::uint32_t>(whole.nodes.size()), 0, {}, {}};
    whole.tasks += layout.tasks;
    for (const std::size_t node : layout.nodes) whole.nodes.push_back(step.ticket.nodes[node]);
    whole.tasks_per_node.insert(whole.tasks_per_node.end(), layout.tasks_per_node.begin(),
                                layout.tasks_per_node.end());
  }
  for (Prepared& step : steps) {
    step.het->tasks = whole.tasks;
    step.het->nodes = whole.nodes;
    step.het->tasks_per_node = whole.tasks_per_node;
  }
}

// An allocation made by srun has no script that was told of its components.
std::vector<std::string> component_environment(const std::vector<Prepared>& steps) {
  std::vector<std::string> out{fmt::format("SLURM_HET_SIZE={}", steps.size())};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& ticket = steps[i].ticket;
    out.push_back(fmt::format("SLURM_JOB_ID_HET_GROUP_{}={}", i, steps[i].order.job.value));
    out.push_back(fmt::format("SLURM_JOB_NODELIST_HET_GROUP_{}={}", i, text::compress_hostlist(ticket.nodes)));
    out.push_back(fmt::format("SLURM_JOB_NUM_NODES_HET_GROUP_{}={}", i, ticket.nodes.size()));
  }
  return out;
}

// A process for each. The terminal sends its own signals to all of them; what comes from elsewhere is passed on.
int run_together(Context& context, Controller& controller, const std::vector<Prepared>& steps) {
  std::vector<pid_t> running;
  context.out.flush();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (i > 0) context.input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // input is for the first one
      const int status = run(context, controller, steps[i]);
      context.out.flush();
      ::_exit(status);
    }
    if (child > 0) running.push_back(child);
    if (child < 0) context.error("fork: {}", std::system_category().message(errno));
  }
  int worst = running.size() == steps.size() ? 0 : 1;
  const auto send = [&](int signal) {
    for (const pid_t child : running) ::kill(child, signal);
  };
  while (!running.empty()) {
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, 0);
    while (const auto signal = SignalWatch::take())
      if (*signal != SIGINT) send(*signal);
    if (child <= 0) continue;
    std::erase(running, child);
    const int exit = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    worst = std::max(worst, exit);
    if (exit != 0 && ends_on_bad_exit(*steps.front().order.request)) send(SIGTERM);
  }
  return worst;
}

}  // namespace

int run_steps(Context& context, Controller& controller, const std::vector<StepOrder>& orders, JobId leader) {
  std::vector<Prepared> steps;
  for (const StepOrder& order : orders) {
    auto prepared = prepare(context, controller, order);
    if (!prepared) return prepared.error();
    steps.push_back(*std::move(prepared));
  }
  if (steps.size() > 1 || steps.front().order.job != leader) join_steps(steps, leader);
  if (steps.size() == 1) return run(context, controller, steps.front());
  if (!orders.front().request->job_id) {
    const auto environment = component_environment(steps);
    for (Prepared& step : steps) step.het_environment = environment;
  }
  return run_together(context, controller, steps);
}

}  // namespace spur::cli
