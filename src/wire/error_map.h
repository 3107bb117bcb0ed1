// SPDX-License-Identifier: Apache-2.0
// Our errors on gRPC. A failed call carries a gRPC status code, for tools that know nothing of us, our sentence as
// the status message, and the number of our ErrorCode as trailing metadata `spur-error`. Where that is missing (the
// answer came from a proxy, or from gRPC itself) the status code alone decides. Status codes are plain numbers here,
// as in the gRPC protocol.
#pragma once

#include <optional>
#include <string_view>

#include "base/error_code.h"

namespace spur::wire {

inline constexpr std::string_view kErrorMetadata = "spur-error";
inline constexpr std::string_view kCredentialMetadata = "spur-credential-bin";

enum GrpcStatus : int {
  kGrpcOk = 0,
  kGrpcCancelled = 1,
  kGrpcUnknown = 2,
  kGrpcInvalidArgument = 3,
  kGrpcDeadlineExceeded = 4,
  kGrpcNotFound = 5,
  kGrpcAlreadyExists = 6,
  kGrpcPermissionDenied = 7,
  kGrpcResourceExhausted = 8,
  kGrpcFailedPrecondition = 9,
  kGrpcAborted = 10,
  kGrpcOutOfRange = 11,
  kGrpcUnimplemented = 12,
  kGrpcInternal = 13,
  kGrpcUnavailable = 14,
  kGrpcDataLoss = 15,
  kGrpcUnauthenticated = 16,
};

int grpc_status_of(ErrorCode code);
ErrorCode error_code_of(int grpc_status);
// The text of `spur-error`; nothing if it is not a number we know.
std::optional<ErrorCode> parse_error_number(std::string_view text);

}  // namespace spur::wire
