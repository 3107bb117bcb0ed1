// SPDX-License-Identifier: Apache-2.0
// Our errors as gRPC statuses: the code from wire/error_map.h, the sentence as message, our number in trailing metadata.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "base/result.h"

namespace spur::ctld {

grpc::Status rpc_status(grpc::CallbackServerContext* context, const Error& error);

}  // namespace spur::ctld
