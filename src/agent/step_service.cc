// SPDX-License-Identifier: Apache-2.0
#include "agent/step_service.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <deque>
#include <mutex>
#include <utility>

#include "agent/byte_buffer.h"
#include "wire/error_map.h"

namespace spur::agent {
namespace {

constexpr std::size_t kPauseAt = 32, kResumeAt = 8;  // outputs waiting to be written, of up to 512 KiB each
constexpr int kInputsAhead = 8;                      // inputs of the same size on their way to the tasks
constexpr int kMaxMessageBytes = 16 << 20;

// Without copying: the buffer owns the text.
grpc::ByteBuffer buffer_of(std::string bytes) {
  auto* owned = new std::string(std::move(bytes));
  const grpc::Slice slice(
      owned->data(), owned->size(), [](void* text) { delete static_cast<std::string*>(text); }, owned);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

// Holds itself until gRPC is done with it. The session lives and dies on the agent's thread.
class StepService::Stream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                                  public std::enable_shared_from_this<Stream> {
 public:
  Stream(StepService& service, grpc::CallbackServerContext* context) : service_(service), context_(context) {}

  void begin() {
    self_ = shared_from_this();
    service_.post_([self = self_] { self->open_session(); });
    StartRead(&in_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;  // srun sends no more; its output goes on. A broken stream shows as OnCancel.
    service_.post_([self = shared_from_this(), bytes = bytes_of(in_)]() mutable { self->hand_on(std::move(bytes)); });
    std::lock_guard lock(mutex_);
    in_.Clear();
    if (++inputs_ < kInputsAhead && !finished_)
      StartRead(&in_);
    else
      reading_ = false;
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    writing_ = false;
    if (!queue_.empty()) queue_.pop_front();
    if (!ok) return;
    if (paused_ && queue_.size() <= kResumeAt) {
      paused_ = false;
      service_.post_([self = shared_from_this()] {
        if (self->session_) self->session_->pause(false);
      });
    }
    write_next_locked();
  }

  void OnCancel() override {
    service_.post_([self = shared_from_this()] { self->session_.reset(); });  // ends the tasks
    std::lock_guard lock(mutex_);
    finish_locked(grpc::Status::CANCELLED);
  }

  void OnDone() override {
    service_.post_([self = std::move(self_)] { self->session_.reset(); });
  }

 private:
  void open_session() {
    session_ = std::make_unique<StepSession>(
        service_.context_,
        StepSession::Events{.output = [this](v1::StepOutput output) { queue_output(output.SerializeAsString()); },
                            .finished = [this](Status status) { finish_after_output(std::move(status)); },
                            .data = [this](std::string bytes) { queue_output(std::move(bytes)); }});
  }

  void hand_on(std::string bytes) {
    if (!session_) return;
    const std::function<void()> done = [self = shared_from_this()] { self->taken(); };
    constexpr char kStdin = static_cast<char>(v1::StepInput::kStdinDataFieldNumber << 3 | 2);
    if (!bytes.empty() && bytes.front() == kStdin && session_->pass_bytes(bytes, done)) return;
    v1::StepInput input;
    if (!input.ParseFromString(bytes)) input.Clear();  // which the session refuses
    session_->input(std::move(input), done);
  }

  void taken() {
    std::lock_guard lock(mutex_);
    --inputs_;
    if (finished_ || std::exchange(reading_, true)) return;
    StartRead(&in_);
  }

  void queue_output(std::string bytes) {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    queue_.push_back(buffer_of(std::move(bytes)));
    if (!paused_ && queue_.size() >= kPauseAt) {
      paused_ = true;
      if (session_) session_->pause(true);
    }
    write_next_locked();
  }

  void finish_after_output(Status status) {
    std::lock_guard lock(mutex_);
    grpc::Status end = grpc::Status::OK;
    if (!status) {
      context_->AddTrailingMetadata("spur-error", std::to_string(static_cast<unsigned>(status.error().code)));
      end = grpc::Status(static_cast<grpc::StatusCode>(wire::grpc_status_of(status.error().code)),
                         status.error().message);
    }
    end_ = std::move(end);
    write_next_locked();
  }

  void write_next_locked() {
    if (writing_ || finished_) return;
    if (!queue_.empty()) {
      writing_ = true;
      StartWrite(&queue_.front());
    } else if (end_) {
      finish_locked(*end_);
    }
  }

  void finish_locked(const grpc::Status& status) {
    if (std::exchange(finished_, true)) return;
    Finish(status);
  }

  StepService& service_;
  grpc::CallbackServerContext* context_;
  std::shared_ptr<Stream> self_;
  std::unique_ptr<StepSession> session_;
  grpc::ByteBuffer in_;
  std::mutex mutex_;
  std::deque<grpc::ByteBuffer> queue_;  // the front is being written while writing_
  std::optional<grpc::Status> end_;
  int inputs_ = 0;       // read and not yet taken
  bool reading_ = true;  // another one is being read
  bool writing_ = false, finished_ = false, paused_ = false;
};

StepService::StepService(StepContext& context, std::string version, Time started,
                         std::function<void(std::function<void()>)> post)
    : context_(context), version_(std::move(version)), started_(started), post_(std::move(post)) {}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StepService::RunStep(
    grpc::CallbackServerContext* context) {
  auto stream = std::make_shared<Stream>(*this, context);
  stream->begin();
  return stream.get();
}

namespace {

grpc::Status status_of(grpc::CallbackServerContext* context, const Error& error) {
  context->AddTrailingMetadata("spur-error", std::to_string(static_cast<unsigned>(error.code)));
  return grpc::Status(static_cast<grpc::StatusCode>(wire::grpc_status_of(error.code)), error.message);
}

Status signal_step(StepContext& context, const v1::SignalStepRequest& request) {
  SPUR_ASSIGN(const auto ticket, context.verify(request.ticket()));
  if (ticket.kind != io::CredentialKind::StepTicket)
    return fail(ErrorCode::Unauthenticated, "this is not a ticket for a step");
  ManagedStep* step = context.find(ticket.job, request.step());
  if (!step) return fail(ErrorCode::JobAlreadyDone, "Job/step already completing or completed");
  if (request.has_time_limit()) return step->set_time_limit(TimeLimit::from_raw(request.time_limit()));
  step->signal(request.signal());
  return {};
}

}  // namespace

grpc::ServerUnaryReactor* StepService::ListSteps(grpc::CallbackServerContext* context,
                                                 const v1::ListStepsRequest* request, v1::ListStepsReply* reply) {
  auto* reactor = context->DefaultReactor();
  post_([this, reactor, request, reply] {
    for (const auto& [raw, step] : context_.steps)
      if (step->running() && (request->job() == 0 || request->job() == step->info().job()))
        *reply->add_steps() = step->info();
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerUnaryReactor* StepService::SignalStep(grpc::CallbackServerContext* context,
                                                  const v1::SignalStepRequest* request, v1::SignalStepReply*) {
  auto* reactor = context->DefaultReactor();
  post_([this, reactor, request, context] {
    const Status done = signal_step(context_, *request);
    reactor->Finish(done ? grpc::Status::OK : status_of(context, done.error()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* StepService::Ping(grpc::CallbackServerContext* context, const v1::AgentPingRequest*,
                                            v1::AgentPingReply* reply) {
  reply->set_node(context_.node);
  reply->set_version(version_);
  reply->set_started_us(to_micros(started_));
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

Status StepService::tell_usage(const v1::JobUsageRequest& request, v1::JobUsageReply& reply) {
  SPUR_ASSIGN(const auto ticket, context_.verify(request.ticket()));
  if (ticket.kind != io::CredentialKind::StepTicket)
    return fail(ErrorCode::Unauthenticated, "this is not a ticket for a job");
  const model::ControllerLaunch* launch = context_.agent.held(ticket.job);
  if (!launch || launch->run.epoch != ticket.epoch)
    return fail(ErrorCode::InvalidJobId, fmt::format("job {} is not on node {}", ticket.job.value, context_.node));
  reply.set_node(context_.node);
  if (context_.usage)
    for (auto& step : context_.usage(ticket.job)) *reply.add_steps() = std::move(step);
  return {};
}

grpc::ServerUnaryReactor* StepService::JobUsage(grpc::CallbackServerContext* context,
                                                const v1::JobUsageRequest* request, v1::JobUsageReply* reply) {
  auto* reactor = context->DefaultReactor();
  post_([this, context, request, reply, reactor] {
    const Status told = tell_usage(*request, *reply);
    if (told) return reactor->Finish(grpc::Status::OK);
    context->AddTrailingMetadata("spur-error", std::to_string(static_cast<unsigned>(told.error().code)));
    reactor->Finish(
        grpc::Status(static_cast<grpc::StatusCode>(wire::grpc_status_of(told.error().code)), told.error().message));
  });
  return reactor;
}

Result<std::unique_ptr<grpc::Server>> serve_steps(const std::string& address, StepService& service, int* port,
                                                  Duration shortest_ping_interval,
                                                  const std::vector<grpc::Service*>& more) {
  // Its own lines on stderr say the same as our errors, at length and for its developers.
  gpr_set_log_verbosity(static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1));
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A step may be silent for days: both sides ask whether the other is there, and gRPC takes that for abuse unless
  // told.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             static_cast<int>(shortest_ping_interval / milliseconds(1)));
  // Pieces of half a megabyte go to and fro: without this each would wait for acknowledgements several times.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 8 << 20);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 1 << 20);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, 1 << 20);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), port);
  builder.RegisterService(&service);
  for (grpc::Service* other : more) builder.RegisterService(other);
  auto server = builder.BuildAndStart();
  if (!server || *port == 0)
    return fail(ErrorCode::Unreachable,
                fmt::format("cannot listen on {}: the address is in use or not ours", address));
  return server;
}

}  // namespace spur::agent
