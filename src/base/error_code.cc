// SPDX-License-Identifier: Apache-2.0
// The table behind error_code.h. A code without a row does not compile (-Wswitch). Where Slurm has no error of its
// own for a situation it lets the system's errno through, and so do we. No row has number 0: on Slurm's wire and in
// its C library 0 means success.
#include "base/error_code.h"

#include <cerrno>

#include "base/check.h"

namespace spur {
namespace {

struct Row {
  int number;
  std::string_view message;
  std::string_view name;
};

constexpr Row row_of(ErrorCode code) {
  using enum ErrorCode;
  switch (code) {
    case Internal:
      return {2090, "Slurm internal error, contact system administrator", "Internal"};
    case InvalidArgument:
      return {EINVAL, "Invalid argument", "InvalidArgument"};
    case NotSupported:
      return {2036, "Requested operation not supported on this system", "NotSupported"};
    case NotFound:
      return {ENOENT, "No such file or directory", "NotFound"};
    case PermissionDenied:
      return {2002, "Access/permission denied", "PermissionDenied"};
    case InvalidUser:
      return {2010, "Invalid user id", "InvalidUser"};
    case Unauthenticated:
      return {1007, "Protocol authentication error", "Unauthenticated"};
    case Unreachable:
      return {1800, "Unable to contact slurm controller (connect failure)", "Unreachable"};
    case TimedOut:
      return {5004, "Socket timed out on send/recv operation", "TimedOut"};
    case Busy:
      return {EAGAIN, "Resource temporarily unavailable", "Busy"};
    case NotLeader:
      return {2027, "Slurm backup controller in standby mode", "NotLeader"};
    case OutOfSpace:
      return {ENOSPC, "No space left on device", "OutOfSpace"};
    case Corrupt:
      return {EBADMSG, "Bad message", "Corrupt"};
    case VersionMismatch:
      return {1005, "Incompatible versions of client and server code", "VersionMismatch"};
    case AlreadyExists:
      return {EEXIST, "File exists", "AlreadyExists"};

    case InvalidJobId:
      return {2017, "Invalid job id specified", "InvalidJobId"};
    case JobAlreadyDone:
      return {2021, "Job/step already completing or completed", "JobAlreadyDone"};
    case JobPending:
      return {2024, "Job is pending execution", "JobPending"};
    case JobNotPending:
      return {2073, "Job is no longer pending execution", "JobNotPending"};
    case JobNotRunning:
      return {2085, "Job is not running", "JobNotRunning"};
    case JobNotPendingNorRunning:
      return {2086, "Job is not pending nor running", "JobNotPendingNorRunning"};
    case JobSuspended:
      return {2077, "Job is current suspended, requested operation disabled", "JobSuspended"};
    case RequestDisabled:
      return {2037, "Requested operation is presently disabled", "RequestDisabled"};
    case TransitionNotAllowed:
      return {2020, "Job can not be altered now, try again later", "TransitionNotAllowed"};
    case JobScriptMissing:
      return {2009, "Job script not specified", "JobScriptMissing"};
    case JobScriptTooLarge:
      return {2012, "Pathname of a file, directory or other parameter too long", "JobScriptTooLarge"};
    case InvalidPartition:
      return {2000, "Invalid partition name specified", "InvalidPartition"};
    case DefaultPartitionMissing:
      return {2001, "No partition specified or system default partition", "DefaultPartitionMissing"};
    case PartitionUnavailable:
      return {2070, "Required partition not available (inactive or drain)", "PartitionUnavailable"};
    case PartitionDown:
      return {2101, "Partition in DOWN state", "PartitionDown"};
    case PartitionGroupDenied:
      return {2003, "User's group not permitted to use this partition", "PartitionGroupDenied"};
    case PartitionUserDenied:
      return {2002, "Access/permission denied", "PartitionUserDenied"};
    case InvalidNode:
      return {2018, "Invalid node name specified", "InvalidNode"};
    case InvalidNodeState:
      return {2028, "Invalid node state specified", "InvalidNodeState"};
    case InvalidNodeCount:
      return {2006, "Node count specification invalid", "InvalidNodeCount"};
    case TooManyTasks:
      return {2025, "Task count specification invalid", "TooManyTasks"};
    case NodeConfigUnavailable:
      return {2014, "Requested node configuration is not available", "NodeConfigUnavailable"};
    case PartitionConfigUnavailable:
      return {2015, "Requested partition configuration not available now", "PartitionConfigUnavailable"};
    case NodesBusy:
      return {2016, "Requested nodes are busy", "NodesBusy"};
    case InvalidTimeLimit:
      return {2051, "Requested time limit is invalid (missing or exceeds some limit)", "InvalidTimeLimit"};
    case InvalidFeature:
      return {2029, "Invalid feature specification", "InvalidFeature"};
    case InvalidGres:
      return {2072, "Invalid generic resource (gres) specification", "InvalidGres"};
    case InvalidLicense:
      return {2048, "Invalid license specification", "InvalidLicense"};
    case InvalidArray:
      return {2081, "Invalid job array specification", "InvalidArray"};
    case InvalidDependency:
      return {2038, "Job dependency problem", "InvalidDependency"};
    case CircularDependency:
      return {2071, "Circular job dependency", "CircularDependency"};
    case InvalidReservation:
      return {2053, "Requested reservation is invalid", "InvalidReservation"};
    case InvalidQos:
      return {2066, "Invalid qos specification", "InvalidQos"};
    case InvalidWckey:
      return {2057, "Invalid wckey specification", "InvalidWckey"};
    case TooManySteps:
      return {2076, "Step limit reached for this job", "TooManySteps"};
    case InvalidGroup:
      return {2113, "Invalid group id", "InvalidGroup"};
    case ReservationNoSkip:
      return {2128, "Reservation given is not skipable, try deleting instead", "ReservationNoSkip"};
    case InvalidAccount:
      return {2045, "Invalid account or account/partition combination specified", "InvalidAccount"};
    case InvalidNice:
      return {2123, "Invalid --nice value", "InvalidNice"};
    case InvalidMemory:
      return {2044, "Memory required by task is not available", "InvalidMemory"};
    case TooManyJobs:
      return {EAGAIN, "Resource temporarily unavailable", "TooManyJobs"};
    case ResourceLimit:
      return {2050, "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
              "ResourceLimit"};
    case StaleEpoch:
      return {4008, "Job credential revoked", "StaleEpoch"};
    case StepTooLarge:
      return {2005, "More processors requested than permitted", "StepTooLarge"};
    case ConfigInvalid:
      return {EINVAL, "Invalid argument", "ConfigInvalid"};

    case ReservationDenied:
      return {2052, "Access denied to requested reservation", "ReservationDenied"};
    case InvalidTime:
      return {2054, "Invalid time specified", "InvalidTime"};
    case ReservationBusy:
      return {2055, "Requested reservation is in use", "ReservationBusy"};
    case ReservationNotUsable:
      return {2056, "Requested reservation not usable now", "ReservationNotUsable"};
    case ReservationOverlap:
      return {2058, "Requested reservation overlaps with another reservation", "ReservationOverlap"};
    case ReservationEmpty:
      return {2080, "Reservation request lacks users, groups or accounts", "ReservationEmpty"};
    case ReservationNameTaken:
      return {2082, "Duplicate reservation name", "ReservationNameTaken"};
    case ReservationStarted:
      return {2104, "Reservation already started", "ReservationStarted"};
    case CoreReservationUpdate:
      return {2109, "Core-based reservation can not be updated", "CoreReservationUpdate"};
    case ReservationUserGroup:
      return {2129, "Reservations can't have users and groups specified, only one or the other",
              "ReservationUserGroup"};
    case InvalidTres:
      return {2115, "Invalid Trackable RESource (TRES) specification", "InvalidTres"};
    case PartitionInUse:
      return {2075, "Partition is in use", "PartitionInUse"};
    case NotHetJobLeader:
      return {2107, "Job not heterogeneous job leader", "NotHetJobLeader"};
    case NotWholeHetJob:
      return {2108, "Operation not permitted on individual component of heterogeneous job", "NotWholeHetJob"};
    case JobFinished:
      return {2084, "Job has already finished", "JobFinished"};
    case JobHeld:
      return {2042, "Job is in held state, pending scheduler release", "JobHeld"};
    case JobNotSuspended:
      return {2087, "Job is not suspended", "JobNotSuspended"};
    case InvalidTimeMin:
      return {2124, "Invalid time-min specification (exceeds job's time or other limits)", "InvalidTimeMin"};
    case ActiveFeaturesUnknown:
      return {2031, "Active features not subset of available features", "ActiveFeaturesUnknown"};
  }
  return {0, {}, {}};
}

Row checked_row(ErrorCode code) {
  const Row row = row_of(code);
  SPUR_CHECK_MSG(row.number != 0, "a number that is no ErrorCode was cast to one");
  return row;
}

}  // namespace

int slurm_errno(ErrorCode code) {
  return checked_row(code).number;
}
std::string_view slurm_message(ErrorCode code) {
  return checked_row(code).message;
}
std::string_view name_of(ErrorCode code) {
  return checked_row(code).name;
}

}  // namespace spur
