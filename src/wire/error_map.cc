// SPDX-License-Identifier: Apache-2.0
#include "wire/error_map.h"

#include <charconv>

namespace spur::wire {

// No default: a new ErrorCode without a row does not compile.
int grpc_status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::Internal:
      return kGrpcInternal;
    case ErrorCode::InvalidArgument:
      return kGrpcInvalidArgument;
    case ErrorCode::NotSupported:
      return kGrpcUnimplemented;
    case ErrorCode::NotFound:
      return kGrpcNotFound;
    case ErrorCode::PermissionDenied:
      return kGrpcPermissionDenied;
    case ErrorCode::InvalidUser:
    case ErrorCode::InvalidGroup:
      return kGrpcPermissionDenied;
    case ErrorCode::Unauthenticated:
      return kGrpcUnauthenticated;
    case ErrorCode::Unreachable:
      return kGrpcUnavailable;
    case ErrorCode::TimedOut:
      return kGrpcDeadlineExceeded;
    case ErrorCode::Busy:
      return kGrpcUnavailable;
    case ErrorCode::NotLeader:
      return kGrpcUnavailable;
    case ErrorCode::OutOfSpace:
      return kGrpcResourceExhausted;
    case ErrorCode::Corrupt:
      return kGrpcDataLoss;
    case ErrorCode::VersionMismatch:
      return kGrpcFailedPrecondition;
    case ErrorCode::AlreadyExists:
      return kGrpcAlreadyExists;
    case ErrorCode::InvalidJobId:
      return kGrpcNotFound;
    case ErrorCode::JobAlreadyDone:
    case ErrorCode::JobPending:
    case ErrorCode::JobNotPending:
    case ErrorCode::JobNotRunning:
    case ErrorCode::JobNotPendingNorRunning:
    case ErrorCode::JobSuspended:
    case ErrorCode::RequestDisabled:
    case ErrorCode::TransitionNotAllowed:
      return kGrpcFailedPrecondition;
    case ErrorCode::JobScriptMissing:
    case ErrorCode::JobScriptTooLarge:
    case ErrorCode::InvalidPartition:
    case ErrorCode::DefaultPartitionMissing:
      return kGrpcInvalidArgument;
    case ErrorCode::PartitionUnavailable:
    case ErrorCode::PartitionDown:
      return kGrpcFailedPrecondition;
    case ErrorCode::PartitionGroupDenied:
    case ErrorCode::PartitionUserDenied:
      return kGrpcPermissionDenied;
    case ErrorCode::InvalidNode:
    case ErrorCode::InvalidNodeState:
    case ErrorCode::InvalidNodeCount:
    case ErrorCode::TooManyTasks:
    case ErrorCode::TooManySteps:
    case ErrorCode::NodeConfigUnavailable:
    case ErrorCode::PartitionConfigUnavailable:
      return kGrpcInvalidArgument;
    case ErrorCode::NodesBusy:
      return kGrpcResourceExhausted;
    case ErrorCode::InvalidTimeLimit:
    case ErrorCode::InvalidFeature:
    case ErrorCode::InvalidGres:
    case ErrorCode::InvalidLicense:
    case ErrorCode::InvalidArray:
    case ErrorCode::InvalidDependency:
    case ErrorCode::CircularDependency:
    case ErrorCode::InvalidReservation:
    case ErrorCode::InvalidQos:
    case ErrorCode::InvalidWckey:
    case ErrorCode::InvalidAccount:
    case ErrorCode::InvalidNice:
    case ErrorCode::InvalidMemory:
      return kGrpcInvalidArgument;
    case ErrorCode::TooManyJobs:
    case ErrorCode::ResourceLimit:
      return kGrpcResourceExhausted;
    case ErrorCode::StaleEpoch:
      return kGrpcAborted;
    case ErrorCode::StepTooLarge:
      return kGrpcInvalidArgument;
    case ErrorCode::ConfigInvalid:
      return kGrpcFailedPrecondition;
    case ErrorCode::ReservationDenied:
      return kGrpcPermissionDenied;
    case ErrorCode::InvalidTime:
    case ErrorCode::ReservationEmpty:
    case ErrorCode::ReservationUserGroup:
    case ErrorCode::InvalidTres:
      return kGrpcInvalidArgument;
    case ErrorCode::ReservationNameTaken:
      return kGrpcAlreadyExists;
    case ErrorCode::ReservationBusy:
    case ErrorCode::ReservationNotUsable:
    case ErrorCode::ReservationOverlap:
    case ErrorCode::ReservationStarted:
    case ErrorCode::ReservationNoSkip:
    case ErrorCode::CoreReservationUpdate:
    case ErrorCode::PartitionInUse:
    case ErrorCode::NotHetJobLeader:
    case ErrorCode::NotWholeHetJob:
    case ErrorCode::JobFinished:
    case ErrorCode::JobHeld:
    case ErrorCode::JobNotSuspended:
      return kGrpcFailedPrecondition;
    case ErrorCode::InvalidTimeMin:
    case ErrorCode::ActiveFeaturesUnknown:
      return kGrpcInvalidArgument;
  }
  return kGrpcInternal;
}

ErrorCode error_code_of(int grpc_status) {
  switch (grpc_status) {
    case kGrpcInvalidArgument:
    case kGrpcOutOfRange:
      return ErrorCode::InvalidArgument;
    case kGrpcDeadlineExceeded:
      return ErrorCode::TimedOut;
    case kGrpcNotFound:
      return ErrorCode::NotFound;
    case kGrpcAlreadyExists:
      return ErrorCode::AlreadyExists;
    case kGrpcPermissionDenied:
      return ErrorCode::PermissionDenied;
    case kGrpcResourceExhausted:
      return ErrorCode::ResourceLimit;
    case kGrpcFailedPrecondition:
      return ErrorCode::TransitionNotAllowed;
    case kGrpcUnimplemented:
      return ErrorCode::NotSupported;
    case kGrpcUnavailable:
      return ErrorCode::Unreachable;
    case kGrpcDataLoss:
      return ErrorCode::Corrupt;
    case kGrpcUnauthenticated:
      return ErrorCode::Unauthenticated;
    default:
      return ErrorCode::Internal;
  }
}

std::optional<ErrorCode> parse_error_number(std::string_view text) {
  unsigned number = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (bad != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (number > static_cast<unsigned>(kLastErrorCode)) return std::nullopt;
  return static_cast<ErrorCode>(number);
}

}  // namespace spur::wire
