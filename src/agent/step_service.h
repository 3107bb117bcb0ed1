// SPDX-License-Identifier: Apache-2.0
// The NodeAgent service of proto/spur/v1/agent.proto: a gRPC stream on one side, a StepSession on the agent's thread
// on the other, and pacing in between so that neither a fast writer nor a slow reader fills memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/step_session.h"
#include "spur/v1/agent.grpc.pb.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace spur::agent {

// RunStep is served as bytes: what tasks read and write passes through unread.
class StepService final
    : public v1::NodeAgent::WithRawCallbackMethod_RunStep<v1::NodeAgent::WithCallbackMethod_ListSteps<
          v1::NodeAgent::WithCallbackMethod_SignalStep<v1::NodeAgent::WithCallbackMethod_JobUsage<
              v1::NodeAgent::WithCallbackMethod_Ping<v1::NodeAgent::Service>>>>> {
 public:
  // `post` runs a function on the agent's thread.
  StepService(StepContext& context, std::string version, Time started,
              std::function<void(std::function<void()>)> post);
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* RunStep(grpc::CallbackServerContext* context) override;
  // Anybody may know what runs, as of jobs; to signal a step takes a ticket.
  grpc::ServerUnaryReactor* ListSteps(grpc::CallbackServerContext* context, const v1::ListStepsRequest* request,
                                      v1::ListStepsReply* reply) override;
  grpc::ServerUnaryReactor* SignalStep(grpc::CallbackServerContext* context, const v1::SignalStepRequest* request,
                                       v1::SignalStepReply* reply) override;
  grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* context, const v1::AgentPingRequest*,
                                 v1::AgentPingReply*) override;

  grpc::ServerUnaryReactor* JobUsage(grpc::CallbackServerContext* context, const v1::JobUsageRequest* request,
                                     v1::JobUsageReply* reply) override;

 private:
  Status tell_usage(const v1::JobUsageRequest& request, v1::JobUsageReply& reply);
  class Stream;
  StepContext& context_;
  std::string version_;
  Time started_;
  std::function<void(std::function<void()>)> post_;
};

// How often a peer of a silent step may ask whether we are still there. Those that ask more often are cut off; srun
// and agents ask every 15 s.
inline constexpr Duration kShortestPingInterval = seconds(5);

// Serves until destroyed, `more` beside the steps. *port is the one that was bound (address "host:0": any).
Result<std::unique_ptr<grpc::Server>> serve_steps(const std::string& address, StepService& service, int* port,
                                                  Duration shortest_ping_interval = kShortestPingInterval,
                                                  const std::vector<grpc::Service*>& more = {});

}  // namespace spur::agent
