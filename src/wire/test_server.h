// SPDX-License-Identifier: Apache-2.0
// For tests: a stock grpc++ server (callback API) with the services of our protos, on a unix socket and a loopback port.
// What it does depends on the request, as written beside each method.
#pragma once

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "spur/v1/controller.grpc.pb.h"
#include "wire/error_map.h"

namespace spur::wire {

class TestServer {
 public:
  TestServer() {
    char pattern[] = "/tmp/spur-wire-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    start();
  }
  ~TestServer() {
    stop();
    std::filesystem::remove_all(directory_);
  }
  void start() {
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(64 << 20);
    builder.AddChannelArgument("grpc.http2.min_ping_interval_without_data_ms", 10);
    builder.AddChannelArgument("grpc.http2.max_ping_strikes", 0);
    builder.AddListeningPort(unix_address(), grpc::InsecureServerCredentials());
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&controller_);
    builder.RegisterService(&link_);
    server_ = builder.BuildAndStart();
  }
  void stop() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
    server_.reset();
  }
  std::string directory() const { return directory_; }
  std::string unix_address() const { return "unix:" + directory_ + "/s"; }
  std::string tcp_address() const { return "127.0.0.1:" + std::to_string(port_); }

  std::atomic<int> calls{0};
  std::string last_credential() {
    const std::lock_guard lock(mutex_);
    return last_credential_;
  }

 private:
  template <class Context>
  grpc::ServerUnaryReactor* finish(Context* context, const grpc::Status& status) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }
  void note(const grpc::CallbackServerContext& context) {
    ++calls;
    const std::lock_guard lock(mutex_);
    const auto at = context.client_metadata().find(std::string(kCredentialMetadata));
    last_credential_ = at == context.client_metadata().end() ? "" : std::string(at->second.data(), at->second.size());
  }

  class ControllerService final : public v1::Controller::CallbackService {
   public:
    explicit ControllerService(TestServer* server) : server_(server) {}

    grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* context, const v1::PingRequest*, v1::PingReply* reply) override {
      server_->note(*context);
      reply->set_host("tester");
      reply->set_is_leader(true);
      reply->set_started_us(17);
      return server_->finish(context, grpc::Status::OK);
    }
    // The job's id is the length of its script.
    grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context, const v1::SubmitJobRequest* request,
                                        v1::SubmitJobReply* reply) override {
      server_->note(*context);
      reply->set_job(static_cast<std::uint32_t>(request->spec().script().size()));
      return server_->finish(context, grpc::Status::OK);
    }
    // Five megabytes.
    grpc::ServerUnaryReactor* GetConfig(grpc::CallbackServerContext* context, const v1::GetConfigRequest*,
                                        v1::GetConfigReply* reply) override {
      reply->mutable_config()->set_cluster_name(std::string(5 << 20, 'c'));
      return server_->finish(context, grpc::Status::OK);
    }
    // An error whose number is the target's id; a sentence that needs escaping.
    grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context, const v1::CancelJobRequest* request,
                                        v1::Done*) override {
      ++server_->calls;
      const auto code = static_cast<ErrorCode>(request->target().id());
      context->AddTrailingMetadata(std::string(kErrorMetadata), std::to_string(request->target().id()));
      context->AddTrailingMetadata("more-bin", std::string("\0\xff", 2));
      return server_->finish(context, grpc::Status(static_cast<grpc::StatusCode>(grpc_status_of(code)), "50 % of \"Bücher\"\nare lost"));
    }
    // Never answers.
    grpc::ServerUnaryReactor* WaitJob(grpc::CallbackServerContext*, const v1::WaitJobRequest*, v1::WaitJobReply*) override {
      ++server_->calls;
      class Forever final : public grpc::ServerUnaryReactor {
        void OnCancel() override { Finish(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "too late")); }
        void OnDone() override { delete this; }
      };
      return new Forever;
    }
    // As many empty chunks as the first user id says, numbered by as_of; with a second user id it fails after them.
    grpc::ServerWriteReactor<v1::JobChunk>* ListJobs(grpc::CallbackServerContext*, const v1::ListJobsRequest* request) override {
      class Writer final : public grpc::ServerWriteReactor<v1::JobChunk> {
       public:
        Writer(std::uint32_t count, bool fails) : count_(count), fails_(fails) { next(); }

       private:
        void next() {
          if (sent_ == count_) {
            Finish(fails_ ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone") : grpc::Status::OK);
            return;
          }
          chunk_.set_as_of_us(++sent_);
          StartWrite(&chunk_);
        }
        void OnWriteDone(bool ok) override { ok ? next() : Finish(grpc::Status::CANCELLED); }
        void OnDone() override { delete this; }
        std::uint32_t count_, sent_ = 0;
        bool fails_;
        v1::JobChunk chunk_;
      };
      return new Writer(request->users(0), request->users_size() > 1);
    }

   private:
    TestServer* server_;
  };

  // Answers each heartbeat with a signal of its number; a hello is answered by ending the stream.
  class LinkService final : public v1::AgentLink::CallbackService {
    grpc::ServerBidiReactor<v1::AgentMessage, v1::ControllerMessage>* Connect(grpc::CallbackServerContext*) override {
      class Echo final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::ControllerMessage> {
       public:
        Echo() { StartRead(&in_); }

       private:
        void OnReadDone(bool ok) override {
          if (!ok) return Finish(grpc::Status::OK);
          if (in_.has_hello()) return Finish(grpc::Status(grpc::StatusCode::ABORTED, "go away"));
          out_.mutable_signal()->set_signal(static_cast<int>(in_.heartbeat().sequence()));
          StartWrite(&out_);
        }
        void OnWriteDone(bool ok) override {
          if (ok) StartRead(&in_);
          else Finish(grpc::Status::CANCELLED);
        }
        void OnDone() override { delete this; }
        v1::AgentMessage in_;
        v1::ControllerMessage out_;
      };
      return new Echo;
    }
  };

  std::string directory_;
  int port_ = 0;
  ControllerService controller_{this};
  LinkService link_;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::string last_credential_;
};

}  // namespace spur::wire
