// SPDX-License-Identifier: Apache-2.0
// salloc: asks for an allocation, runs a command or the user's shell in it, here, and gives it back at the end.
// Should the allocation end first, the command is told by a signal.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "cli/allocation.h"
#include "cli/commands.h"
#include "cli/display.h"
#include "cli/het_components.h"
#include "cli/job_environment.h"
#include "cli/job_options.h"
#include "cli/srun_signals.h"
#include "cli/submit_errors.h"
#include "cli/users.h"
#include "text/hostlist.h"
#include "text/repeat.h"

namespace spur::cli {
namespace {

using Table = std::vector<Option<JobRequest>>;

constexpr std::string_view kUsage =
    "Usage: salloc [-N numnodes|[min nodes]-[max nodes]] [-n num-processors]\n"
    "              [-c cpus-per-node] [-p partition] [--hold] [-t minutes]\n"
    "              [-I immediate] [--no-shell] [--bell] [-J jobname]\n"
    "              [--mem=MB] [-C list] [--gres=list] [-w hosts] [-x hosts]\n"
    "              [command [args...]]\n";
constexpr seconds kBellDelay{10};

std::string shell_of_user(const Context& context) {
  const auto shell = context.env("SHELL");
  return shell && !shell->empty() ? std::string(*shell) : "/bin/sh";
}

// What a command in the allocation reads of it; what an outer job left behind does not count.
std::vector<std::string> allocation_environment(const Context& context, const JobRequest& request,
                                                const model::Job& job,
                                                const wire::ControllerClient::StepTicket& ticket) {
  std::vector<std::string> out;
  for (const char* const* entry = context.environment; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!describes_a_job(text.substr(0, text.find('=')))) out.emplace_back(text);
  }
  const auto set = [&](std::string_view name, const auto& value) {
    out.push_back(fmt::format("{}={}", name, value));
  };
  const model::JobSpec& spec = request.spec;
  const std::string nodes = text::compress_hostlist(ticket.nodes);
  std::vector<std::uint32_t> cpus;
  if (job.allocation)
    for (const auto& grant : job.allocation->nodes) cpus.push_back(static_cast<std::uint32_t>(grant.cpus.size()));
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID"}) set(name, job.id.value);
  set("SLURM_JOB_NAME", spec.name);
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) set(name, nodes);
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) set(name, ticket.nodes.size());
  set("SLURM_JOB_CPUS_PER_NODE", text::repeat_text(cpus));
  set("SLURM_TASKS_PER_NODE", text::repeat_text(ticket.tasks_per_node));
  if (job.allocation) set("SLURM_JOB_PARTITION", job.allocation->partition);
  set("SLURM_SUBMIT_DIR", request.directory);
  set("SLURM_SUBMIT_HOST", spec.submit_host);
  if (!spec.account.empty()) set("SLURM_JOB_ACCOUNT", spec.account);
  if (!spec.qos.empty()) set("SLURM_JOB_QOS", spec.qos);
  if (spec.tasks || spec.tasks_per_node > 0)
    for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS"}) set(name, model::task_count(spec));
  if (spec.tasks_per_node > 0) set("SLURM_NTASKS_PER_NODE", spec.tasks_per_node);
  if (spec.cpus_per_task_given) set("SLURM_CPUS_PER_TASK", spec.cpus_per_task);
  if (spec.memory_per_node_mib) set("SLURM_MEM_PER_NODE", *spec.memory_per_node_mib);
  if (spec.memory_per_cpu_mib) set("SLURM_MEM_PER_CPU", *spec.memory_per_cpu_mib);
  if (spec.overcommit) set("SLURM_OVERCOMMIT", 1);
  return out;
}

[[noreturn]] void run_command(Context& context, const std::vector<std::string>& command,
                              std::vector<std::string> environment, bool interactive) {
  std::vector<char*> argv, env;
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  for (const auto& entry : environment) env.push_back(const_cast<char*>(entry.c_str()));
  argv.push_back(nullptr);
  env.push_back(nullptr);
  ::setpgid(0, 0);
  if (interactive) ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
  for (const int signal :
       {SIGTTOU, SIGTTIN, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM, SIGWINCH})
    ::signal(signal, SIG_DFL);
  ::execvpe(argv[0], argv.data(), env.data());
  context.error("_fork_command: Unable to find command \"{}\"", command.front());
  ::_exit(1);
}

// A process that ends when the job does. It has a connection of its own.
pid_t watch_job(Context& context, JobId job) {
  const pid_t watcher = ::fork();
  if (watcher != 0) return watcher;
  for (const int signal : {SIGINT, SIGQUIT, SIGTSTP, SIGHUP}) ::signal(signal, SIG_IGN);
  ::signal(SIGTERM, SIG_DFL);
  for (;;) {
    auto controller = context.connect();
    const auto ended =
        controller ? (*controller)->wait_job(job, true) : Result<model::JobPtr>(std::unexpected(controller.error()));
    if (ended && model::is_final((*ended)->state)) ::_exit(0);
    if (!ended && ended.error().code == ErrorCode::InvalidJobId) ::_exit(0);
    if (::getppid() == 1) ::_exit(0);
    context.pause(seconds(1));
  }
}

struct Ended {
  int status = 0;
  bool revoked = false;
};

