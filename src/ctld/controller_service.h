// SPDX-License-Identifier: Apache-2.0
// The Controller service over gRPC: says who calls (the credential in the metadata), asks the authorization table and
// hands the call to ControllerCalls.
#pragma once

#include <string_view>

#include "ctld/controller_calls.h"
#include "ctld/identify.h"
#include "spur/v1/controller.grpc.pb.h"

namespace spur::ctld {

class ControllerService final : public v1::Controller::CallbackService {
 public:
  ControllerService(ControllerCalls& calls, const Identify& identify) : calls_(calls), identify_(identify) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  Unary* SubmitJob(Context*, const v1::SubmitJobRequest*, v1::SubmitJobReply*) override;
  Unary* WillRun(Context*, const v1::WillRunRequest*, v1::WillRunReply*) override;
  Unary* ExplainJob(Context*, const v1::ExplainJobRequest*, v1::ExplainJobReply*) override;
  grpc::ServerWriteReactor<v1::JobChunk>* ListJobs(Context*, const v1::ListJobsRequest*) override;
  grpc::ServerWriteReactor<v1::JobChanges>* WatchJobs(Context*, const v1::WatchJobsRequest*) override;
  Unary* GetCluster(Context*, const v1::GetClusterRequest*, v1::GetClusterReply*) override;
  Unary* GetConfig(Context*, const v1::GetConfigRequest*, v1::GetConfigReply*) override;
  Unary* Ping(Context*, const v1::PingRequest*, v1::PingReply*) override;
  Unary* CancelJob(Context*, const v1::CancelJobRequest*, v1::Done*) override;
  Unary* CancelJobs(Context*, const v1::CancelJobsRequest*, v1::CancelJobsReply*) override;
  Unary* HoldJob(Context*, const v1::HoldJobRequest*, v1::Done*) override;
  Unary* ReleaseJob(Context*, const v1::ReleaseJobRequest*, v1::Done*) override;
  Unary* RequeueJob(Context*, const v1::RequeueJobRequest*, v1::Done*) override;
  Unary* SuspendJob(Context*, const v1::SuspendJobRequest*, v1::Done*) override;
  Unary* UpdateJob(Context*, const v1::UpdateJobRequest*, v1::Done*) override;
  Unary* UpdateNode(Context*, const v1::UpdateNodeRequest*, v1::Done*) override;
  Unary* CreateNodes(Context*, const v1::CreateNodesRequest*, v1::Done*) override;
  Unary* DeleteNodes(Context*, const v1::DeleteNodesRequest*, v1::Done*) override;
  Unary* GetReservations(Context*, const v1::GetReservationsRequest*, v1::GetReservationsReply*) override;
  Unary* CreateReservation(Context*, const v1::CreateReservationRequest*, v1::CreateReservationReply*) override;
  Unary* UpdateReservation(Context*, const v1::UpdateReservationRequest*, v1::Done*) override;
  Unary* DeleteReservation(Context*, const v1::DeleteReservationRequest*, v1::Done*) override;
  Unary* GetPriorities(Context*, const v1::GetPrioritiesRequest*, v1::GetPrioritiesReply*) override;
  Unary* GetShares(Context*, const v1::GetSharesRequest*, v1::GetSharesReply*) override;
  Unary* GetAccountBook(Context*, const v1::GetAccountBookRequest*, v1::GetAccountBookReply*) override;
  Unary* GetToken(Context*, const v1::GetTokenRequest*, v1::GetTokenReply*) override;
  Unary* UpdatePartition(Context*, const v1::UpdatePartitionRequest*, v1::Done*) override;
  Unary* Reconfigure(Context*, const v1::ReconfigureRequest*, v1::Done*) override;
  Unary* Shutdown(Context*, const v1::ShutdownRequest*, v1::Done*) override;
  Unary* Takeover(Context*, const v1::TakeoverRequest*, v1::Done*) override;
  Unary* GetStatistics(Context*, const v1::GetStatisticsRequest*, v1::GetStatisticsReply*) override;
  Unary* SetDebug(Context*, const v1::SetDebugRequest*, v1::Done*) override;
  Unary* ResetUsage(Context*, const v1::ResetUsageRequest*, v1::Done*) override;
  Unary* NotifyJob(Context*, const v1::NotifyJobRequest*, v1::Done*) override;
  Unary* TopJobs(Context*, const v1::TopJobsRequest*, v1::Done*) override;
  Unary* SetCrontab(Context*, const v1::SetCrontabRequest*, v1::SetCrontabReply*) override;
  Unary* GetCrontab(Context*, const v1::GetCrontabRequest*, v1::GetCrontabReply*) override;
  Unary* RemoveCrontab(Context*, const v1::RemoveCrontabRequest*, v1::Done*) override;
  Unary* CronJobs(Context*, const v1::CronJobsRequest*, v1::CronJobsReply*) override;
  Unary* SetTrigger(Context*, const v1::SetTriggerRequest*, v1::Done*) override;
  Unary* ClearTriggers(Context*, const v1::ClearTriggersRequest*, v1::Done*) override;
  Unary* GetTriggers(Context*, const v1::GetTriggersRequest*, v1::GetTriggersReply*) override;
  Unary* ListControllers(Context*, const v1::ListControllersRequest*, v1::ListControllersReply*) override;
  Unary* AddController(Context*, const v1::AddControllerRequest*, v1::Done*) override;
  Unary* RemoveController(Context*, const v1::RemoveControllerRequest*, v1::Done*) override;
  Unary* WaitJob(Context*, const v1::WaitJobRequest*, v1::WaitJobReply*) override;
  Unary* CompleteAllocation(Context*, const v1::CompleteAllocationRequest*, v1::Done*) override;
  Unary* JobEvents(Context*, const v1::JobEventsRequest*, v1::JobEventsReply*) override;
  Unary* StepTicket(Context*, const v1::StepTicketRequest*, v1::StepTicketReply*) override;

 private:
  // Who calls, if he may call `method` at all.
  Result<model::Caller> admit(Context* context, std::string_view method) const;
  // Runs `go` as ControllerCalls::when_current does; the answer then says who gives it.
  void when_current(Context* context, std::string_view method, std::function<void(Status)> go);
  // With where the leader is, for who is sent there.
  grpc::Status refusal(Context* context, const Error& error) const;
  template <class Request, class Reply>
  using Call = void (ControllerCalls::*)(const model::Caller&, const Request&, ControllerCalls::Answer<Reply>);
  template <class Request, class Reply>
  Unary* unary(Context* context, std::string_view method, const Request* request, Reply* reply,
               Call<Request, Reply> call);

  ControllerCalls& calls_;
  const Identify& identify_;
};

}  // namespace spur::ctld
