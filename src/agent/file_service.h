// SPDX-License-Identifier: Apache-2.0
// The NodeFiles service of proto/spur/v1/files.proto: a gRPC stream on one side, a FileSession on the agent's thread
// on the other, and pacing in between: a few blocks are under way, whatever the size of the file.
#pragma once

#include <functional>

#include "agent/file_session.h"
#include "spur/v1/files.grpc.pb.h"

namespace spur::agent {

class FileService final : public v1::NodeFiles::WithRawCallbackMethod_Transfer<v1::NodeFiles::Service> {
 public:
  // `post` runs a function on the agent's thread.
  FileService(FileContext& context, std::function<void(std::function<void()>)> post)
      : context_(context), post_(std::move(post)) {}
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Transfer(
      grpc::CallbackServerContext* context) override;

 private:
  class Stream;
  FileContext& context_;
  std::function<void(std::function<void()>)> post_;
};

}  // namespace spur::agent
