// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_step.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <expected>
#include <system_error>
#include <utility>

#include "cli/allocation.h"
#include "cli/display.h"
#include "cli/job_option_values.h"
#include "cli/read_file.h"
#include "cli/srun_address.h"
#include "cli/srun_broadcast.h"
#include "cli/srun_layout.h"
#include "cli/srun_loop.h"
#include "cli/srun_multi_prog.h"
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

constexpr std::size_t kKeyBytes = 16;

Result<StepSize> step_size(const JobRequest& request) {
  const model::JobSpec& spec = request.spec;
  StepSize size;
  if (request.interactive) {  // one task on the first node, whatever the variables of the job say
    size.tasks = size.nodes = 1;
    size.relative = 0;
    return size;
  }
  size.tasks = spec.tasks;
  if (request.nodes_given) {
    size.nodes = spec.min_nodes;
    size.max_nodes = spec.max_nodes;
  }
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

// A step whose place in its job is known.
struct Prepared {
  StepOrder order;
  wire::ControllerClient::StepTicket ticket;
  StepLayout layout;
  std::optional<wire::HetStep> het;
  std::vector<std::string> het_environment;  // of an allocation made for it
};

// --prolog and --epilog: programs that run here. Their exit status.
int run_here(Context& context, const std::optional<std::string>& program, const std::vector<std::string>& environment) {
  if (!program || program->empty() || text::equal_ignoring_case(*program, "none")) return 0;
  if (::access(program->c_str(), R_OK | X_OK) != 0) {
    context.info("Access denied for {}: {}", *program, std::system_category().message(errno));
    return 0;
  }
  context.out.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    char* argv[] = {const_cast<char*>(program->c_str()), nullptr};
    std::vector<char*> env;
    for (const std::string& entry : environment) env.push_back(const_cast<char*>(entry.c_str()));
    env.push_back(nullptr);
    ::execve(program->c_str(), argv, env.data());
    ::_exit(127);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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
  if (::access(path.c_str(), R_OK) != 0) return std::unexpected("Could not open multi_prog config file " + path);
  const auto content = read_file(path);
  if (!content) return std::unexpected("Error reading multi_prog config file " + path);
  auto programs = parse_multi_prog(*content, path, prepared.layout.tasks);
  if (programs)  // what follows the file's name goes to each
    for (auto& program : *programs)
      program.arguments.insert(program.arguments.end(), prepared.order.program.begin() + 1,
                               prepared.order.program.end());
  return programs;
}

// What tasks are told of srun's options; what is there stays unless it is to be replaced.
void set_told(std::vector<std::string>& environment, std::string_view name, std::string_view value, bool replaced) {
  const auto is_it = [&](const std::string& entry) {
    return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
  };
  if (!replaced && std::ranges::any_of(environment, is_it)) return;
  std::erase_if(environment, is_it);
  environment.push_back(fmt::format("{}={}", name, value));
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
  set_told(step.environment, "SLURM_JOB_NAME", spec.name, request.name_given);
  if (spec.tasks_per_node > 0)
    set_told(step.environment, "SLURM_NTASKS_PER_NODE", std::to_string(spec.tasks_per_node), true);
  if (spec.threads_per_core > 0 || (spec.hint != model::Hint::None && spec.hint != model::Hint::Multithread))
    set_told(step.environment, "SLURM_THREADS_PER_CORE", std::to_string(std::max(1u, spec.threads_per_core)), true);
  if (request.label) set_told(step.environment, "SLURM_LABELIO", "1", true);
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
  step.task_prolog = request.task_prolog.value_or("");
  step.task_epilog = request.task_epilog.value_or("");
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
    const bool over = code == ErrorCode::JobAlreadyDone;
    if (!request.job_id || (code != ErrorCode::InvalidJobId && code != ErrorCode::JobPending && !over))
      return refused(ticket.error());
    if (over)
      context.error("Slurm job {} has expired", job.value);
    else
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
  if (const int failed = run_here(context, request.prolog, step->environment); failed != 0) {
    context.error("srun prolog failed rc = {}. Aborting step.", failed);
    return 1;
  }

  // Pieces of data would each be taken from the kernel and given back, with fresh pages every time.
  ::mallopt(M_MMAP_THRESHOLD, 8 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 16 << 20);
  const std::unique_ptr<StepRunner> runner = context.make_step_runner();
  const auto start = [&](const wire::StepEvents& events) {
    return runner->start(prepared.ticket.addresses.front(), *step, events);
  };
  const auto status =
      attend_step({context, request, *runner, *streams, job, prepared.layout.tasks, prepared.het}, start);
  raw.reset();
  if (!status) return refuse(context, job, status.error());
  if (const int failed = run_here(context, request.epilog, step->environment); failed != 0)
    context.error("srun epilog failed status={}", failed);
  return *status;
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
