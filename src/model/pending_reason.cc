// SPDX-License-Identifier: Apache-2.0
// One row per Reason, in the enum's order, spelled as squeue prints it in %r.
#include "model/pending_reason.h"

#include <array>

#include "text/words.h"

namespace spur::model {
namespace {

constexpr std::array<std::string_view, 37> kNames{
    "None",
    "Priority",
    "Dependency",
    "Resources",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "PartitionDown",
    "PartitionInactive",
    "JobHeldAdmin",
    "JobHeldUser",
    "BeginTime",
    "Licenses",
    "ReqNodeNotAvail",
    "ReservationDeleted",
    "Reservation",
    "BadConstraints",
    "DependencyNeverSatisfied",
    "JobArrayTaskLimit",
    "NodeDown",
    "PartitionConfig",
    "JobLaunchFailure",
    "JobHoldMaxRequeue",
    "NonZeroExitCode",
    "TimeLimit",
    "SystemFailure",
    "OutOfMemory",
    "InvalidAccount",
    "InvalidQOS",
    "launch_failed_requeued_held",
    "RaisedSignal",
    "DeadLine",
    "Cleaning",
    "Prolog",
    "RequeuedInQueue",
    "AccountNotAllowed",
    "QOSNotAllowed",
    "Preempted",
};
static_assert(kNames.size() == static_cast<std::size_t>(Reason::Preempted) + 1);

}  // namespace

std::string_view reason_name(Reason reason) {
  const auto at = static_cast<std::size_t>(reason);
  return at < kNames.size() ? kNames[at] : kNames[0];
}

bool parse_reason(std::string_view word, Reason* out) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (!text::equal_ignoring_case(word, kNames[i])) continue;
    *out = static_cast<Reason>(i);
    return true;
  }
  return false;
}

}  // namespace spur::model
