// SPDX-License-Identifier: Apache-2.0
// The NodeProcesses service of proto/spur/v1/processes.proto.
#pragma once

#include <functional>

#include "spur/v1/processes.grpc.pb.h"

namespace spur::agent {

class ProcessService final : public v1::NodeProcesses::CallbackService {
 public:
  using Fill = std::function<void(const v1::ListProcessesRequest&, v1::ListProcessesReply&)>;
  using DescribeAgent = std::function<void(v1::AgentStatusReply&)>;
  // `post` runs a function on the agent's thread, where `fill` and `describe` are called.
  ProcessService(Fill fill, DescribeAgent describe, std::function<void(std::function<void()>)> post)
      : fill_(std::move(fill)), describe_(std::move(describe)), post_(std::move(post)) {}
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context, const v1::ListProcessesRequest* request,
                                 v1::ListProcessesReply* reply) override {
    auto* reactor = context->DefaultReactor();
    post_([this, request, reply, reactor] {
      fill_(*request, *reply);
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const v1::AgentStatusRequest*,
                                     v1::AgentStatusReply* reply) override {
    auto* reactor = context->DefaultReactor();
    post_([this, reply, reactor] {
      describe_(*reply);
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

 private:
  Fill fill_;
  DescribeAgent describe_;
  std::function<void(std::function<void()>)> post_;
};

}  // namespace spur::agent
