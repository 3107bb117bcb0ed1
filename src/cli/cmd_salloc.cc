// SPDX-License-Identifier: Apache-2.0
// salloc: asks for an allocation, runs a command or the user's shell in it, here, and gives it back at the end.
// Should the allocation end first, the command is told by a signal.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "cli/allocation.h"
#include "cli/commands.h"
#include "cli/container_options.h"
#include "cli/display.h"
#include "cli/het_components.h"
#include "cli/job_environment.h"
#include "cli/job_options.h"
#include "cli/name_service.h"
#include "cli/salloc_environment.h"
#include "cli/srun_signals.h"
#include "cli/submit_errors.h"
#include "cli/users.h"
#include "text/hostlist.h"
#include "text/repeat.h"
#include "wire/ticket_keeper.h"

namespace spur::cli {
namespace {

using OptionTable = std::vector<Option<JobRequest>>;

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

// The srun that came with us, or the first one in PATH.
std::string own_srun() {
  char self[4096];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  const std::string path(self, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const std::string beside = path.substr(0, path.rfind('/') + 1) + "srun";
  return ::access(beside.c_str(), X_OK) == 0 ? beside : "srun";
}

// What runs in the allocation where nothing is asked for.
std::vector<std::string> usual_command(Context& context) {
  const config::CommandDefaults site = context.defaults();
  if (!site.salloc_command.empty()) return {"/bin/sh", "-c", site.salloc_command};
  if (site.interactive_step)
    return {"/bin/sh", "-c", fmt::format("exec \"$0\" {}", site.interactive_options), own_srun()};
  return {shell_of_user(context)};
}

// --uid and --gid: whose command it is. A static program cannot look up the groups of a user; setpriv can.
std::vector<std::string> as_whom(const JobRequest& request, std::vector<std::string> command) {
  std::vector<std::string> words;
  if (request.run_as) {
    const std::string user = std::to_string(request.run_as->value);
    const auto entry = NameService().find(NameService::Database::Passwd, user, true);
    const std::string group = request.run_as_group     ? std::to_string(request.run_as_group->value)
                              : entry && entry->size() > 3 ? (*entry)[3]
                                                           : user;
    words = {"setpriv", "--reuid=" + user, "--regid=" + group, "--init-groups", "--"};
  } else if (request.run_as_group) {
    words = {"setpriv", "--regid=" + std::to_string(request.run_as_group->value), "--keep-groups", "--"};
  }
  command.insert(command.begin(), words.begin(), words.end());
  return command;
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

// A process of our own beside the command, which ends with us.
pid_t fork_aide() {
  const pid_t parent = ::getpid();
  const pid_t aide = ::fork();
  if (aide != 0) return aide;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  for (const int signal : {SIGINT, SIGQUIT, SIGTSTP, SIGHUP}) ::signal(signal, SIG_IGN);
  ::signal(SIGTERM, SIG_DFL);
  return 0;
}

void end_aide(pid_t aide) {
  if (aide <= 0) return;
  ::kill(aide, SIGKILL);
  ::waitpid(aide, nullptr, 0);
}

// Gives step tickets to the srun's of the command, so that not each of them asks the controller.
pid_t keep_tickets(Context& context, wire::TicketKeeper& keeper, JobId job) {
  const pid_t aide = fork_aide();
  if (aide != 0) return aide;
  keeper.serve(job, [&]() -> Result<wire::ControllerClient::StepTicket> {
    SPUR_ASSIGN(const auto controller, context.connect());
    return controller->step_ticket(job);
  });
}

// A process that ends when the job does. It has a connection of its own.
pid_t watch_job(Context& context, JobId job) {
  const pid_t watcher = fork_aide();
  if (watcher != 0) return watcher;
  for (;;) {
    auto controller = context.connect();
    const auto ended =
        controller ? (*controller)->wait_job(job, true, [&](const std::string& text) { context.info("{}", text); })
                   : Result<model::JobPtr>(std::unexpected(controller.error()));
    if (ended && model::is_final((*ended)->state)) ::_exit(0);
    if (!ended && ended.error().code == ErrorCode::InvalidJobId) ::_exit(0);
    context.pause(seconds(1));
  }
}

struct Ended {
  int status = 0;      // salloc's own
  int of_command = 0;  // 128 + signal where one ended it: the job's
  bool revoked = false;
};

// Slurm's: what a user does to his own command is no failure of it.
int status_by_signal(int signal) {
  const bool by_user = signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGKILL;
  return by_user ? 0 : 1;
}

// The allocation is gone. The command goes on unless -K says otherwise; a shell loses what it runs in the foreground.
void on_revoked(Context& context, const JobRequest& request, JobId job, pid_t command) {
  context.info("Job allocation {} has been revoked.", job.value);
  const pid_t foreground = ::isatty(STDIN_FILENO) ? ::tcgetpgrp(STDIN_FILENO) : -1;
  if (foreground > 0 && foreground != command && foreground != ::getpgrp()) ::kill(-foreground, SIGHUP);
  if (!request.kill_signal) return;
  ::kill(-command, *request.kill_signal);
  ::kill(-command, SIGCONT);
}

// Until the command ends. Signals from elsewhere than the terminal are passed on to it.
Ended attend(Context& context, const JobRequest& request, JobId job, pid_t command, pid_t watcher) {
  Ended out;
  for (;;) {
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, WUNTRACED);
    while (const auto signal = SignalWatch::take())
      if (*signal != SIGWINCH && *signal != SIGPIPE) ::kill(-command, *signal);
    if (child == watcher) {
      out.revoked = true;
      on_revoked(context, request, job, command);
    }
    if (child != command) continue;
    if (WIFSTOPPED(status)) {
      ::kill(::getpid(), SIGSTOP);  // as the command, until somebody lets us go on
      if (::isatty(STDIN_FILENO)) ::tcsetpgrp(STDIN_FILENO, command);
      ::kill(-command, SIGCONT);
      continue;
    }
    out.status = WIFSIGNALED(status) ? status_by_signal(WTERMSIG(status)) : WEXITSTATUS(status);
    out.of_command = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return out;
  }
}

// What the command is told, of all components.
Result<std::vector<std::string>> environment_of(Context& context, Controller& controller,
                                                const std::vector<JobRequest>& requests, JobId job) {
  std::vector<model::JobPtr> records;
  std::vector<HeldJob> held;
  std::string cluster;
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    wire::JobFilter filter;
    filter.jobs = {{.id = JobId(job.value + i), .tasks = {}}};
    filter.all_states = true;
    SPUR_ASSIGN(auto table, controller.jobs(filter));
    if (table.jobs.empty()) return fail(ErrorCode::InvalidJobId);
    SPUR_ASSIGN(auto ticket, controller.step_ticket(JobId(job.value + i)));
    cluster = table.cluster_name;
    records.push_back(table.jobs.front());
    held.push_back({requests[i], *records.back(), std::move(ticket)});
  }
  return allocation_environment(context, held, cluster);
}

Ended run_in(Context& context, Controller& controller, const std::vector<JobRequest>& requests, JobId job,
           std::vector<std::string> command) {
  auto environment = environment_of(context, controller, requests, job);
  if (!environment) {
    context.error("Job allocation {}: {}", job.value, words(environment.error()));
    return {.status = 1, .of_command = 1};
  }
  const bool interactive = ::isatty(STDIN_FILENO) && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
  const pid_t terminal_group = interactive ? ::getpgrp() : 0;
  if (command.empty()) command = usual_command(context);
  auto keeper = wire::TicketKeeper::open();
  if (keeper) environment->push_back("SPUR_TICKET_SOCKET=" + keeper->address());
  context.out.flush();
  ::signal(SIGTTOU, SIG_IGN);  // we take the terminal back when the command is gone
  const pid_t child = ::fork();
  if (child == 0) run_command(context, as_whom(requests.front(), command), *environment, interactive);
  if (child < 0) {
    context.error("fork: {}", std::system_category().message(errno));
    return {.status = 1, .of_command = 1};
  }
  ::setpgid(child, child);
  const pid_t tickets = keeper ? keep_tickets(context, *keeper, job) : -1;
  const pid_t watcher = watch_job(context, job);
  const Ended ended = attend(context, requests.front(), job, child, watcher);
  if (!ended.revoked) end_aide(watcher);
  end_aide(tickets);
  if (interactive) ::tcsetpgrp(STDIN_FILENO, terminal_group);
  return ended;
}

void ring(Context& context, const JobRequest& request, Duration waited) {
  if (request.bell == JobRequest::Bell::Never) return;
  if ((request.bell == JobRequest::Bell::Always || waited >= kBellDelay) && ::isatty(STDOUT_FILENO)) {
    context.out.write("\a");
    context.out.flush();
  }
}

int hold(Context& context, const std::vector<JobRequest>& requests, const std::vector<std::string>& command) {
  const JobRequest& first = requests.front();
  const auto controller = context.controller();
  if (!controller) {
    context.error("Job submit/allocate failed: {}", words(controller.error()));
    return 1;
  }
  if (!is_this_cluster(context, **controller, first.clusters)) return 1;
  if (first.reserved_ports > 0) {
    context.error("Job submit/allocate failed: {}", kNoPorts);
    return 1;
  }
  if (const std::string& there = first.spec.work_dir; there != first.directory && ::chdir(there.c_str()) != 0) {
    context.error("chdir({}): {}", there, std::system_category().message(errno));
    return 1;
  }
  std::vector<model::JobSpec> specs;
  for (const JobRequest& request : requests) specs.push_back(request.spec);
  SignalWatch watch;
  const Time asked = context.now();
  const auto job = allocate(context, **controller, specs);
  if (!job) return job.error();
  ring(context, first, context.now() - asked);
  context.info("Granted job allocation {}", job->value);
  if (first.no_shell) return 0;
  const Ended ended = run_in(context, **controller, requests, *job, command);
  if (ended.revoked) return ended.status;
  context.info("Relinquishing job allocation {}", job->value);
  give_back(context, **controller, *job, ended.of_command);
  return ended.status;
}

OptionStatus settle(Context& context, JobRequest& request, const std::vector<std::string>& command) {
  request.finish();
  if (auto sound = check_x11(context, request, "Job submit/allocate failed"); !sound) return sound;
  if (auto sound = reconcile(context, request); !sound) return sound;
  settle_tasks_by_shape(request);
  model::JobSpec& spec = request.spec;
  spec.kind = model::JobKind::Interactive;
  if (!request.name_given) spec.name = "interactive";  // whatever runs in it
  if (spec.work_dir.empty()) spec.work_dir = request.directory;
  spec.command = command.empty() ? shell_of_user(context) : command.front();
  return capture_process(context, request);
}

}  // namespace

int cmd_salloc(Context& context) {
  const OptionTable table = job_options_of(kSalloc);
  const std::vector<OptionRow> rows = rows_of<JobRequest>(table);
  JobRequest request;
  request.now = context.now();
  request.is_root = ::geteuid() == 0;
  request.directory = current_directory();
  auto lines = parse_components(context, rows, context.arguments, 255);
  if (!lines) return lines.error();
  if (const int status = apply_job_environment(context, kSalloc, request); status != 0) return status;
  std::vector<JobRequest> requests;
  for (const ParsedLine& line : *lines) {
    if (!requests.empty()) begin_component(request);
    request.begin_source();
    if (const int status = apply_options<JobRequest>(context, table, line, request); status != 0) return status;
    requests.push_back(request);
  }
  if (request.version) return print_version(context);
  if (request.usage || request.help) {
    context.out.write(request.usage
                          ? std::string(kUsage)
                          : "Usage: salloc [OPTIONS(0)...] [ : [OPTIONS(N)]] [command(0) [args(0)...]]\n\n" +
                                help_text(rows));
    return 0;
  }
  if (request.gres_help) return print_gres_help(context);
  const std::vector<std::string>& command = lines->back().rest;
  context.quiet = request.quiet;
  context.verbosity = request.verbose;
  set_time_format(context.env("SLURM_TIME_FORMAT").value_or(""), request.now);
  for (JobRequest& one : requests)
    if (auto done = settle(context, one, command); !done) return report(context, done.error());
  return hold(context, requests, command);
}

}  // namespace spur::cli
