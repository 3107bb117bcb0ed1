// SPDX-License-Identifier: Apache-2.0
// srun: runs a program as a step of the job around it (SLURM_JOB_ID or --jobid), or asks for an allocation first and
// gives it back at the end, whatever happens in between.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>
#include <utility>

#include "cli/allocation.h"
#include "cli/commands.h"
#include "cli/container_options.h"
#include "cli/display.h"
#include "cli/het_components.h"
#include "cli/job_environment.h"
#include "cli/job_options.h"
#include "cli/srun_signals.h"
#include "cli/srun_step.h"
#include "cli/submit_errors.h"

namespace spur::cli {
namespace {

using OptionTable = std::vector<Option<JobRequest>>;

constexpr std::string_view kUsage =
    "Usage: srun [-N nnodes] [-n ntasks] [-i in] [-o out] [-e err]\n"
    "            [-c ncpus] [-p partition] [--hold] [-t minutes]\n"
    "            [-D path] [--immediate[=secs]] [--overcommit]\n"
    "            [--label] [--unbuffered] [-J jobname] [--jobid=id]\n"
    "            [--verbose] [--kill-on-bad-exit] [--overlap]\n"
    "            [--mem=MB] [--mem-per-cpu=MB] [--tmp=MB] [-C list]\n"
    "            [--account=name] [--dependency=type:jobid[+time]] [--comment=name]\n"
    "            [--nodelist=hosts] [--exclude=hosts] [--qos=qos] [--gres=list]\n"
    "            [--reservation=name] [--export=env_vars|NONE]\n"
    "            executable [args...]\n";

// A component: its options and the program that runs in it.
struct Component {
  JobRequest request;
  std::vector<std::string> program;
  JobRequest bare = {};  // without the sizes in the environment: they are those of the job's first component
};

std::vector<model::JobSpec> specs_of(const std::vector<Component>& components) {
  std::vector<model::JobSpec> specs;
  for (const Component& component : components) specs.push_back(component.request.spec);
  return specs;
}

// The steps in a job that is there already: of a heterogeneous one, in the components that --het-group names; without
// it the first program runs in the first component, and so on.
std::expected<std::vector<StepOrder>, int> orders_in(Context& context, Controller& controller,
                                                     const std::vector<Component>& components, JobId job) {
  std::vector<StepOrder> orders;
  const bool plain = components.size() == 1 && !components.front().request.het_groups;
  if (plain) return std::vector{StepOrder{&components.front().request, components.front().program, job}};
  const auto record = look_at_job(controller, job);
  if (!record) {
    context.error("Unable to confirm allocation for job {}: {}", job.value, words(record.error()));
    return std::unexpected(1);
  }
  const std::uint32_t size = (*record)->het_job == job ? (*record)->het_size : 1;
  if (size == 1 && components.size() > 1)
    return std::unexpected(report_unsupported(context, "a heterogeneous step of a job that is not"));
  for (std::uint32_t i = 0; i < components.size(); ++i) {
    IndexSet groups;
    groups.insert(i);
    if (components[i].request.het_groups) groups = *components[i].request.het_groups;
    if (*groups.highest() >= size) {
      context.error("Requested het-group offset exceeds highest hetjob index ({} > {})", *groups.highest(), size - 1);
      return std::unexpected(1);
    }
    for (auto group = groups.lowest(); group; group = groups.next_after(*group)) {
      const JobRequest& request = *group == 0 ? components[i].request : components[i].bare;
      orders.push_back({&request, components[i].program, JobId{job.value + *group}});
    }
  }
  return orders;
}

// What the site has chosen for those who choose nothing.
void take_defaults(JobRequest& request, const config::CommandDefaults& defaults, bool with_mpi) {
  const auto text = [](std::optional<std::string>& own, const std::string& usual) {
    if (!own && !usual.empty()) own = usual;
  };
  text(request.prolog, defaults.srun_prolog);
  text(request.epilog, defaults.srun_epilog);
  text(request.cpu_bind, defaults.task_binding);
  text(request.bcast_exclude, defaults.broadcast_exclude);
  request.bcast_directory = defaults.broadcast_directory;
  if (!request.send_libs) request.send_libs = defaults.broadcast_libraries;
  if (!request.bcast_compress) request.bcast_compress = defaults.broadcast_compressed;
  if (!request.kill_on_bad_exit && defaults.kill_on_bad_exit) request.kill_on_bad_exit = true;
  if (!request.wait_seconds) request.wait_seconds = defaults.wait_seconds;
  if (!request.spec.open_truncate && defaults.append_output) request.spec.open_append = true;
  if (!with_mpi || request.mpi_given || defaults.mpi.empty() || defaults.mpi == "none") return;
  request.mpi = defaults.mpi == "pmix_v4" ? "pmix" : defaults.mpi;
}

int run_programs(Context& context, std::vector<Component>& components) {
  const auto controller = context.controller();
  if (!controller) {
    context.error("Unable to allocate resources: {}", words(controller.error()));
    return 1;
  }
  if (!is_this_cluster(context, **controller, components.front().request.clusters)) return 1;
  for (Component& component : components) {
    // Steps that run as one have no MPI yet; they must not fail for a wish that nobody had.
    const bool alone = components.size() == 1 && !component.request.het_groups;
    take_defaults(component.request, (*controller)->defaults(), alone);
    take_defaults(component.bare, (*controller)->defaults(), false);
  }
  const JobRequest& request = components.front().request;
  if (request.test_only) return report_forecast(context, **controller, specs_of(components));
  SignalWatch watch;
  if (request.job_id) {
    const auto orders = orders_in(context, **controller, components, *request.job_id);
    return orders ? run_steps(context, **controller, *orders, *request.job_id) : orders.error();
  }
  const auto job = allocate(context, **controller, specs_of(components));
  if (!job) return job.error();
  std::vector<StepOrder> orders;
  for (std::uint32_t i = 0; i < components.size(); ++i)
    orders.push_back({&components[i].request, components[i].program, JobId{job->value + i}});
  const int status = run_steps(context, **controller, orders, *job);
  give_back(context, **controller, *job, status);
  return status;
}

OptionStatus settle(Context& context, JobRequest& request, const std::vector<std::string>& program) {
  model::JobSpec& spec = request.spec;
  request.finish();
  if (auto sound = check_x11(context, request, "Unable to allocate resources"); !sound) return sound;
  // Inside a job the numbers are about the step, and the job's nodes decide.
  if (auto sound = request.job_id ? settle_distribution(context, request) : reconcile(context, request); !sound)
    return sound;
  if (auto sound = settle_container(request); !sound) return sound;
  spec.kind = model::JobKind::Interactive;
  if (!request.name_given) spec.name = program.front().substr(program.front().rfind('/') + 1);
  if (spec.work_dir.empty()) spec.work_dir = request.directory;
  spec.command = program.front();
  spec.arguments.assign(program.begin() + 1, program.end());
  return capture_process(context, request);
}

// "-n1 a : -n2 b": each program with the options before it. One without a program runs the last one's.
std::expected<std::vector<Component>, int> read_components(Context& context, const OptionTable& table,
                                                           const std::vector<OptionRow>& rows) {
  std::vector<Component> components;
  std::vector<std::string> words = context.arguments;
  JobRequest request;
  request.now = context.now();
  request.is_root = ::geteuid() == 0;
  request.directory = current_directory();
  for (bool more = true; more;) {
    auto line = parse_words(context, rows, words, Order::OptionsFirst, 255);
    if (!line) return std::unexpected(line.error());
    if (!components.empty()) begin_component(request);
    if (const int status = apply_job_environment(context, kSrun, request); status != 0)
      return std::unexpected(status);
    if (request.job_id && components.empty())
      request.name_given = false;  // the variable is the job's, not the step's
    const bool by_variable = std::exchange(request.nodes_given, false);
    request.begin_source();
    if (const int status = apply_options<JobRequest>(context, table, *line, request); status != 0)
      return std::unexpected(status);
    request.nodes_of_environment = by_variable && !request.nodes_given;
    request.nodes_given |= by_variable;
    const auto end = std::ranges::find(line->rest, ":");
    more = end != line->rest.end();
    JobRequest bare = request;
    begin_component(bare);
    if (const int status = apply_options<JobRequest>(context, table, *line, bare); status != 0)
      return std::unexpected(status);
    components.push_back({request, {line->rest.begin(), end}, std::move(bare)});
    words.assign(more ? end + 1 : end, line->rest.end());
  }
  for (Component& component : components)
    if (component.program.empty()) component.program = components.back().program;
  return components;
}

}  // namespace

int cmd_srun(Context& context) {
  const OptionTable table = job_options_of(kSrun);
  const std::vector<OptionRow> rows = rows_of<JobRequest>(table);
  auto components = read_components(context, table, rows);
  if (!components) return components.error();
  const JobRequest& last = components->back().request;
  if (last.version) return print_version(context);
  if (last.usage || last.help) {
    context.out.write(last.usage ? std::string(kUsage)
                                 : "Usage: srun [OPTIONS...] executable [args...]\n\n" + help_text(rows));
    return 0;
  }
  if (last.mpi == "list") {
    context.out.write(
        "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4\n");
    return 0;
  }
  if (last.gres_help) return print_gres_help(context);
  if (components->back().program.empty()) {
    context.fatal("No command given to execute.");
    return 1;
  }
  context.quiet = last.quiet;
  context.verbosity = last.verbose;
  set_time_format(context.env("SLURM_TIME_FORMAT").value_or(""), last.now);
  for (Component& component : *components) {
    if (auto done = settle(context, component.request, component.program); !done)
      return report(context, done.error());
    if (components->size() == 1 && !component.request.het_groups) break;
    if (auto done = settle(context, component.bare, component.program); !done) return report(context, done.error());
  }
  return run_programs(context, *components);
}

}  // namespace spur::cli
