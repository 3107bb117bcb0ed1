// SPDX-License-Identifier: Apache-2.0
#include "cli/reason_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/display.h"

namespace spur::cli {
namespace {

using model::Reason;

struct Row {
  Reason reason;
  const char* words;
};
constexpr Row kWords[] = {
    {Reason::None, "has not been looked at yet"},
    {Reason::Priority, "others come first"},
    {Reason::Dependency, "waits for other jobs"},
    {Reason::Resources, "waits for free resources"},
    {Reason::PartitionNodeLimit, "asks for a number of nodes that the partition does not allow"},
    {Reason::PartitionTimeLimit, "asks for more time than the partition allows"},
    {Reason::PartitionDown, "the partition is down"},
    {Reason::PartitionInactive, "the partition takes no jobs"},
    {Reason::JobHeldAdmin, "held by an administrator"},
    {Reason::JobHeldUser, "held by its user"},
    {Reason::BeginTime, "its begin time has not come"},
    {Reason::Licenses, "waits for licenses"},
    {Reason::ReqNodeNotAvail, "a node that it needs is not available"},
    {Reason::ReservationDeleted, "its reservation was deleted"},
    {Reason::Reservation, "waits for its reservation"},
    {Reason::BadConstraints, "no node fits its constraints"},
    {Reason::DependencyNeverSatisfied, "a job that it depends on did not end as it had to: it never starts"},
    {Reason::JobArrayTaskLimit, "as many tasks of the array run as it allows"},
    {Reason::NodeDown, "a node went down"},
    {Reason::PartitionConfig, "the partition cannot give what it asks for"},
    {Reason::JobLaunchFailure, "it could not be launched"},
    {Reason::JobHoldMaxRequeue, "held: requeued too often"},
    {Reason::NonZeroExitCode, "it ended with an error"},
    {Reason::TimeLimit, "its time was over"},
    {Reason::SystemFailure, "the system failed"},
    {Reason::OutOfMemory, "it ran out of memory"},
    {Reason::InvalidAccount, "its account does not exist any more"},
    {Reason::InvalidQos, "its QOS does not exist any more"},
    {Reason::LaunchFailedRequeuedHeld, "held: it could not be launched"},
    {Reason::RaisedSignal, "a signal ended it"},
    {Reason::DeadLine, "it missed its deadline"},
    {Reason::Cleaning, "its last run is still being cleaned up"},
    {Reason::Prolog, "its prolog runs"},
    {Reason::RequeuedInQueue, "back in the queue"},
    {Reason::AccountNotAllowed, "its account may not use the partition"},
    {Reason::QosNotAllowed, "its QOS may not be used there"},
    {Reason::Preempted, "it made room for another job"},
    {Reason::AccountingPolicy, "a limit of accounting keeps it"},
    {Reason::AssocGrpJobs, "as many jobs of the account run as it may have"},
    {Reason::AssocGrpSubmit, "as many jobs of the account are queued as it may have"},
    {Reason::AssocGrpWall, "the account has used up its wall time"},
    {Reason::AssocMaxJobs, "as many jobs of the user run as the account allows"},
    {Reason::AssocMaxSubmit, "as many jobs of the user are queued as the account allows"},
    {Reason::AssocMaxWall, "asks for more time than the account allows"},
    {Reason::QosGrpJobs, "as many jobs of the QOS run as it may have"},
    {Reason::QosGrpSubmit, "as many jobs of the QOS are queued as it may have"},
    {Reason::QosGrpWall, "the QOS has used up its wall time"},
    {Reason::QosMaxJobsPerUser, "as many jobs of the user run as the QOS allows"},
    {Reason::QosMaxSubmitPerUser, "as many jobs of the user are queued as the QOS allows"},
    {Reason::QosMaxWall, "asks for more time than the QOS allows"},
    {Reason::QosMaxJobsPerAccount, "as many jobs of the account run as the QOS allows"},
    {Reason::QosMaxSubmitPerAccount, "as many jobs of the account are queued as the QOS allows"},
    {Reason::QosUsageThreshold, "too much used lately for this QOS"},
    {Reason::QosJobLimit, "a limit of the QOS keeps it"},
    {Reason::AssocJobLimit, "a limit of the account keeps it"},
    {Reason::InactiveLimit, "whoever held the allocation is gone"},
};

// "{}" is the resource. In the order of model::LimitOn.
constexpr std::array kLimits{
    "the account has as {} in use as it may have",
    "the account has used up its minutes of {}",
    "running jobs of the account may still use all its minutes of {}",
    "asks for more {} than the account allows a job",
    "asks for more {} on a node than the account allows",
    "asks for more minutes of {} than the account allows a job",
    "the QOS has as {} in use as it may have",
    "the QOS has used up its minutes of {}",
    "running jobs of the QOS may still use all its minutes of {}",
    "asks for more {} than the QOS allows a job",
    "asks for more {} on a node than the QOS allows",
    "the user has as {} in use as the QOS allows",
    "the account has as {} in use as the QOS allows",
    "asks for more minutes of {} than the QOS allows a job",
    "asks for less {} than the QOS wants",
};
// In the order of model::TresKind.
constexpr std::array kResources{"CPUs",     "memory",        "nodes",   "energy",      "GPUs or other devices",
                                "licenses", "burst buffer", "billing", "what is counted"};
constexpr std::size_t kKinds = kResources.size();

}  // namespace

std::string reason_words(Reason reason) {
  if (reason >= Reason::FirstTresLimit && reason <= Reason::LastTresLimit) {
    const auto number = static_cast<std::size_t>(reason) - static_cast<std::size_t>(Reason::FirstTresLimit);
    const std::string_view limit = kLimits[number / kKinds], resource = kResources[number % kKinds];
    std::string out(limit);
    const std::size_t at = out.find("{}");
    const bool as_many = limit.find("as {} in") != std::string_view::npos;
    const bool plural = resource.ends_with('s');
    return out.replace(at, 2, as_many ? fmt::format("{} {}", plural ? "many" : "much", resource) : resource);
  }
  const auto row = std::ranges::find(kWords, reason, &Row::reason);
  return row == std::end(kWords) ? std::string() : row->words;
}

std::string from_now(Time at, Time now) {
  const auto span = std::chrono::ceil<seconds>(at - now).count();
  if (span <= 0) return "now";
  if (span < 60) return fmt::format("in {} s", span);
  if (span < 2 * 3600) return fmt::format("in {} min", (span + 59) / 60);
  if (span < 2 * 86400) return fmt::format("in {} h", (span + 3599) / 3600);
  return fmt::format("in {} days", (span + 86399) / 86400);
}

std::string why_words(const model::Job& job, Time expected_start, Time now) {
  if (job.state == model::JobState::Completed || model::is_active(job.state)) return {};
  if (job.state != model::JobState::Pending && job.reason == Reason::None) return {};
  std::string words = reason_words(job.reason);
  if (!job.reason_detail.empty()) words += fmt::format(" ({})", job.reason_detail);
  if (job.state != model::JobState::Pending) return words;
  const Time start = shown_start(job, expected_start);
  if (is_set(start)) words += ", starts " + from_now(start, now);
  return words;
}

}  // namespace spur::cli
