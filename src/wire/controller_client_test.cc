// SPDX-License-Identifier: Apache-2.0
// ControllerClient and its credential, against a stock grpc++ server and an auth socket of the test's own.
#include "wire/controller_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "spur/v1/controller.pb.h"
#include "spur/v1/credential.pb.h"
#include "wire/credential_client.h"
#include "wire/envelope.h"
#include "wire/id_codec.h"
#include "wire/job_codec.h"
#include "wire/job_list_codec.h"
#include "wire/model_fields.h"
#include "wire/spec_codec.h"
#include "wire/test_server.h"

namespace spur::wire {
namespace {

// Answers each connection with the given bytes and hangs up.
class FakeAuthSocket {
 public:
  FakeAuthSocket(std::string path, std::string answer) : path_(std::move(path)), answer_(std::move(answer)) {
    fd_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    path_.copy(at.sun_path, sizeof at.sun_path - 1);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(fd_, 8), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeAuthSocket() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  std::atomic<int> asked{0};
  std::string audience() {
    const std::lock_guard lock(mutex_);
    return audience_;
  }

 private:
  void serve() {
    for (;;) {
      const int fd = ::accept(fd_, nullptr, nullptr);
      if (fd < 0) return;
      char buffer[512];
      const ssize_t size = ::recv(fd, buffer, sizeof buffer, 0);
      v1::CredentialRequest request;
      EXPECT_GE(size, 4);
      EXPECT_EQ(get_u32(buffer), static_cast<std::uint32_t>(size - 4));
      EXPECT_TRUE(request.ParseFromArray(buffer + 4, static_cast<int>(size - 4)));
      {
        const std::lock_guard lock(mutex_);
        audience_ = request.audience();
      }
      ++asked;
      (void)!::send(fd, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      ::close(fd);
    }
  }
  std::string path_, answer_, audience_;
  int fd_ = -1;
  std::mutex mutex_;
  std::thread thread_;
};

std::string framed(const std::string& bytes) {
  std::string out(4, '\0');
  put_u32(static_cast<std::uint32_t>(bytes.size()), out.data());
  return out + bytes;
}

std::string credential_bytes(Time expires) {
  v1::CredentialPayload payload;
  payload.set_expires_us(to_micros(expires));
  v1::Credential credential;
  credential.set_payload(payload.SerializeAsString());
  credential.set_signature("signed");
  return credential.SerializeAsString();
}

const Time kNever = from_unix_seconds(4'000'000'000);

class ControllerClientTest : public testing::Test {
 protected:
  ClientOptions options() {
    return {.controllers = {server_.unix_address()}, .auth_socket = "", .timeout = seconds(20)};
  }
  std::string auth_path() const { return server_.directory() + "/auth"; }
  TestServer server_;
};

TEST_F(ControllerClientTest, CallsAndErrorsComeThrough) {
  ControllerClient client(options());
  model::JobSpec spec;
  spec.script = std::make_shared<const std::string>("#!/bin/sh\n");
  EXPECT_EQ(client.submit(spec, "token"), JobId{10});
  EXPECT_EQ(client.submit(model::JobSpec{}, "token").error().code, ErrorCode::Internal);  // the server's job id is 0
  const auto ping = client.ping(0);
  ASSERT_TRUE(ping);
  EXPECT_EQ(ping->host, "tester");
  EXPECT_EQ(to_micros(ping->started), 17);
  EXPECT_EQ(client.ping(1).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(client.controller_count(), 1u);
  const auto config = client.config();
  ASSERT_TRUE(config);
  EXPECT_EQ(config->cluster_name.size(), std::size_t{5} << 20);
  const state::JobTarget target{JobId(static_cast<std::uint32_t>(ErrorCode::JobAlreadyDone)), {}};
  EXPECT_EQ(client.cancel(target, 0, false, false).error().code, ErrorCode::JobAlreadyDone);
  EXPECT_EQ(client.hold(target, model::Hold::User).error().code,
            ErrorCode::NotSupported);  // the test server lacks it
  EXPECT_EQ(client.update_job(target, {}, {"nonsense"}).error().code, ErrorCode::InvalidArgument);
}

TEST_F(ControllerClientTest, NoControllerIsUnreachable) {
  auto where = options();
  where.controllers = {"unix:" + server_.directory() + "/nobody"};
  ControllerClient client(where);
  EXPECT_EQ(client.cluster().error().code, ErrorCode::Unreachable);
}

// One controller is cut off and another is just being started: that nobody is there now says little.
TEST_F(ControllerClientTest, WhoIsSilentIsWaitedFor) {
  const Listener deaf;
  auto where = options();
  where.controllers.insert(where.controllers.end(), 2, deaf.address);
  server_.stop();
  ControllerClient client(where);
  std::thread starter([this] {
    std::this_thread::sleep_for(seconds(2));  // longer than the first round
    server_.start();
  });
  model::JobSpec spec;
  spec.script = std::make_shared<const std::string>("#!/bin/sh\n");
  const auto job = client.submit(spec, "token");
  starter.join();
  EXPECT_EQ(job, JobId{10}) << (job ? "" : job.error().message);
}

TEST_F(ControllerClientTest, WaitingOutlivesAControllerThatIsNotReady) {
  ControllerClient client(options());
  const auto job = client.wait_job(JobId{3}, true);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ((*job)->id, JobId{3});
  EXPECT_EQ((*job)->spec->name, "final");
  EXPECT_EQ(server_.calls, 3);
}

TEST_F(ControllerClientTest, TheCredentialIsAskedForOnceAndSent) {
  const auto bytes = credential_bytes(kNever);
  FakeAuthSocket auth(auth_path(), framed(bytes));
  auto with_auth = options();
  with_auth.auth_socket = auth_path();
  ControllerClient client(with_auth);
  EXPECT_EQ(auth.asked, 0);  // lazily
  EXPECT_TRUE(client.ping(0));
  EXPECT_EQ(auth.asked, 0);  // a ping needs none
  for (int i = 0; i < 3; ++i) (void)client.submit(model::JobSpec{}, "");
  EXPECT_EQ(auth.asked, 1);
  EXPECT_EQ(auth.audience(), "controller");
  EXPECT_EQ(server_.last_credential(), bytes);
}

TEST_F(ControllerClientTest, AnExpiredCredentialIsReplaced) {
  FakeAuthSocket auth(auth_path(), framed(credential_bytes(from_unix_seconds(1000))));
  auto with_auth = options();
  with_auth.auth_socket = auth_path();
  ControllerClient client(with_auth);
  for (int i = 0; i < 3; ++i) (void)client.submit(model::JobSpec{}, "");
  EXPECT_EQ(auth.asked, 3);
}

TEST_F(ControllerClientTest, AuthSocketsThatGiveNone) {
  v1::Credential refusal;
  refusal.set_error("nobody is never attested");
  v1::Credential unsigned_one;
  unsigned_one.set_payload("p");
  const struct {
    std::string answer;
    ErrorCode code;
    const char* text;
  } cases[] = {
      {framed(refusal.SerializeAsString()), ErrorCode::Unauthenticated, "nobody is never attested"},
      {framed(unsigned_one.SerializeAsString()), ErrorCode::Unauthenticated, "unsigned"},
      {framed("\xff\xff\xff"), ErrorCode::Unauthenticated, "no credential"},
      {std::string("\xff\xff\xff\xff", 4), ErrorCode::Unauthenticated, "4294967295 bytes"},
      {framed(""), ErrorCode::Unauthenticated, "0 bytes"},
      {"", ErrorCode::Unreachable, "hung up"},
      {framed("abc").substr(0, 5), ErrorCode::Unreachable, "hung up"},
  };
  for (const auto& c : cases) {
    FakeAuthSocket auth(auth_path(), c.answer);
    const auto got = ask_credential(auth_path(), "controller", seconds(20));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, c.code) << c.text;
    EXPECT_NE(got.error().message.find(c.text), std::string::npos) << got.error().message;
  }
  EXPECT_EQ(ask_credential(auth_path(), "controller", seconds(20)).error().code, ErrorCode::Unreachable);
  EXPECT_EQ(ask_credential(std::string(200, 'x'), "controller", seconds(20)).error().code, ErrorCode::Unreachable);

  FakeAuthSocket auth(auth_path(), cases[0].answer);
  auto with_auth = options();
  with_auth.auth_socket = auth_path();
  ControllerClient client(with_auth);
  EXPECT_EQ(client.jobs({}).error().message, "nobody is never attested");
  EXPECT_EQ(client.reconfigure().error().code, ErrorCode::Unauthenticated);
  EXPECT_EQ(auth.asked, 1);  // a refusal is not asked for again
}

// ---- the list of jobs

TEST(JobListCodec, FiltersComeBack) {
  JobFilter filter;
  fields::Random random(1);
  state::JobTarget target;
  fields::fill(target, random);
  filter.jobs = {target};
  filter.users = {Uid{7}, Uid{0}};
  filter.partitions = {"p"}, filter.accounts = {"a", ""}, filter.names = {"n"}, filter.nodes = {"m"};
  filter.states = {{model::JobState::Timeout, 0}, {std::nullopt, model::kCompleting}};
  filter.all_states = filter.with_script = true;
  v1::ListJobsRequest proto;
  to_proto(filter, &proto);
  JobFilter back;
  ASSERT_TRUE(from_proto(proto, &back));
  EXPECT_EQ(back.jobs, filter.jobs);
  EXPECT_EQ(back.users, filter.users);
  EXPECT_EQ(back.partitions, filter.partitions);
  EXPECT_EQ(back.accounts, filter.accounts);
  EXPECT_EQ(back.names, filter.names);
  EXPECT_EQ(back.nodes, filter.nodes);
  ASSERT_EQ(back.states.size(), 2u);
  EXPECT_EQ(back.states[0].state, model::JobState::Timeout);
  EXPECT_EQ(back.states[1].state, std::nullopt);
  EXPECT_EQ(back.states[1].flag, filter.states[1].flag);
  EXPECT_TRUE(back.all_states && back.with_script);
}

TEST(JobListCodec, ChunksAddUpToATable) {
  fields::Random random(3);
  std::vector<model::Job> jobs(7);
  for (auto& job : jobs) fields::fill(job, random);
  jobs[5].spec = jobs[4].spec;  // referred to from the next chunk
  JobListDecoder decoder;
  JobTable table;
  v1::JobChunk chunk;
  SpecWriter specs([&chunk](const model::JobSpec& spec) { to_proto(spec, chunk.add_specs()); });
  chunk.set_as_of_us(99);
  chunk.set_cluster_name("c");
  chunk.set_unknown_job(true);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    auto* proto = chunk.add_jobs();
    record_to_proto(jobs[i], proto);
    proto->set_spec_ref(specs.number_of(jobs[i].spec));
    if (i == 4 || i == 6) {
      if (i == 6)
        for (int k = 0; k < 2; ++k) chunk.add_expected_starts_us(50 + k);
      auto* node = chunk.add_nodes();
      node->set_index(static_cast<std::uint32_t>(i));
      node->set_name("n" + std::to_string(i));
      ASSERT_TRUE(decoder.take_chunk(chunk.SerializeAsString(), &table));
      chunk.Clear();
    }
  }
  ASSERT_EQ(table.jobs.size(), jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) EXPECT_TRUE(fields::same(*table.jobs[i], jobs[i])) << i;
  EXPECT_EQ(table.jobs[4]->spec, table.jobs[5]->spec);
  EXPECT_EQ(to_micros(table.as_of), 99);
  EXPECT_EQ(table.cluster_name, "c");
  EXPECT_TRUE(table.unknown_job);
  EXPECT_EQ(table.node_names, (std::vector<std::string>{"", "", "", "", "n4", "", "n6"}));
  EXPECT_EQ(table.expected_starts, (std::vector<Time>{{}, {}, {}, {}, {}, from_micros(50), from_micros(51)}));
}

TEST(JobListCodec, WhatIsListedIsTheSpecificationWithoutItsTexts) {
  fields::Random random(4);
  model::JobSpec spec;
  fields::fill(spec, random);
  v1::JobSpec proto;
  listed_to_proto(spec, &proto);
  model::JobSpec back;
  ASSERT_TRUE(from_proto(proto, &back));
  spec.script = spec.environment = nullptr;
  spec.rlimits.clear();
  EXPECT_TRUE(fields::same(spec, back));
}

TEST(JobListCodec, DamagedChunksAreRefused) {
  JobTable table;
  EXPECT_EQ(JobListDecoder().take_chunk("\x32\xff", &table).error().code, ErrorCode::Corrupt);
  v1::JobChunk chunk;
  chunk.add_expected_starts_us(1);
  EXPECT_EQ(JobListDecoder().take_chunk(chunk.SerializeAsString(), &table).error().code, ErrorCode::Corrupt);
  chunk.Clear();
  chunk.add_jobs()->set_spec_ref(1);
  EXPECT_EQ(JobListDecoder().take_chunk(chunk.SerializeAsString(), &table).error().code, ErrorCode::Corrupt);
  chunk.Clear();
  chunk.add_nodes()->set_index(0xffffffff);
  EXPECT_EQ(JobListDecoder().take_chunk(chunk.SerializeAsString(), &table).error().code, ErrorCode::Corrupt);
}

}  // namespace
}  // namespace spur::wire
