// SPDX-License-Identifier: Apache-2.0
// The one list of errors. error_code.cc holds the table that turns each into Slurm's errno and Slurm's wording;
// commands print the wording, the wire carries the number. Add a row there when you add a code here.
#pragma once

#include <cstdint>
#include <string_view>

namespace spur {

enum class ErrorCode : std::uint16_t {
  Internal,          // a bug on our side, or an error nobody named
  InvalidArgument,   // a value that does not parse; the message says which
  NotSupported,      // exists in Slurm, not here yet
  NotFound,          // file or object without a better code
  PermissionDenied,  // ESLURM_ACCESS_DENIED: "Access/permission denied"
  InvalidUser,       // ESLURM_USER_ID_MISSING: "Invalid user id"
  Unauthenticated,   // SLURM_PROTOCOL_AUTHENTICATION_ERROR: no or bad credential
  Unreachable,       // controller or agent does not answer
  TimedOut,
  Busy,  // try again (queue full, not leader)
  NotLeader,
  OutOfSpace,       // disk full
  Corrupt,          // damaged file or message
  VersionMismatch,  // state or peer of another version
  AlreadyExists,

  InvalidJobId,
  JobAlreadyDone,  // ESLURM_ALREADY_DONE
  JobPending,      // ESLURM_JOB_PENDING
  JobNotPending,   // ESLURM_JOB_NOT_PENDING
  JobNotRunning,   // ESLURM_JOB_NOT_RUNNING
  JobNotPendingNorRunning,
  JobSuspended,
  RequestDisabled,       // ESLURM_DISABLED
  TransitionNotAllowed,  // ESLURM_TRANSITION_STATE_NO_UPDATE
  JobScriptMissing,
  JobScriptTooLarge,
  InvalidPartition,
  DefaultPartitionMissing,
  PartitionUnavailable,  // ESLURM_PARTITION_NOT_AVAIL
  PartitionDown,
  PartitionGroupDenied,  // ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP
  PartitionUserDenied,
  InvalidNode,  // ESLURM_INVALID_NODE_NAME
  InvalidNodeState,
  InvalidNodeCount,
  TooManyTasks,           // ESLURM_BAD_TASK_COUNT
  NodeConfigUnavailable,  // ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE
  PartitionConfigUnavailable,
  NodesBusy,  // ESLURM_NODES_BUSY
  InvalidTimeLimit,
  InvalidFeature,
  InvalidGres,
  InvalidLicense,
  InvalidArray,
  InvalidDependency,
  CircularDependency,
  InvalidReservation,
  InvalidQos,
  InvalidAccount,
  InvalidNice,
  InvalidMemory,
  TooManyJobs,    // MaxJobCount reached
  ResourceLimit,  // submission rate or size
  StaleEpoch,     // message about an older run of the job
  StepTooLarge,   // ESLURM_TOO_MANY_REQUESTED_CPUS in a step
  ConfigInvalid,

  ReservationDenied,  // ESLURM_RESERVATION_ACCESS
  InvalidTime,        // ESLURM_INVALID_TIME_VALUE
  ReservationBusy,
  ReservationNotUsable,
  ReservationOverlap,
  ReservationEmpty,      // for nobody
  ReservationNameTaken,  // ESLURM_RESERVATION_NAME_DUP
  ReservationStarted,    // ESLURM_RSV_ALREADY_STARTED
  CoreReservationUpdate,
  ReservationUserGroup,  // users and groups at once
  InvalidTres,
  PartitionInUse,
  NotHetJobLeader,  // ESLURM_NOT_HET_JOB_LEADER
  NotWholeHetJob,   // ESLURM_NOT_WHOLE_HET_JOB
  JobFinished,      // ESLURM_JOB_FINISHED: what is gone cannot be changed
  JobHeld,          // ESLURM_JOB_HELD
  JobNotSuspended,
  InvalidTimeMin,         // ESLURM_INVALID_TIME_MIN_LIMIT
  ActiveFeaturesUnknown,  // ESLURM_ACTIVE_FEATURE_NOT_SUBSET
  InvalidWckey,           // ESLURM_INVALID_WCKEY
  TooManySteps,           // ESLURM_STEP_LIMIT
  InvalidGroup,           // ESLURM_GROUP_ID_MISSING
  ReservationNoSkip,      // ESLURM_RESERVATION_NO_SKIP
};
constexpr ErrorCode kLastErrorCode = ErrorCode::ReservationNoSkip;

// Slurm's number (25.05) for the code; 0 where Slurm has none.
int slurm_errno(ErrorCode code);
// Slurm's sentence for the code, as slurm_strerror() prints it.
std::string_view slurm_message(ErrorCode code);
// Name of the enumerator, for logs and the wire's debug text.
std::string_view name_of(ErrorCode code);

}  // namespace spur
