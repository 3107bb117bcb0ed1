// SPDX-License-Identifier: Apache-2.0
// The server of test_server.h, and a stock grpc++ client that talks to it: what our channel talks to is plain gRPC.
#include "wire/test_server.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>

#include "spur/v1/agent.grpc.pb.h"
#include "spur/v1/controller.grpc.pb.h"
#include "wire/error_map.h"

namespace spur::wire {

struct TestServer::Services {
  explicit Services(TestServer* owner) : calls(owner->calls) {}

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
    explicit ControllerService(Services* server) : server_(server) {}

    grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* context, const v1::PingRequest*,
                                   v1::PingReply* reply) override {
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
      return server_->finish(
          context, grpc::Status(static_cast<grpc::StatusCode>(grpc_status_of(code)), "50 % of \"Bücher\"\nare lost"));
    }
    // Job 0 is never answered; of others the server is not the leader until it has been asked as often as their id
    // says.
    grpc::ServerUnaryReactor* WaitJob(grpc::CallbackServerContext* context, const v1::WaitJobRequest* request,
                                      v1::WaitJobReply* reply) override {
      const int call = ++server_->calls;
      if (request->job() != 0) {
        reply->mutable_job()->set_id(request->job());
        reply->mutable_job()->mutable_spec()->set_name(request->until_final() ? "final" : "started");
        const bool leads = call >= static_cast<int>(request->job());
        context->AddTrailingMetadata(std::string(kErrorMetadata),
                                     std::to_string(static_cast<int>(ErrorCode::NotLeader)));
        return server_->finish(context,
                               leads ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAVAILABLE, "not me"));
      }
      class Forever final : public grpc::ServerUnaryReactor {
        void OnCancel() override { Finish(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "too late")); }
        void OnDone() override { delete this; }
      };
      return new Forever;
    }
    // As many empty chunks as the first user id says, numbered by as_of; with a second user id it fails after them.
    grpc::ServerWriteReactor<v1::JobChunk>* ListJobs(grpc::CallbackServerContext*,
                                                     const v1::ListJobsRequest* request) override {
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
    Services* server_;
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
          if (ok)
            StartRead(&in_);
          else
            Finish(grpc::Status::CANCELLED);
        }
        void OnDone() override { delete this; }
        v1::AgentMessage in_;
        v1::ControllerMessage out_;
      };
      return new Echo;
    }
  };

  // Starts one task on "n1": what comes in goes out, a signal ends it by that signal, the end of input with status 3.
  // A ticket "bad" is refused; a program "vanish" ends the stream without a word.
  class StepService final : public v1::NodeAgent::CallbackService {
    grpc::ServerBidiReactor<v1::StepInput, v1::StepOutput>* RunStep(grpc::CallbackServerContext*) override {
      class Step final : public grpc::ServerBidiReactor<v1::StepInput, v1::StepOutput> {
       public:
        Step() { StartRead(&in_); }

       private:
        void OnReadDone(bool ok) override {
          if (!ok) return Finish(grpc::Status::CANCELLED);
          out_.Clear();
          if (in_.has_start()) {
            if (in_.start().ticket() == "bad")
              return Finish(grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "bad ticket"));
            if (in_.start().argv(0) == "vanish") return Finish(grpc::Status::OK);
            out_.mutable_started()->set_node("n1");
            out_.mutable_started()->set_step(4);
            out_.mutable_started()->add_pids(77);
          } else if (in_.has_signal() || in_.stdin_data().eof()) {
            auto* exit = out_.mutable_task_exit();
            exit->set_node("n1");
            exit->set_signal(static_cast<std::uint32_t>(in_.signal().signal()));
            exit->set_code(in_.has_signal() ? 0 : 3);
            exited_ = true;
          } else if (in_.has_window()) {
            out_.mutable_error()->set_code(static_cast<std::uint32_t>(ErrorCode::StepTooLarge));
            out_.mutable_error()->set_text("too large a window");
          } else {
            out_.mutable_data()->set_data(in_.stdin_data().data());
            out_.mutable_data()->set_rank(in_.stdin_data().task());
            out_.mutable_data()->set_is_stderr(in_.stdin_data().has_task());
          }
          StartWrite(&out_);
        }
        void OnWriteDone(bool ok) override {
          if (!ok) return Finish(grpc::Status::CANCELLED);
          if (out_.has_done()) return Finish(grpc::Status::OK);
          if (!exited_) return StartRead(&in_);
          out_.mutable_done();
          StartWrite(&out_);
        }
        void OnDone() override { delete this; }
        v1::StepInput in_;
        v1::StepOutput out_;
        bool exited_ = false;
      };
      return new Step;
    }
    grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* context, const v1::AgentPingRequest*,
                                   v1::AgentPingReply* reply) override {
      reply->set_node("n1");
      auto* reactor = context->DefaultReactor();
      reactor->Finish(grpc::Status::OK);
      return reactor;
    }
  };

  std::atomic<int>& calls;
  std::string directory_;
  int port_ = 0;
  ControllerService controller_{this};
  LinkService link_;
  StepService steps_;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::string last_credential_;
};

