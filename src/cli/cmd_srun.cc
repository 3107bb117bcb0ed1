// SPDX-License-Identifier: Apache-2.0
// srun: runs a program as a step of the job around it (SLURM_JOB_ID or --jobid), or asks for an allocation first and
// gives it back at the end, whatever happens in between.
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "cli/commands.h"
#include "cli/display.h"
#include "cli/job_environment.h"
#include "cli/job_options.h"
#include "cli/srun_signals.h"
#include "cli/srun_step.h"
#include "cli/submit_errors.h"

namespace spur::cli {
namespace {

using Table = std::vector<Option<JobRequest>>;

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

// The job as it stands, or an error when it is gone.
Result<model::JobPtr> look(Controller& controller, JobId id) {
  wire::JobFilter filter;
  filter.jobs = {{id, std::nullopt}};
  filter.all_states = true;
  SPUR_ASSIGN(const auto table, controller.jobs(filter));
  if (table.jobs.empty()) return fail(ErrorCode::InvalidJobId);
  return table.jobs.front();
}

bool is_waiting(const model::Job& job) {
  return job.state == model::JobState::Pending;
}

bool partition_cannot(model::Reason reason) {
  using enum model::Reason;
  return reason == PartitionNodeLimit || reason == PartitionTimeLimit || reason == PartitionConfig ||
         reason == PartitionDown || reason == PartitionInactive;
}

// Until the job runs or is over. A job that starts at once says nothing; one that has to wait says so.
Result<model::JobPtr> wait_for_start(Context& context, Controller& controller, JobId id) {
  static constexpr std::array kGlances{0, 3, 6, 12, 25, 50, 100};  // milliseconds; most jobs start within the first
  model::JobPtr job;
  for (const int pause : kGlances) {
    std::this_thread::sleep_for(milliseconds(pause));
    SPUR_ASSIGN(job, look(controller, id));
    if (!is_waiting(*job)) return job;
    if (interrupted()) break;
  }
  if (partition_cannot(job->reason)) context.info("{}", slurm_message(ErrorCode::PartitionConfigUnavailable));
  context.info("job {} queued and waiting for resources", id.value);
  SPUR_ASSIGN(job, controller.wait_job(id, false));
  if (!is_waiting(*job) && !model::is_final(job->state))
    context.info("job {} has been allocated resources", id.value);
  return job;
}

// For what must be done before srun ends: a signal cuts a call short, and an impatient user sends several.
Status despite_signals(const std::function<Status()>& call) {
  constexpr int kTries = 10;
  Status done;
  for (int i = 0; i < kTries; ++i) {
    while (SignalWatch::take()) {
    }
    done = call();
    if (done || !interrupted()) break;
  }
  return done;
}

// Over already: cancelled, out of time, or by our own call whose answer was cut off.
bool is_gone(const Status& status) {
  return !status &&
         (status.error().code == ErrorCode::JobAlreadyDone || status.error().code == ErrorCode::InvalidJobId);
}

// The allocation to run in, or the exit status.
std::expected<JobId, int> allocate(Context& context, Controller& controller, JobRequest& request) {
  const auto id = controller.submit(request.spec, make_token());
  if (!id) return std::unexpected(report_refusal(context, "Unable to allocate resources", request.spec, id.error()));
  const auto job = wait_for_start(context, controller, *id);
  if (job && model::is_active((*job)->state)) return *id;
  if (!job || is_waiting(**job)) {
    // Interrupted, or out of touch: the job must not start later with nobody there.
    const bool asked_to = interrupted();
    const Status gone = despite_signals([&] { return controller.cancel({*id, std::nullopt}, 0, false, false); });
    if (!gone && !is_gone(gone)) context.error("{}", words(gone.error()));
    if (!job && !asked_to) context.error("Unable to allocate resources: {}", words(job.error()));
    context.info("Job allocation {} has been revoked", id->value);
    return std::unexpected(1);
  }
  if (request.spec.immediate_seconds > 0) {
    context.error("Unable to allocate resources: {}", slurm_message(ErrorCode::NodesBusy));
  } else {
    context.info("Job allocation {} has been revoked", id->value);
  }
  return std::unexpected(1);
}

model::ExitStatus exit_status(int status) {
  if (status > 128) return {0, static_cast<std::uint16_t>(status - 128)};
  return {static_cast<std::uint16_t>(status), 0};
}

int run_program(Context& context, JobRequest& request, const std::vector<std::string>& program) {
  const auto controller = context.controller();
  if (!controller) {
    context.error("Unable to allocate resources: {}", words(controller.error()));
    return 1;
  }
  if (request.test_only) return report_forecast(context, **controller, request.spec);
  SignalWatch watch;
  if (request.job_id) return run_step(context, **controller, request, program, *request.job_id);
  const auto job = allocate(context, **controller, request);
  if (!job) return job.error();
  const int status = run_step(context, **controller, request, program, *job);
  const Status given_back =
      despite_signals([&] { return (*controller)->complete_allocation(*job, exit_status(status)); });
  if (!given_back && !is_gone(given_back))
    context.error("Job allocation {} was not given back: {}", job->value, words(given_back.error()));
  return status;
}

OptionStatus settle(Context& context, JobRequest& request, const std::vector<std::string>& program) {
  model::JobSpec& spec = request.spec;
  request.finish();
  // Inside a job the numbers are about the step, and the job's nodes decide.
  if (auto sound = request.job_id ? settle_distribution(context, request) : reconcile(context, request); !sound)
    return sound;
  spec.kind = model::JobKind::Interactive;
  if (!request.name_given) spec.name = program.front().substr(program.front().rfind('/') + 1);
  if (spec.work_dir.empty()) spec.work_dir = request.directory;
  spec.command = program.front();
  spec.arguments.assign(program.begin() + 1, program.end());
  return capture_process(context, request);
}

}  // namespace

int cmd_srun(Context& context) {
  const Table table = job_options_of(kSrun);
  const std::vector<OptionRow> rows = rows_of<JobRequest>(table);
  const auto line = parse_words(context, rows, context.arguments, Order::OptionsFirst, 255);
  if (!line) return line.error();
  JobRequest request;
  request.now = context.now();
  request.is_root = ::geteuid() == 0;
  request.directory = current_directory();
  if (const int status = apply_job_environment(context, kSrun, request); status != 0) return status;
  if (request.job_id) request.name_given = false;  // SLURM_JOB_NAME is the job's, not the step's
  request.begin_source();
  if (const int status = apply_options<JobRequest>(context, table, *line, request); status != 0) return status;
  if (request.version) return print_version(context);
  if (request.usage || request.help) {
    context.out.write(request.usage ? std::string(kUsage)
                                    : "Usage: srun [OPTIONS...] executable [args...]\n\n" + help_text(rows));
    return 0;
  }
  if (line->rest.empty()) {
    context.fatal("No command given to execute.");
    return 1;
  }
  context.quiet = request.quiet;
  context.verbosity = request.verbose;
  set_time_format(context.env("SLURM_TIME_FORMAT").value_or(""), request.now);
  if (auto done = settle(context, request, line->rest); !done) return report(context, done.error());
  return run_program(context, request, line->rest);
}

}  // namespace spur::cli