// Until the command ends. Signals from elsewhere than the terminal are passed on to it.
Ended attend(Context& context, const JobRequest& request, JobId job, pid_t command, pid_t watcher) {
  Ended out;
  for (;;) {
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, WUNTRACED);
    while (const auto signal = SignalWatch::take())
      if (*signal != SIGWINCH) ::kill(-command, *signal);
    if (child == watcher) {
      out.revoked = true;
      context.info("Job allocation {} has been revoked.", job.value);
      ::kill(-command, request.kill_signal.value_or(SIGHUP));
      ::kill(-command, SIGCONT);
    }
    if (child != command) continue;
    if (WIFSTOPPED(status)) {
      ::kill(::getpid(), SIGSTOP);  // as the command, until somebody lets us go on
      if (::isatty(STDIN_FILENO)) ::tcsetpgrp(STDIN_FILENO, command);
      ::kill(-command, SIGCONT);
      continue;
    }
    out.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return out;
  }
}

int run_in(Context& context, Controller& controller, const JobRequest& request, JobId job,
           std::vector<std::string> command) {
  const auto record = look_at_job(controller, job);
  const auto ticket = controller.step_ticket(job);
  if (!record || !ticket) {
    context.error("Job allocation {}: {}", job.value, words(record ? ticket.error() : record.error()));
    return 1;
  }
  const bool interactive = ::isatty(STDIN_FILENO) && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
  const pid_t terminal_group = interactive ? ::getpgrp() : 0;
  if (command.empty()) command = {shell_of_user(context)};
  const auto environment = allocation_environment(context, request, **record, *ticket);
  context.out.flush();
  ::signal(SIGTTOU, SIG_IGN);  // we take the terminal back when the command is gone
  const pid_t child = ::fork();
  if (child == 0) run_command(context, command, environment, interactive);
  if (child < 0) {
    context.error("fork: {}", std::system_category().message(errno));
    return 1;
  }
  ::setpgid(child, child);
  const pid_t watcher = watch_job(context, job);
  const Ended ended = attend(context, request, job, child, watcher);
  if (!ended.revoked && watcher > 0) {
    ::kill(watcher, SIGKILL);
    ::waitpid(watcher, nullptr, 0);
  }
  if (interactive) ::tcsetpgrp(STDIN_FILENO, terminal_group);
  return ended.status;
}

void ring(Context& context, const JobRequest& request, Duration waited) {
  if (request.bell == JobRequest::Bell::Never) return;
  if (request.bell == JobRequest::Bell::Always || (waited >= kBellDelay && ::isatty(STDOUT_FILENO))) {
    context.out.write("\a");
    context.out.flush();
  }
}

int hold(Context& context, const JobRequest& request, const std::vector<std::string>& command) {
  const auto controller = context.controller();
  if (!controller) {
    context.error("Job submit/allocate failed: {}", words(controller.error()));
    return 1;
  }
  SignalWatch watch;
  const Time asked = context.now();
  const auto job = allocate(context, **controller, {request.spec});
  if (!job) return job.error();
  ring(context, request, context.now() - asked);
  context.info("Granted job allocation {}", job->value);
  if (request.no_shell) return 0;
  const int status = run_in(context, **controller, request, *job, command);
  context.info("Relinquishing job allocation {}", job->value);
  give_back(context, **controller, *job, status);
  return status;
}

OptionStatus settle(Context& context, JobRequest& request, const std::vector<std::string>& command) {
  request.finish();
  if (auto sound = reconcile(context, request); !sound) return sound;
  model::JobSpec& spec = request.spec;
  spec.kind = model::JobKind::Interactive;
  if (!request.name_given) spec.name = "interactive";
  if (spec.work_dir.empty()) spec.work_dir = request.directory;
  spec.command = command.empty() ? shell_of_user(context) : command.front();
  return capture_process(context, request);
}

}  // namespace

int cmd_salloc(Context& context) {
  const Table table = job_options_of(kSalloc);
  const std::vector<OptionRow> rows = rows_of<JobRequest>(table);
  JobRequest request;
  request.now = context.now();
  request.is_root = ::geteuid() == 0;
  request.directory = current_directory();
  auto line = parse_words(context, rows, context.arguments, Order::OptionsFirst, 255);
  if (!line) return line.error();
  if (const int status = apply_job_environment(context, kSalloc, request); status != 0) return status;
  request.begin_source();
  if (const int status = apply_options<JobRequest>(context, table, *line, request); status != 0) return status;
  if (request.version) return print_version(context);
  if (request.usage || request.help) {
    context.out.write(request.usage
                          ? std::string(kUsage)
                          : "Usage: salloc [OPTIONS(0)...] [ : [OPTIONS(N)]] [command(0) [args(0)...]]\n\n" +
                                help_text(rows));
    return 0;
  }
  if (std::ranges::find(line->rest, ":") != line->rest.end())
    return report_unsupported(context, "a heterogeneous allocation by salloc");
  context.quiet = request.quiet;
  context.verbosity = request.verbose;
  set_time_format(context.env("SLURM_TIME_FORMAT").value_or(""), request.now);
  if (auto done = settle(context, request, line->rest); !done) return report(context, done.error());
  return hold(context, request, line->rest);
}

}  // namespace spur::cli
