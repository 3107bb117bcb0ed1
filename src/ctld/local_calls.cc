// SPDX-License-Identifier: Apache-2.0
#include "ctld/local_calls.h"

#include <algorithm>
#include <array>
#include <concepts>

#include "ctld/authorization.h"
#include "wire/local_call.h"

namespace spur::ctld {
namespace {

using ReplyPtr = std::shared_ptr<LocalReply>;
using Handle = void (*)(ControllerCalls&, std::string_view method, const model::Caller&, std::string_view message,
                        ReplyPtr);

void end(LocalReply& reply, const Status& status) {
  std::string bytes;
  wire::append_local_end(status, &bytes);
  reply.send_last(bytes);
}

template <class Message>
Result<std::shared_ptr<Message>> parse(std::string_view bytes) {
  auto message = std::make_shared<Message>();
  if (!message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(ErrorCode::InvalidArgument, "the request is garbled");
  return message;
}

template <auto Method, class Request, class Reply>
void handle(ControllerCalls& calls, std::string_view method, const model::Caller& caller, std::string_view message,
            ReplyPtr reply) {
  auto request = parse<Request>(message);
  if (!request) return end(*reply, std::unexpected(request.error()));
  const Request& given = **request;
  // The answer keeps the request alive for as long as it may be needed.
  const auto answer = [request = std::move(*request), reply, note = calls.follower_note()](Result<Reply> result) {
    if (!result) return end(*reply, std::unexpected(std::move(result.error())));
    std::string bytes;
    wire::append_local_message(*result, &bytes);
    wire::append_local_end({}, &bytes, note);
    reply->send_last(bytes);
  };
  const auto counted = calls.counted<Reply>(method, caller, answer);
  if constexpr (std::same_as<Request, v1::WaitJobRequest>)
    (calls.*Method)(caller, given, counted, [reply] { return reply->gone(); });
  else
    (calls.*Method)(caller, given, counted);
}

struct LocalRow {
  std::string_view method;
  Handle handle;
};

template <class Request, class Reply, auto Method>
constexpr LocalRow row(std::string_view name) {
  return {name, &handle<Method, Request, Reply>};
}

constexpr std::array kRows{
    row<v1::SubmitJobRequest, v1::SubmitJobReply, &ControllerCalls::submit_job>("SubmitJob"),
    row<v1::WillRunRequest, v1::WillRunReply, &ControllerCalls::will_run>("WillRun"),
    row<v1::ExplainJobRequest, v1::ExplainJobReply, &ControllerCalls::explain_job>("ExplainJob"),
    row<v1::GetClusterRequest, v1::GetClusterReply, &ControllerCalls::get_cluster>("GetCluster"),
    row<v1::GetConfigRequest, v1::GetConfigReply, &ControllerCalls::get_config>("GetConfig"),
    row<v1::PingRequest, v1::PingReply, &ControllerCalls::ping>("Ping"),
    row<v1::CancelJobRequest, v1::Done, &ControllerCalls::cancel_job>("CancelJob"),
    row<v1::CancelJobsRequest, v1::CancelJobsReply, &ControllerCalls::cancel_jobs>("CancelJobs"),
    row<v1::HoldJobRequest, v1::Done, &ControllerCalls::hold_job>("HoldJob"),
    row<v1::ReleaseJobRequest, v1::Done, &ControllerCalls::release_job>("ReleaseJob"),
    row<v1::RequeueJobRequest, v1::Done, &ControllerCalls::requeue_job>("RequeueJob"),
    row<v1::SuspendJobRequest, v1::Done, &ControllerCalls::suspend_job>("SuspendJob"),
    row<v1::UpdateJobRequest, v1::Done, &ControllerCalls::update_job>("UpdateJob"),
    row<v1::UpdateNodeRequest, v1::Done, &ControllerCalls::update_node>("UpdateNode"),
    row<v1::CreateNodesRequest, v1::Done, &ControllerCalls::create_nodes>("CreateNodes"),
    row<v1::DeleteNodesRequest, v1::Done, &ControllerCalls::delete_nodes>("DeleteNodes"),
    row<v1::GetReservationsRequest, v1::GetReservationsReply, &ControllerCalls::get_reservations>("GetReservations"),
    row<v1::CreateReservationRequest, v1::CreateReservationReply, &ControllerCalls::create_reservation>(
        "CreateReservation"),
    row<v1::UpdateReservationRequest, v1::Done, &ControllerCalls::update_reservation>("UpdateReservation"),
    row<v1::DeleteReservationRequest, v1::Done, &ControllerCalls::delete_reservation>("DeleteReservation"),
    row<v1::GetPrioritiesRequest, v1::GetPrioritiesReply, &ControllerCalls::get_priorities>("GetPriorities"),
    row<v1::GetSharesRequest, v1::GetSharesReply, &ControllerCalls::get_shares>("GetShares"),
    row<v1::GetAccountBookRequest, v1::GetAccountBookReply, &ControllerCalls::get_account_book>("GetAccountBook"),
    row<v1::GetTokenRequest, v1::GetTokenReply, &ControllerCalls::get_token>("GetToken"),
    row<v1::UpdatePartitionRequest, v1::Done, &ControllerCalls::update_partition>("UpdatePartition"),
    row<v1::ReconfigureRequest, v1::Done, &ControllerCalls::reconfigure>("Reconfigure"),
    row<v1::ShutdownRequest, v1::Done, &ControllerCalls::shutdown>("Shutdown"),
    row<v1::TakeoverRequest, v1::Done, &ControllerCalls::takeover>("Takeover"),
    row<v1::NotifyJobRequest, v1::Done, &ControllerCalls::notify_job>("NotifyJob"),
    row<v1::CompleteAllocationRequest, v1::Done, &ControllerCalls::complete_allocation>("CompleteAllocation"),
    row<v1::StepTicketRequest, v1::StepTicketReply, &ControllerCalls::step_ticket>("StepTicket"),
    row<v1::GetStatisticsRequest, v1::GetStatisticsReply, &ControllerCalls::get_statistics>("GetStatistics"),
    row<v1::SetDebugRequest, v1::Done, &ControllerCalls::set_debug>("SetDebug"),
    row<v1::ResetUsageRequest, v1::Done, &ControllerCalls::reset_usage>("ResetUsage"),
    row<v1::TopJobsRequest, v1::Done, &ControllerCalls::top_jobs>("TopJobs"),
    row<v1::SetCrontabRequest, v1::SetCrontabReply, &ControllerCalls::set_crontab>("SetCrontab"),
    row<v1::GetCrontabRequest, v1::GetCrontabReply, &ControllerCalls::get_crontab>("GetCrontab"),
    row<v1::RemoveCrontabRequest, v1::Done, &ControllerCalls::remove_crontab>("RemoveCrontab"),
    row<v1::CronJobsRequest, v1::CronJobsReply, &ControllerCalls::cron_jobs>("CronJobs"),
    row<v1::SetTriggerRequest, v1::Done, &ControllerCalls::set_trigger>("SetTrigger"),
    row<v1::ClearTriggersRequest, v1::Done, &ControllerCalls::clear_triggers>("ClearTriggers"),
    row<v1::GetTriggersRequest, v1::GetTriggersReply, &ControllerCalls::get_triggers>("GetTriggers"),
    row<v1::JobEventsRequest, v1::JobEventsReply, &ControllerCalls::job_events>("JobEvents"),
    row<v1::ListControllersRequest, v1::ListControllersReply, &ControllerCalls::list_controllers>("ListControllers"),
    row<v1::AddControllerRequest, v1::Done, &ControllerCalls::add_controller>("AddController"),
    row<v1::RemoveControllerRequest, v1::Done, &ControllerCalls::remove_controller>("RemoveController"),
    row<v1::WaitJobRequest, v1::WaitJobReply, &ControllerCalls::wait_job>("WaitJob"),
};

class LocalWatch final : public WatchSink {
 public:
  explicit LocalWatch(ReplyPtr reply) : reply_(std::move(reply)) {}
  bool gone() const override { return reply_->gone(); }
  bool drained() const override { return reply_->drained(); }
  void send(const v1::JobChanges& changes) override {
    std::string bytes;
    wire::append_local_message(changes, &bytes);
    reply_->send(bytes);
  }
  void end(const Status& status) override { ctld::end(*reply_, status); }

 private:
  ReplyPtr reply_;
};

// A thread uses one message again for all that it puts together: half the cost of a short list is its memory.
void append_next(JobChunks* chunks, std::string* out) {
  constexpr std::size_t kKeptBytes = std::size_t{1} << 20;
  thread_local v1::JobChunk chunk;
  if (chunks->next(&chunk)) wire::append_local_message(chunk, out);
  chunk.Clear();
  if (out->size() > kKeptBytes) chunk = v1::JobChunk();
}

}  // namespace

void LocalCalls::take(Uid uid, Gid gid, std::string frame, std::shared_ptr<LocalReply> reply) {
  const auto kept = std::make_shared<const std::string>(std::move(frame));  // what is parsed from it points into it
  const auto request = wire::parse_local_request(*kept);
  if (!request) return end(*reply, std::unexpected(request.error()));
  const auto caller = identify_.local(uid, gid, calls_.picture()->view);
  if (!caller) return end(*reply, std::unexpected(caller.error()));
  calls_.audit(request->method, *caller);
  if (auto allowed = authorize(request->method, *caller); !allowed) return end(*reply, allowed);
  if (auto role = calls_.check_role(request->method, false); !role) return end(*reply, role);
  calls_.when_current(request->method, [this, kept, request = *request, caller = *caller,
                                        reply = std::move(reply)](const Status& current) {
    current ? begin(request.method, caller, request.message, reply) : end(*reply, current);
  });
}

void LocalCalls::begin(std::string_view method, const model::Caller& caller, std::string_view message,
                       const std::shared_ptr<LocalReply>& reply) {
  if (method == "ListJobs") return list_jobs(caller, message, reply);
  if (method == "WatchJobs") return watch_jobs(caller, message, reply);
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const LocalRow& r) { return r.method == method; });
  if (row == kRows.end())
    return end(*reply, fail(ErrorCode::NotSupported, "there is no call " + std::string(method)));
  row->handle(calls_, row->method, caller, message, reply);
}

