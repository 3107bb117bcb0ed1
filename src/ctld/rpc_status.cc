// SPDX-License-Identifier: Apache-2.0
#include "ctld/rpc_status.h"

#include <string>

#include "wire/error_map.h"

namespace spur::ctld {

grpc::Status rpc_status(grpc::CallbackServerContext* context, const Error& error) {
  context->AddTrailingMetadata("spur-error", std::to_string(static_cast<unsigned>(error.code)));
  return {static_cast<grpc::StatusCode>(wire::grpc_status_of(error.code)), error.message};
}

}  // namespace spur::ctld
