// SPDX-License-Identifier: Apache-2.0
// The lean channel against a stock grpc++ server, and against peers that are no gRPC servers at all.
#include "wire/lean_channel.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "spur/v1/controller.pb.h"
#include "wire/error_map.h"
#include "wire/lean_stream.h"
#include "wire/test_server.h"

namespace spur::wire {
namespace {

using std::chrono::steady_clock;

CallOptions within(Duration timeout) {
  CallOptions options;
  options.timeout = timeout;
  return options;
}
const CallOptions kSoon = within(seconds(20));

std::string ping_request() {
  return v1::PingRequest{}.SerializeAsString();
}
std::string list_request(std::uint32_t count, bool fails = false) {
  v1::ListJobsRequest request;
  request.add_users(count);
  if (fails) request.add_users(1);
  return request.SerializeAsString();
}
std::string cancel_request(ErrorCode code) {
  v1::CancelJobRequest request;
  request.mutable_target()->set_id(static_cast<std::uint32_t>(code));
  return request.SerializeAsString();
}

class LeanChannelTest : public testing::Test {
 protected:
  TestServer server_;
};

TEST_F(LeanChannelTest, UnaryOverUnixAndTcp) {
  for (const std::string& address :
       {server_.unix_address(), server_.tcp_address(), "http://" + server_.tcp_address()}) {
    LeanChannel channel({address}, 1);
    for (int i = 0; i < 3; ++i) {
      const auto bytes = channel.call("/spur.v1.Controller/Ping", ping_request(), kSoon);
      ASSERT_TRUE(bytes) << address << ": " << bytes.error().message;
      v1::PingReply reply;
      ASSERT_TRUE(reply.ParseFromString(*bytes));
      EXPECT_EQ(reply.host(), "tester");
    }
  }
  EXPECT_EQ(server_.calls, 9);
}

TEST_F(LeanChannelTest, ServerStreamKeepsOrder) {
  LeanChannel channel({server_.unix_address()}, 1);
  for (std::uint32_t count : {0u, 1u, 10'000u}) {
    std::uint32_t seen = 0;
    const auto status = channel.stream(
        "/spur.v1.Controller/ListJobs", list_request(count), kSoon, [&](std::string_view bytes) -> Status {
          v1::JobChunk chunk;
          EXPECT_TRUE(chunk.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
          EXPECT_EQ(chunk.as_of_us(), ++seen);
          return {};
        });
    EXPECT_TRUE(status) << status.error().message;
    EXPECT_EQ(seen, count);
  }
}

TEST_F(LeanChannelTest, AHandlerCanEndAStream) {
  LeanChannel channel({server_.unix_address()}, 1);
  int seen = 0;
  const auto status =
      channel.stream("/spur.v1.Controller/ListJobs", list_request(10'000), kSoon, [&](std::string_view) -> Status {
        if (++seen == 5) return fail(ErrorCode::OutOfSpace, "enough");
        return {};
      });
  EXPECT_EQ(status.error(), (Error{ErrorCode::OutOfSpace, "enough"}));
  EXPECT_EQ(seen, 5);
  EXPECT_TRUE(
      channel.call("/spur.v1.Controller/Ping", ping_request(), kSoon));  // the connection is as good as before
}

TEST_F(LeanChannelTest, LargeMessagesBothWays) {
  for (const std::string& address : {server_.unix_address(), server_.tcp_address()}) {
    LeanChannel channel({address}, 1);
    v1::SubmitJobRequest request;
    request.mutable_spec()->set_script(std::string(5 << 20, 's'));
    const auto bytes = channel.call("/spur.v1.Controller/SubmitJob", request.SerializeAsString(), kSoon);
    ASSERT_TRUE(bytes) << bytes.error().message;
    v1::SubmitJobReply reply;
    ASSERT_TRUE(reply.ParseFromString(*bytes));
    EXPECT_EQ(reply.job(), 5u << 20);

    const auto config = channel.call("/spur.v1.Controller/GetConfig", "", kSoon);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_GT(config->size(), std::size_t{5} << 20);
    auto small = kSoon;
    small.max_message_bytes = 1 << 20;
    const auto refused = channel.call("/spur.v1.Controller/GetConfig", "", small);
    EXPECT_EQ(refused.error().code, ErrorCode::ResourceLimit);
    EXPECT_NE(refused.error().message.find("at most 1048576"), std::string::npos) << refused.error().message;
    EXPECT_TRUE(channel.call("/spur.v1.Controller/Ping", ping_request(), kSoon));
  }
}

TEST_F(LeanChannelTest, ErrorsCarryOurCodeAndSentence) {
  LeanChannel channel({server_.unix_address()}, 1);
  for (auto code : {ErrorCode::InvalidJobId, ErrorCode::PartitionDown, ErrorCode::ConfigInvalid}) {
    const auto reply = channel.call("/spur.v1.Controller/CancelJob", cancel_request(code), kSoon);
    EXPECT_EQ(reply.error(), (Error{code, "50 % of \"Bücher\"\nare lost"}));
  }
}

TEST_F(LeanChannelTest, WhatTheServerLacksIsNotSupported) {
  LeanChannel channel({server_.unix_address()}, 1);
  EXPECT_EQ(channel.call("/spur.v1.Controller/GetCluster", "", kSoon).error().code, ErrorCode::NotSupported);
  EXPECT_EQ(channel.call("/nobody.Knows/This", "", kSoon).error().code, ErrorCode::NotSupported);
}

TEST_F(LeanChannelTest, DeadlinesHold) {
  LeanChannel channel({server_.unix_address()}, 1);
  const auto began = steady_clock::now();
  EXPECT_EQ(channel.call("/spur.v1.Controller/WaitJob", "", within(milliseconds(50))).error().code,
            ErrorCode::TimedOut);
  EXPECT_LT(steady_clock::now() - began, seconds(10));
  EXPECT_TRUE(channel.call("/spur.v1.Controller/Ping", ping_request(), kSoon));
  EXPECT_EQ(channel.call("/spur.v1.Controller/Ping", ping_request(), within(Duration(0))).error().code,
            ErrorCode::TimedOut);
}

TEST_F(LeanChannelTest, TheNextPeerIsAskedOnlyBeforeAnAnswer) {
  const Listener deaf;  // nobody accepts, nobody answers
  const std::string nowhere = "unix:" + server_.directory() + "/nowhere";
  for (const auto& first : {nowhere, std::string("127.0.0.1:1"), std::string("http://[::1]:1")}) {
    LeanChannel channel({first, server_.unix_address()}, 1);
    EXPECT_TRUE(channel.call("/spur.v1.Controller/Ping", ping_request(), kSoon)) << first;
    const auto alone = channel.call_peer(0, "/spur.v1.Controller/Ping", ping_request(), kSoon);
    EXPECT_EQ(alone.error().code, ErrorCode::Unreachable);
  }
  {  // UNAVAILABLE: both are asked
    TestServer other;
    LeanChannel channel({server_.unix_address(), other.unix_address()}, 1);
    const int before = server_.calls;
    EXPECT_EQ(channel.call("/spur.v1.Controller/CancelJob", cancel_request(ErrorCode::NotLeader), kSoon).error().code,
              ErrorCode::NotLeader);
    EXPECT_EQ(server_.calls, before + 1);
    EXPECT_EQ(other.calls, 1);
    // any other error: only one is
    EXPECT_EQ(
        channel.call("/spur.v1.Controller/CancelJob", cancel_request(ErrorCode::InvalidJobId), kSoon).error().code,
        ErrorCode::InvalidJobId);
    EXPECT_EQ(server_.calls + other.calls, before + 3);
  }
  {  // UNAVAILABLE after some of the answer: it is not begun again
    LeanChannel channel({server_.unix_address(), server_.tcp_address()}, 1);
    int seen = 0;
    const auto status =
        channel.stream("/spur.v1.Controller/ListJobs", list_request(3, true), kSoon, [&](std::string_view) -> Status {
          ++seen;
          return {};
        });
    EXPECT_EQ(status.error(), (Error{ErrorCode::Unreachable, "gone"}));
    EXPECT_EQ(seen, 3);
  }
}

TEST_F(LeanChannelTest, WhoWasSilentIsAskedWhenNobodyElseIsThere) {
  const Listener deaf;
  ASSERT_EQ(::fcntl(deaf.fd, F_SETFL, O_NONBLOCK), 0);
  const auto connections = [&] {
    int count = 0;
    for (int fd; (fd = ::accept(deaf.fd, nullptr, nullptr)) >= 0; ++count) ::close(fd);
    return count;
  };
  LeanChannel channel({deaf.address, server_.unix_address()}, 1);
  auto options = kSoon;
  options.patience = milliseconds(20);
  EXPECT_FALSE(channel.someone_is_silent());
  EXPECT_TRUE(channel.call("/spur.v1.Controller/Ping", ping_request(), options));
  EXPECT_TRUE(channel.someone_is_silent());
  EXPECT_EQ(connections(), 1);
  EXPECT_TRUE(channel.call("/spur.v1.Controller/Ping", ping_request(), options));
  EXPECT_EQ(connections(), 0);
  server_.stop();
  EXPECT_EQ(channel.call("/spur.v1.Controller/Ping", ping_request(), options).error().code, ErrorCode::Unreachable);
  EXPECT_EQ(connections(), 1);
}

TEST_F(LeanChannelTest, AServerThatWasRestartedIsDialledAnew) {
  LeanChannel channel({server_.unix_address()}, 1);
  ASSERT_TRUE(channel.call("/spur.v1.Controller/Ping", ping_request(), kSoon));
  server_.stop();
  EXPECT_EQ(channel.call("/spur.v1.Controller/Ping", ping_request(), kSoon).error().code, ErrorCode::Unreachable);
  server_.start();
  const auto reply = channel.call("/spur.v1.Controller/Ping", ping_request(), kSoon);
  ASSERT_TRUE(reply) << reply.error().message;
  server_.stop();
  server_.start();  // the old connection is dead, the channel does not know yet
  EXPECT_TRUE(channel.call("/spur.v1.Controller/Ping", ping_request(), kSoon));
}

TEST_F(LeanChannelTest, MetadataTravelsAsBytes) {
  LeanChannel channel({server_.tcp_address()}, 1);
  auto options = kSoon;
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  options.metadata = {{std::string(kCredentialMetadata), all}};
  ASSERT_TRUE(channel.call("/spur.v1.Controller/Ping", ping_request(), options));
  EXPECT_EQ(server_.last_credential(), all);
  options.metadata = {{"plain", "a\nb"}};
  EXPECT_EQ(channel.call("/spur.v1.Controller/Ping", ping_request(), options).error().code,
            ErrorCode::InvalidArgument);
}

TEST(LeanChannelAlone, SilenceAndNobodyAreToldApart) {
  const Listener deaf;
  LeanChannel silent({deaf.address}, 1);
  EXPECT_EQ(silent.call("/a/B", "", within(milliseconds(50))).error().code, ErrorCode::TimedOut);
  LeanChannel nobody(std::vector<std::string>{}, 1);
  EXPECT_EQ(nobody.call("/a/B", "", kSoon).error().code, ErrorCode::Unreachable);
  LeanChannel unknown({"no-such-host.invalid:1"}, 1);
  EXPECT_EQ(unknown.call("/a/B", "", kSoon).error().code, ErrorCode::Unreachable);
  LeanChannel wrong({"host:99999"}, 1);
  EXPECT_EQ(wrong.call("/a/B", "", kSoon).error().code, ErrorCode::InvalidArgument);
}

TEST(LeanChannelAlone, GarbageIsACleanError) {
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  const std::string cases[] = {
      "",  // hangs up at once
      "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
      "SSH-2.0-OpenSSH_9.2\r\n",
      std::string(100'000, '\xff'),
      std::string(100'000, '\0'),
      settings + std::string("\0\0\1\1\4\0\0\0\1\xff", 10),               // a header block that HPACK cannot read
      settings + std::string("\0\0\5\0\1\0\0\0\7hello", 14),              // data of a call that was never made
      settings + std::string("\0\0\10\7\0\0\0\0\0\0\0\0\0\0\0\0\2", 17),  // a goodbye
  };
  for (const auto& garbage : cases) {
    const Listener listener;
    std::thread peer([&] {
      const int fd = ::accept(listener.fd, nullptr, nullptr);
      char buffer[4096];
      if (!garbage.empty()) {
        EXPECT_GT(::recv(fd, buffer, sizeof buffer, 0), 0);
        (void)!::send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL);
        ::shutdown(fd, SHUT_WR);
        while (::recv(fd, buffer, sizeof buffer, 0) > 0) {
        }
      }
      ::close(fd);
    });
    LeanChannel channel({listener.address}, 1);
    const auto reply = channel.call("/a/B", "request", within(seconds(20)));
    EXPECT_FALSE(reply);
    EXPECT_NE(reply.error().code, ErrorCode::TimedOut) << reply.error().message;
    peer.join();
  }
}

// ---- the stream for event loops

struct StreamOwner {
  explicit StreamOwner(const std::string& address, LeanStream::KeepAlive keep_alive = {}) {
    const auto peer = parse_peer_address(address, 1);
    auto opened =
        LeanStream::open(*peer, "/spur.v1.AgentLink/Connect", CallOptions{},
                         {[this](std::string_view bytes) {
                            v1::ControllerMessage message;
                            EXPECT_TRUE(message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
                            signals.push_back(message.signal().signal());
                          },
                          [this](const CallEnd& how) { end = how; }},
                         keep_alive);
    EXPECT_TRUE(opened) << opened.error().message;
    stream = *std::move(opened);
  }
  void send(std::uint64_t sequence) {
    v1::AgentMessage message;
    message.mutable_heartbeat()->set_sequence(sequence);
    stream->send(message.SerializeAsString());
  }
  void run_until(const std::function<bool()>& done) {
    const auto limit = steady_clock::now() + seconds(20);
    while (!done() && steady_clock::now() < limit) {
      pollfd watched{stream->fd(), static_cast<short>(POLLIN | (stream->wants_write() ? POLLOUT : 0)), 0};
      if (stream->fd() < 0) break;
      ::poll(&watched, 1, 1000);
      if (watched.revents & POLLOUT) stream->on_writable();
      if (watched.revents & ~POLLOUT) stream->on_readable();
    }
    EXPECT_TRUE(done());
  }
  std::unique_ptr<LeanStream> stream;
  std::vector<int> signals;
  std::optional<CallEnd> end;
};

TEST_F(LeanChannelTest, StreamEchoesInOrder) {
  for (const std::string& address : {server_.unix_address(), server_.tcp_address()}) {
    StreamOwner owner(address);
    for (int i = 1; i <= 2000; ++i) owner.send(static_cast<std::uint64_t>(i));
    owner.run_until([&] { return owner.signals.size() == 2000; });
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(owner.signals[static_cast<std::size_t>(i)], i + 1);
    owner.send(7);
    owner.run_until([&] { return owner.signals.size() == 2001; });
    EXPECT_EQ(owner.stream->queued_bytes(), 0u);
    owner.stream->finish_sending();
    owner.run_until([&] { return owner.end.has_value(); });
    EXPECT_EQ(owner.end->grpc_status, kGrpcOk);
    EXPECT_EQ(owner.stream->fd(), -1);
    owner.send(8);  // too late, and harmless
  }
}

TEST_F(LeanChannelTest, StreamEndsWithTheServersStatus) {
  StreamOwner owner(server_.unix_address());
  v1::AgentMessage hello;
  hello.mutable_hello();
  owner.stream->send(hello.SerializeAsString());
  owner.run_until([&] { return owner.end.has_value(); });
  EXPECT_EQ(owner.end->grpc_status, kGrpcAborted);
  EXPECT_EQ(owner.end->message, "go away");
}

TEST_F(LeanChannelTest, StreamNoticesThatTheServerIsGone) {
  StreamOwner owner(server_.tcp_address());
  owner.send(1);
  owner.run_until([&] { return owner.signals.size() == 1; });
  server_.stop();
  owner.run_until([&] { return owner.end.has_value(); });
  EXPECT_NE(owner.end->grpc_status, kGrpcOk);
  EXPECT_TRUE(owner.stream->ended());
}

TEST_F(LeanChannelTest, KeepAlivePingsAreAnsweredByAStockServer) {
  StreamOwner owner(server_.tcp_address(), {.interval = seconds(30), .timeout = seconds(10)});
  owner.send(1);
  owner.run_until([&] { return owner.signals.size() == 1; });
  Duration now = seconds(1000);
  owner.stream->on_timer(now);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(owner.stream->next_timer(), now + seconds(30));
    owner.stream->on_timer(now += seconds(29));
    owner.stream->on_timer(now += seconds(1));  // pings
    EXPECT_EQ(owner.stream->next_timer(), now + seconds(10));
    pollfd watched{owner.stream->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&watched, 1, 20'000), 1);
    owner.stream->on_readable();
    owner.stream->on_timer(now += seconds(9));  // the answer is in
  }
  EXPECT_FALSE(owner.end);
}

TEST(LeanStreamAlone, AMutePeerIsGivenUp) {
  const Listener deaf;
  StreamOwner owner(deaf.address, {.interval = seconds(30), .timeout = seconds(10)});
  owner.run_until([&] { return !owner.stream->connecting() && !owner.stream->wants_write(); });
  EXPECT_EQ(owner.stream->next_timer(), Duration(0));
  owner.stream->on_timer(seconds(100));
  EXPECT_EQ(owner.stream->next_timer(), seconds(130));
  owner.stream->on_timer(seconds(130));
  owner.stream->on_timer(seconds(139));
  EXPECT_FALSE(owner.end);
  owner.stream->on_timer(seconds(140));
  ASSERT_TRUE(owner.end);
  EXPECT_EQ(owner.end->status().error().code, ErrorCode::Unreachable);
  EXPECT_EQ(owner.stream->next_timer(), Duration::max());
}

}  // namespace
}  // namespace spur::wire
