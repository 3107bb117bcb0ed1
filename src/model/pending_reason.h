// SPDX-License-Identifier: Apache-2.0
// Why a job waits, or why it ended: one value, set by the one evaluation that decided. Spelled as Slurm spells it.
#pragma once

#include <cstdint>
#include <string_view>

namespace spur::model {

enum class Reason : std::uint16_t {
  None,
  Priority,
  Dependency,
  Resources,
  PartitionNodeLimit,
  PartitionTimeLimit,
  PartitionDown,
  PartitionInactive,
  JobHeldAdmin,
  JobHeldUser,
  BeginTime,
  Licenses,
  ReqNodeNotAvail,
  ReservationDeleted,
  Reservation,
  BadConstraints,
  DependencyNeverSatisfied,
  JobArrayTaskLimit,
  NodeDown,
  PartitionConfig,
  JobLaunchFailure,
  JobHoldMaxRequeue,
  NonZeroExitCode,
  TimeLimit,
  SystemFailure,
  OutOfMemory,
  InvalidAccount,
  InvalidQos,
  LaunchFailedRequeuedHeld,
  RaisedSignal,
  DeadLine,
  Cleaning,
  Prolog,
  RequeuedInQueue,
  AccountNotAllowed,
  QosNotAllowed,
  Preempted,
  // Limits of accounts and QOS.
  AccountingPolicy,
  AssocGrpJobs,
  AssocGrpSubmit,
  AssocGrpWall,
  AssocMaxJobs,
  AssocMaxSubmit,
  AssocMaxWall,
  QosGrpJobs,
  QosGrpSubmit,
  QosGrpWall,
  QosMaxJobsPerUser,
  QosMaxSubmitPerUser,
  QosMaxWall,
  QosMaxJobsPerAccount,
  QosMaxSubmitPerAccount,
  QosUsageThreshold,
  QosJobLimit,
  AssocJobLimit,
  InactiveLimit,  // whoever held the allocation is gone
  // Those on amounts of resources: LimitOn by TresKind, see tres_reason().
  FirstTresLimit = 64,
  LastTresLimit = FirstTresLimit + 15 * 9 - 1,
};

// What a limit is on, and of which resource; together they are one Reason.
enum class LimitOn : std::uint8_t {
  AssocGrp,
  AssocGrpMinutes,
  AssocGrpRunMinutes,
  AssocMaxPerJob,
  AssocMaxPerNode,
  AssocMaxMinutesPerJob,
  QosGrp,
  QosGrpMinutes,
  QosGrpRunMinutes,
  QosMaxPerJob,
  QosMaxPerNode,
  QosMaxPerUser,
  QosMaxPerAccount,
  QosMaxMinutesPerJob,
  QosMin,
};
enum class TresKind : std::uint8_t { Cpu, Memory, Node, Energy, Gres, License, BurstBuffer, Billing, Other };
constexpr Reason tres_reason(LimitOn limit, TresKind kind) {
  return static_cast<Reason>(static_cast<int>(Reason::FirstTresLimit) + static_cast<int>(limit) * 9 +
                             static_cast<int>(kind));
}
TresKind tres_kind(std::string_view tres);  // of "gres/gpu:a100"

std::string_view reason_name(Reason reason);  // "JobHeldUser"; never with a blank in it
bool parse_reason(std::string_view text, Reason* out);

}  // namespace spur::model
