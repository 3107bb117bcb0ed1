// SPDX-License-Identifier: Apache-2.0
// The Controller service of proto/spur/v1/controller.proto: each call is identified, authorized against the table, turned
// into the model's types and handed to the core thread, or answered from the published picture. Nothing is decided here.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ctld/core_thread.h"
#include "ctld/identify.h"
#include "spur/v1/controller.grpc.pb.h"

namespace spur::ctld {

class ControllerService final : public v1::Controller::CallbackService {
 public:
  struct Options {
    std::string host, version;
    Time started;
    // Reads the configuration files again. On the core thread; slow is fine, rare is certain.
    std::function<Result<model::ClusterConfig>()> reload;
    std::function<void()> shutdown;
    // Signs a ticket that lets the job's owner run steps in it.
    std::function<Result<std::string>(const model::Job&)> sign_ticket;
  };
  ControllerService(CoreThread& core, const Identify& identify, Options options);

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  Unary* SubmitJob(Context*, const v1::SubmitJobRequest*, v1::SubmitJobReply*) override;
  Unary* WillRun(Context*, const v1::WillRunRequest*, v1::WillRunReply*) override;
  grpc::ServerWriteReactor<v1::JobChunk>* ListJobs(Context*, const v1::ListJobsRequest*) override;
  Unary* GetCluster(Context*, const v1::GetClusterRequest*, v1::GetClusterReply*) override;
  Unary* GetConfig(Context*, const v1::GetConfigRequest*, v1::GetConfigReply*) override;
  Unary* Ping(Context*, const v1::PingRequest*, v1::PingReply*) override;
  Unary* CancelJob(Context*, const v1::CancelJobRequest*, v1::Done*) override;
  Unary* HoldJob(Context*, const v1::HoldJobRequest*, v1::Done*) override;
  Unary* ReleaseJob(Context*, const v1::ReleaseJobRequest*, v1::Done*) override;
  Unary* RequeueJob(Context*, const v1::RequeueJobRequest*, v1::Done*) override;
  Unary* SuspendJob(Context*, const v1::SuspendJobRequest*, v1::Done*) override;
  Unary* UpdateJob(Context*, const v1::UpdateJobRequest*, v1::Done*) override;
  Unary* UpdateNode(Context*, const v1::UpdateNodeRequest*, v1::Done*) override;
  Unary* Reconfigure(Context*, const v1::ReconfigureRequest*, v1::Done*) override;
  Unary* Shutdown(Context*, const v1::ShutdownRequest*, v1::Done*) override;
  Unary* WaitJob(Context*, const v1::WaitJobRequest*, v1::WaitJobReply*) override;
  Unary* CompleteAllocation(Context*, const v1::CompleteAllocationRequest*, v1::Done*) override;
  Unary* StepTicket(Context*, const v1::StepTicketRequest*, v1::StepTicketReply*) override;

 private:
  // Who calls, if he may call `method` at all.
  Result<model::Caller> admit(Context* context, std::string_view method) const;
  using Act = std::function<void(Controller&, const model::Caller&, Controller::DoneReply)>;
  // The common shape: admit, decode the target, act on the core thread, answer Done.
  Unary* change(Context* context, std::string_view method, const v1::JobTarget* target,
                std::function<void(Controller&, const model::Caller&, state::JobTarget, Controller::DoneReply)> act);

  CoreThread& core_;
  const Identify& identify_;
  Options options_;
};

}  // namespace spur::ctld