TestServer::TestServer() : services_(std::make_unique<Services>(this)) {
  // Held for the life of the process: when the last user of grpc++ goes, it may wait ten seconds for its own threads.
  static const bool kept = (grpc_init(), true);
  (void)kept;
  char pattern[] = "/tmp/spur-wire-XXXXXX";
  services_->directory_ = ::mkdtemp(pattern);
  start();
}

TestServer::~TestServer() {
  stop();
  std::filesystem::remove_all(directory());
}

void TestServer::start() {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(64 << 20);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);  // the tests turn the clock faster than any ping
  builder.AddListeningPort(unix_address(), grpc::InsecureServerCredentials());
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &services_->port_);
  builder.RegisterService(&services_->controller_);
  builder.RegisterService(&services_->link_);
  builder.RegisterService(&services_->steps_);
  services_->server_ = builder.BuildAndStart();
}

void TestServer::stop() {
  if (services_->server_)
    services_->server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  services_->server_.reset();
}

std::string TestServer::directory() const {
  return services_->directory_;
}
std::string TestServer::unix_address() const {
  return "unix:" + directory() + "/s";
}
std::string TestServer::tcp_address() const {
  return "127.0.0.1:" + std::to_string(services_->port_);
}
std::string TestServer::last_credential() const {
  const std::lock_guard lock(services_->mutex_);
  return services_->last_credential_;
}

namespace {

TEST(TestServer, AStockClientIsServedToo) {
  TestServer server;
  auto stub = v1::Controller::NewStub(grpc::CreateChannel(server.tcp_address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext ping_context;
  v1::PingReply reply;
  ASSERT_TRUE(stub->Ping(&ping_context, {}, &reply).ok());
  EXPECT_EQ(reply.host(), "tester");

  grpc::ClientContext list_context;
  v1::ListJobsRequest request;
  request.add_users(10);
  auto reader = stub->ListJobs(&list_context, request);
  v1::JobChunk chunk;
  int chunks = 0;
  while (reader->Read(&chunk)) ++chunks;
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(chunks, 10);

  grpc::ClientContext cancel_context;
  v1::CancelJobRequest cancel;
  cancel.mutable_target()->set_id(static_cast<std::uint32_t>(ErrorCode::InvalidJobId));
  v1::Done done;
  const auto status = stub->CancelJob(&cancel_context, cancel, &done);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  const auto& trailers = cancel_context.GetServerTrailingMetadata();
  EXPECT_EQ(trailers.count(std::string(kErrorMetadata)), 1u);

  auto link = v1::AgentLink::NewStub(grpc::CreateChannel(server.unix_address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext link_context;
  auto stream = link->Connect(&link_context);
  v1::AgentMessage beat;
  beat.mutable_heartbeat()->set_sequence(6);
  v1::ControllerMessage signal;
  ASSERT_TRUE(stream->Write(beat) && stream->Read(&signal));
  EXPECT_EQ(signal.signal().signal(), 6);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace spur::wire