void LocalCalls::list_jobs(const model::Caller& caller, std::string_view message, std::shared_ptr<LocalReply> reply) {
  const auto request = parse<v1::ListJobsRequest>(message);
  if (!request) return end(*reply, std::unexpected(request.error()));
  calls_.list_jobs(caller, **request, [reply = std::move(reply), note = calls_.follower_note()](Result<std::shared_ptr<JobChunks>> chunks) {
    if (!chunks) return end(*reply, std::unexpected(chunks.error()));
    if ((*chunks)->is_short()) {
      std::string bytes;
      append_next(chunks->get(), &bytes);
      wire::append_local_end({}, &bytes, note);
      return reply->send_last(bytes);
    }
    reply->stream([chunks = std::move(*chunks), note](std::string* out) {
      append_next(chunks.get(), out);
      // The end goes with the last piece: a short answer is one.
      if (!chunks->at_end()) return true;
      wire::append_local_end({}, out, note);
      return false;
    });
  });
}

void LocalCalls::watch_jobs(const model::Caller& caller, std::string_view message, const ReplyPtr& reply) {
  const auto request = parse<v1::WatchJobsRequest>(message);
  if (!request) return end(*reply, std::unexpected(request.error()));
  if (auto added = calls_.watch_jobs(caller, **request, std::make_shared<LocalWatch>(reply)); !added)
    end(*reply, added);
}

}  // namespace spur::ctld
