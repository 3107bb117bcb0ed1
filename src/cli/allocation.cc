// SPDX-License-Identifier: Apache-2.0
#include "cli/allocation.h"

#include <array>
#include <functional>
#include <thread>

#include "cli/display.h"
#include "cli/job_environment.h"
#include "cli/srun_signals.h"
#include "cli/submit_errors.h"
#include "text/decimal.h"

namespace spur::cli {
namespace {

bool is_waiting(const model::Job& job) {
  return job.state == model::JobState::Pending;
}

bool partition_cannot(model::Reason reason) {
  using enum model::Reason;
  return reason == PartitionNodeLimit || reason == PartitionTimeLimit || reason == PartitionConfig ||
         reason == PartitionDown || reason == PartitionInactive;
}

bool is_salloc(const Context& context) {
  return context.program == "salloc";
}

// 1, or what the user wants to see instead.
int error_status(const Context& context, const char* variable) {
  const auto wanted = context.env(variable);
  return wanted ? static_cast<int>(text::parse_decimal32(*wanted).value_or(1)) : 1;
}

// Until the job runs or is over.
Result<model::JobPtr> wait_for_start(Context& context, Controller& controller, JobId id, bool immediate) {
  if (immediate) return controller.wait_job(id, false);
  static constexpr std::array kGlances{0, 1,  1,  2,  3,
                                       6, 12, 25, 50, 100};  // milliseconds; most jobs start within the first
  model::JobPtr job;
  for (const int pause : kGlances) {
    std::this_thread::sleep_for(milliseconds(pause));
    SPUR_ASSIGN(job, look_at_job(controller, id));
    if (!is_waiting(*job)) return job;
    if (interrupted()) break;
  }
  if (partition_cannot(job->reason)) context.info("{}", slurm_message(ErrorCode::PartitionConfigUnavailable));
  if (is_salloc(context)) context.info("Pending job allocation {}", id.value);
  context.info("job {} queued and waiting for resources", id.value);
  const auto show = [&](const std::string& text) { context.info("{}", text); };
  SPUR_ASSIGN(job, controller.wait_job(id, false, show));
  if (!is_waiting(*job) && !model::is_final(job->state))
    context.info("job {} has been allocated resources", id.value);
  return job;
}

// For what must be done before the command ends: a signal cuts a call short, and an impatient user sends several.
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

model::ExitStatus exit_status(int status) {
  if (status > 128) return {0, static_cast<std::uint16_t>(status - 128)};
  return {static_cast<std::uint16_t>(status), 0};
}

}  // namespace

Result<model::JobPtr> look_at_job(Controller& controller, JobId id) {
  wire::JobFilter filter;
  filter.jobs = {{id, std::nullopt}};
  filter.all_states = true;
  SPUR_ASSIGN(const auto table, controller.jobs(filter));
  if (table.jobs.empty()) return fail(ErrorCode::InvalidJobId);
  return table.jobs.front();
}

std::expected<JobId, int> allocate(Context& context, Controller& controller,
                                   const std::vector<model::JobSpec>& specs) {
  const std::string_view failed = is_salloc(context) ? "Job submit/allocate failed" : "Unable to allocate resources";
  const auto id = controller.submit(specs, make_token());
  if (!id) {
    report_refusal(context, failed, specs, id.error());
    return std::unexpected(error_status(context, "SLURM_EXIT_ERROR"));
  }
  const auto job = wait_for_start(context, controller, *id, specs.front().immediate_seconds > 0);
  if (job && model::is_active((*job)->state)) return *id;
  const std::string_view stop = is_salloc(context) ? "." : "";
  if (!job || is_waiting(**job)) {
    // Interrupted, or out of touch: the job must not start later with nobody there.
    const bool asked_to = interrupted();
    const Status gone = despite_signals([&] { return controller.cancel({*id, std::nullopt}, 0, false, false); });
    if (!gone && !is_gone(gone)) context.error("{}", words(gone.error()));
    if (!job && !asked_to) context.error("{}: {}", failed, words(job.error()));
    context.info("Job allocation {} has been revoked{}", id->value, stop);
    if (is_salloc(context) && asked_to) context.info("Job aborted due to signal");
    return std::unexpected(1);
  }
  if (specs.front().immediate_seconds > 0) {
    context.error("Unable to allocate resources: {}", slurm_message(ErrorCode::NodesBusy));
    return std::unexpected(error_status(context, "SLURM_EXIT_IMMEDIATE"));
  } else {
    context.info("Job allocation {} has been revoked{}", id->value, stop);
  }
  return std::unexpected(1);
}

void give_back(Context& context, Controller& controller, JobId job, int status) {
  const Status given_back = despite_signals([&] { return controller.complete_allocation(job, exit_status(status)); });
  if (!given_back && !is_gone(given_back))
    context.error("Job allocation {} was not given back: {}", job.value, words(given_back.error()));
}

}  // namespace spur::cli
