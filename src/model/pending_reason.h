// SPDX-License-Identifier: Apache-2.0
// Why a job waits, or why it ended: one value, set by the one evaluation that decided. Spelled as Slurm spells it.
#pragma once

#include <cstdint>
#include <string_view>

namespace spur::model {

enum class Reason : std::uint16_t {
  None, Priority, Dependency, Resources, PartitionNodeLimit, PartitionTimeLimit, PartitionDown, PartitionInactive,
  JobHeldAdmin, JobHeldUser, BeginTime, Licenses, ReqNodeNotAvail, ReservationDeleted, Reservation, BadConstraints,
  DependencyNeverSatisfied, JobArrayTaskLimit, NodeDown, PartitionConfig, JobLaunchFailure, JobHoldMaxRequeue,
  NonZeroExitCode, TimeLimit, SystemFailure, OutOfMemory, InvalidAccount, InvalidQos, LaunchFailedRequeuedHeld,
  RaisedSignal, DeadLine, Cleaning, Prolog, RequeuedInQueue, AccountNotAllowed, QosNotAllowed, Preempted,
};

std::string_view reason_name(Reason reason);  // "JobHeldUser"; never with a blank in it
bool parse_reason(std::string_view text, Reason* out);

}  // namespace spur::model
