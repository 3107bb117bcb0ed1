// SPDX-License-Identifier: Apache-2.0
#include "ctld/controller_service.h"

#include <atomic>
#include <memory>
#include <utility>

#include "ctld/authorization.h"
#include "ctld/grpc_watch.h"
#include "ctld/rpc_status.h"
#include "wire/follower_note.h"

namespace spur::ctld {
namespace {

using Context = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;

// A list in pieces, put together where it holds nothing up. Which jobs are meant is found there, too.
class ListReactor final : public grpc::ServerWriteReactor<v1::JobChunk> {
 public:
  explicit ListReactor(ControllerCalls& calls) : calls_(calls) {}
  void begin(std::shared_ptr<JobChunks> chunks) {
    chunks_ = std::move(chunks);
    next();
  }
  void refuse(grpc::Status status) { Finish(std::move(status)); }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    calls_.read([this] { next(); });
  }
  void OnDone() override { delete this; }

 private:
  void next() {
    chunk_.Clear();
    chunks_->next(&chunk_) ? StartWrite(&chunk_) : Finish(grpc::Status::OK);
  }
  ControllerCalls& calls_;
  std::shared_ptr<JobChunks> chunks_;
  v1::JobChunk chunk_;
};

template <class Message>
class Refused final : public grpc::ServerWriteReactor<Message> {
 public:
  explicit Refused(grpc::Status status) { this->Finish(std::move(status)); }
  void OnDone() override { delete this; }
};

// Waits for a job; the client may give up first. Whoever comes first finishes the call.
class WaitReactor final : public Unary {
 public:
  explicit WaitReactor(std::shared_ptr<std::atomic<WaitReactor*>> slot) : slot_(std::move(slot)) {}
  void OnCancel() override {
    if (auto* self = slot_->exchange(nullptr)) self->Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  std::shared_ptr<std::atomic<WaitReactor*>> slot_;
};

}  // namespace

Result<model::Caller> ControllerService::admit(Context* context, std::string_view method) const {
  const auto& metadata = context->client_metadata();
  const auto it = metadata.find("spur-credential-bin");
  const std::string_view credential =
      it == metadata.end() ? std::string_view{} : std::string_view(it->second.data(), it->second.size());
  auto identified = identify_.user(credential, calls_.picture()->view);
  // Which nodes' keys speak for users is the leader's to know.
  if (!identified) SPUR_TRY(calls_.check_role(method, true));
  SPUR_ASSIGN(auto caller, std::move(identified));
  calls_.audit(method, caller);
  SPUR_TRY(authorize(method, caller));
  SPUR_TRY(calls_.check_role(method, metadata.contains(wire::kConsistentMetadata)));
  return caller;
}

void ControllerService::when_current(Context* context, std::string_view method, std::function<void(Status)> go) {
  calls_.when_current(method, [this, context, go = std::move(go)](Status status) {
    if (const std::string note = calls_.follower_note(); !note.empty())
      context->AddTrailingMetadata(wire::kFollowerMetadata, note);
    go(std::move(status));
  });
}

grpc::Status ControllerService::refusal(Context* context, const Error& error) const {
  if (error.code == ErrorCode::NotLeader)
    if (const std::string leader = calls_.leader_address(); !leader.empty())
      context->AddTrailingMetadata(wire::kLeaderMetadata, leader);
  return rpc_status(context, error);
}

template <class Request, class Reply>
Unary* ControllerService::unary(Context* context, std::string_view method, const Request* request, Reply* reply,
                                Call<Request, Reply> call) {
  auto* reactor = context->DefaultReactor();
  const auto caller = admit(context, method);
  if (!caller) return reactor->Finish(refusal(context, caller.error())), reactor;
  when_current(context, method, [=, this, caller = *caller](const Status& current) {
    if (!current) return reactor->Finish(refusal(context, current.error()));
    (calls_.*call)(caller, *request, calls_.counted<Reply>(method, caller, [=, this](Result<Reply> result) {
      if (result) *reply = std::move(*result);
      reactor->Finish(result ? grpc::Status::OK : refusal(context, result.error()));
    }));
  });
  return reactor;
}

grpc::ServerWriteReactor<v1::JobChunk>* ControllerService::ListJobs(Context* context,
                                                                    const v1::ListJobsRequest* request) {
  auto* reactor = new ListReactor(calls_);
  auto caller = admit(context, "ListJobs");
  if (!caller) return reactor->refuse(refusal(context, caller.error())), reactor;
  when_current(context, "ListJobs", [=, this, caller = *std::move(caller)](const Status& current) {
    if (!current) return reactor->refuse(refusal(context, current.error()));
    calls_.list_jobs(caller, *request, [reactor, context](const Result<std::shared_ptr<JobChunks>>& chunks) {
      if (!chunks) return reactor->refuse(rpc_status(context, chunks.error()));
      reactor->begin(*chunks);
    });
  });
  return reactor;
}

grpc::ServerWriteReactor<v1::JobChanges>* ControllerService::WatchJobs(Context* context,
                                                                       const v1::WatchJobsRequest* request) {
  auto caller = admit(context, "WatchJobs");
  if (!caller) return new Refused<v1::JobChanges>(refusal(context, caller.error()));
  auto sink = std::make_shared<GrpcWatch>(context, [this] { calls_.wake_watches(); });
  auto* reactor = sink->reactor();
  if (auto added = calls_.watch_jobs(*caller, *request, sink); !added) sink->end(added);
  return reactor;
}

Unary* ControllerService::WaitJob(Context* context, const v1::WaitJobRequest* request, v1::WaitJobReply* reply) {
  auto slot = std::make_shared<std::atomic<WaitReactor*>>(nullptr);
  auto* reactor = new WaitReactor(slot);
  auto caller = admit(context, "WaitJob");
  if (!caller) return reactor->Finish(refusal(context, caller.error())), reactor;
  slot->store(reactor);
  calls_.wait_job(*caller, *request, [=, this](Result<v1::WaitJobReply> result) {
    auto* open = slot->exchange(nullptr);
    if (!open) return;  // the client is gone, and `reply` with it
    if (result) *reply = std::move(*result);
    open->Finish(result ? grpc::Status::OK : refusal(context, result.error()));
  }, [slot] { return slot->load() == nullptr; });
  return reactor;
}

Unary* ControllerService::SubmitJob(Context* context, const v1::SubmitJobRequest* request,
                                    v1::SubmitJobReply* reply) {
  return unary(context, "SubmitJob", request, reply, &ControllerCalls::submit_job);
}

Unary* ControllerService::WillRun(Context* context, const v1::WillRunRequest* request, v1::WillRunReply* reply) {
  return unary(context, "WillRun", request, reply, &ControllerCalls::will_run);
}

Unary* ControllerService::ExplainJob(Context* context, const v1::ExplainJobRequest* request,
                                     v1::ExplainJobReply* reply) {
  return unary(context, "ExplainJob", request, reply, &ControllerCalls::explain_job);
}

Unary* ControllerService::GetCluster(Context* context, const v1::GetClusterRequest* request,
                                     v1::GetClusterReply* reply) {
  return unary(context, "GetCluster", request, reply, &ControllerCalls::get_cluster);
}

Unary* ControllerService::GetConfig(Context* context, const v1::GetConfigRequest* request,
                                    v1::GetConfigReply* reply) {
  return unary(context, "GetConfig", request, reply, &ControllerCalls::get_config);
}

Unary* ControllerService::Ping(Context* context, const v1::PingRequest* request, v1::PingReply* reply) {
  return unary(context, "Ping", request, reply, &ControllerCalls::ping);
}

Unary* ControllerService::CancelJob(Context* context, const v1::CancelJobRequest* request, v1::Done* reply) {
  return unary(context, "CancelJob", request, reply, &ControllerCalls::cancel_job);
}

Unary* ControllerService::CancelJobs(Context* context, const v1::CancelJobsRequest* request,
                                     v1::CancelJobsReply* reply) {
  return unary(context, "CancelJobs", request, reply, &ControllerCalls::cancel_jobs);
}

Unary* ControllerService::HoldJob(Context* context, const v1::HoldJobRequest* request, v1::Done* reply) {
  return unary(context, "HoldJob", request, reply, &ControllerCalls::hold_job);
}

Unary* ControllerService::ReleaseJob(Context* context, const v1::ReleaseJobRequest* request, v1::Done* reply) {
  return unary(context, "ReleaseJob", request, reply, &ControllerCalls::release_job);
}

Unary* ControllerService::RequeueJob(Context* context, const v1::RequeueJobRequest* request, v1::Done* reply) {
  return unary(context, "RequeueJob", request, reply, &ControllerCalls::requeue_job);
}

Unary* ControllerService::SuspendJob(Context* context, const v1::SuspendJobRequest* request, v1::Done* reply) {
  return unary(context, "SuspendJob", request, reply, &ControllerCalls::suspend_job);
}

Unary* ControllerService::UpdateJob(Context* context, const v1::UpdateJobRequest* request, v1::Done* reply) {
  return unary(context, "UpdateJob", request, reply, &ControllerCalls::update_job);
}

Unary* ControllerService::UpdateNode(Context* context, const v1::UpdateNodeRequest* request, v1::Done* reply) {
  return unary(context, "UpdateNode", request, reply, &ControllerCalls::update_node);
}

Unary* ControllerService::CreateNodes(Context* context, const v1::CreateNodesRequest* request, v1::Done* reply) {
  return unary(context, "CreateNodes", request, reply, &ControllerCalls::create_nodes);
}

Unary* ControllerService::DeleteNodes(Context* context, const v1::DeleteNodesRequest* request, v1::Done* reply) {
  return unary(context, "DeleteNodes", request, reply, &ControllerCalls::delete_nodes);
}

Unary* ControllerService::GetReservations(Context* context, const v1::GetReservationsRequest* request,
                                          v1::GetReservationsReply* reply) {
  return unary(context, "GetReservations", request, reply, &ControllerCalls::get_reservations);
}

Unary* ControllerService::CreateReservation(Context* context, const v1::CreateReservationRequest* request,
                                            v1::CreateReservationReply* reply) {
  return unary(context, "CreateReservation", request, reply, &ControllerCalls::create_reservation);
}

Unary* ControllerService::UpdateReservation(Context* context, const v1::UpdateReservationRequest* request,
                                            v1::Done* reply) {
  return unary(context, "UpdateReservation", request, reply, &ControllerCalls::update_reservation);
}

Unary* ControllerService::DeleteReservation(Context* context, const v1::DeleteReservationRequest* request,
                                            v1::Done* reply) {
  return unary(context, "DeleteReservation", request, reply, &ControllerCalls::delete_reservation);
}

Unary* ControllerService::GetShares(Context* context, const v1::GetSharesRequest* request,
                                    v1::GetSharesReply* reply) {
  return unary(context, "GetShares", request, reply, &ControllerCalls::get_shares);
}

Unary* ControllerService::GetPriorities(Context* context, const v1::GetPrioritiesRequest* request,
                                        v1::GetPrioritiesReply* reply) {
  return unary(context, "GetPriorities", request, reply, &ControllerCalls::get_priorities);
}

Unary* ControllerService::UpdatePartition(Context* context, const v1::UpdatePartitionRequest* request,
                                          v1::Done* reply) {
  return unary(context, "UpdatePartition", request, reply, &ControllerCalls::update_partition);
}

Unary* ControllerService::Reconfigure(Context* context, const v1::ReconfigureRequest* request, v1::Done* reply) {
  return unary(context, "Reconfigure", request, reply, &ControllerCalls::reconfigure);
}

Unary* ControllerService::Takeover(Context* context, const v1::TakeoverRequest* request, v1::Done* reply) {
  return unary(context, "Takeover", request, reply, &ControllerCalls::takeover);
}
Unary* ControllerService::Shutdown(Context* context, const v1::ShutdownRequest* request, v1::Done* reply) {
  return unary(context, "Shutdown", request, reply, &ControllerCalls::shutdown);
}

Unary* ControllerService::CompleteAllocation(Context* context, const v1::CompleteAllocationRequest* request,
                                             v1::Done* reply) {
  return unary(context, "CompleteAllocation", request, reply, &ControllerCalls::complete_allocation);
}

Unary* ControllerService::JobEvents(Context* context, const v1::JobEventsRequest* request,
                                    v1::JobEventsReply* reply) {
  return unary(context, "JobEvents", request, reply, &ControllerCalls::job_events);
}

Unary* ControllerService::StepTicket(Context* context, const v1::StepTicketRequest* request,
                                     v1::StepTicketReply* reply) {
  return unary(context, "StepTicket", request, reply, &ControllerCalls::step_ticket);
}

Unary* ControllerService::GetStatistics(Context* context, const v1::GetStatisticsRequest* request,
                                        v1::GetStatisticsReply* reply) {
  return unary(context, "GetStatistics", request, reply, &ControllerCalls::get_statistics);
}

Unary* ControllerService::SetDebug(Context* context, const v1::SetDebugRequest* request, v1::Done* reply) {
  return unary(context, "SetDebug", request, reply, &ControllerCalls::set_debug);
}

Unary* ControllerService::ResetUsage(Context* context, const v1::ResetUsageRequest* request, v1::Done* reply) {
  return unary(context, "ResetUsage", request, reply, &ControllerCalls::reset_usage);
}

Unary* ControllerService::GetAccountBook(Context* context, const v1::GetAccountBookRequest* request,
                                         v1::GetAccountBookReply* reply) {
  return unary(context, "GetAccountBook", request, reply, &ControllerCalls::get_account_book);
}

Unary* ControllerService::GetToken(Context* context, const v1::GetTokenRequest* request, v1::GetTokenReply* reply) {
  return unary(context, "GetToken", request, reply, &ControllerCalls::get_token);
}

Unary* ControllerService::NotifyJob(Context* context, const v1::NotifyJobRequest* request, v1::Done* reply) {
  return unary(context, "NotifyJob", request, reply, &ControllerCalls::notify_job);
}

Unary* ControllerService::TopJobs(Context* context, const v1::TopJobsRequest* request, v1::Done* reply) {
  return unary(context, "TopJobs", request, reply, &ControllerCalls::top_jobs);
}

Unary* ControllerService::SetCrontab(Context* context, const v1::SetCrontabRequest* request,
                                     v1::SetCrontabReply* reply) {
  return unary(context, "SetCrontab", request, reply, &ControllerCalls::set_crontab);
}

Unary* ControllerService::GetCrontab(Context* context, const v1::GetCrontabRequest* request,
                                     v1::GetCrontabReply* reply) {
  return unary(context, "GetCrontab", request, reply, &ControllerCalls::get_crontab);
}

Unary* ControllerService::RemoveCrontab(Context* context, const v1::RemoveCrontabRequest* request, v1::Done* reply) {
  return unary(context, "RemoveCrontab", request, reply, &ControllerCalls::remove_crontab);
}

Unary* ControllerService::CronJobs(Context* context, const v1::CronJobsRequest* request, v1::CronJobsReply* reply) {
  return unary(context, "CronJobs", request, reply, &ControllerCalls::cron_jobs);
}

Unary* ControllerService::SetTrigger(Context* context, const v1::SetTriggerRequest* request, v1::Done* reply) {
  return unary(context, "SetTrigger", request, reply, &ControllerCalls::set_trigger);
}

Unary* ControllerService::ClearTriggers(Context* context, const v1::ClearTriggersRequest* request, v1::Done* reply) {
  return unary(context, "ClearTriggers", request, reply, &ControllerCalls::clear_triggers);
}

Unary* ControllerService::GetTriggers(Context* context, const v1::GetTriggersRequest* request,
                                      v1::GetTriggersReply* reply) {
  return unary(context, "GetTriggers", request, reply, &ControllerCalls::get_triggers);
}

Unary* ControllerService::ListControllers(Context* context, const v1::ListControllersRequest* request,
                                          v1::ListControllersReply* reply) {
  return unary(context, "ListControllers", request, reply, &ControllerCalls::list_controllers);
}

Unary* ControllerService::AddController(Context* context, const v1::AddControllerRequest* request, v1::Done* reply) {
  return unary(context, "AddController", request, reply, &ControllerCalls::add_controller);
}

Unary* ControllerService::RemoveController(Context* context, const v1::RemoveControllerRequest* request,
                                           v1::Done* reply) {
  return unary(context, "RemoveController", request, reply, &ControllerCalls::remove_controller);
}

}  // namespace spur::ctld
