// SPDX-License-Identifier: Apache-2.0
#include "wire/agent_client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "wire/test_server.h"

namespace spur::wire {
namespace {

class AgentClientTest : public testing::Test {
 protected:
  StepEvents events() {
    StepEvents all;
    all.started = [this](const std::string& node, std::uint32_t step, const std::vector<std::uint32_t>& pids) {
      started_ = node + "." + std::to_string(step) + ":" + std::to_string(pids.at(0));
    };
    all.output = [this](std::uint32_t rank, std::string_view data, bool is_stderr) {
      (is_stderr ? err_ : out_) += std::to_string(rank) + ":" + std::string(data) + ";";
      bytes_ += data.size();
    };
    all.exited = [this](const StepEvents::Exit& exit) { exits_.push_back(exit); };
    all.failed = [this](const std::string&, const Error& error) { errors_.push_back(error); };
    return all;
  }
  std::unique_ptr<AgentClient> run(StepRequest request) {
    auto client = AgentClient::run_step(server_.tcp_address(), request, events());
    EXPECT_TRUE(client) << client.error().message;
    return *std::move(client);
  }
  static void finish(AgentClient& client, const std::function<bool()>& done) {
    const auto limit = std::chrono::steady_clock::now() + seconds(20);
    while (!done() && !client.ended() && std::chrono::steady_clock::now() < limit) client.turn(-1, seconds(1));
    EXPECT_TRUE(done());
  }

  TestServer server_;
  std::string started_, out_, err_;
  std::size_t bytes_ = 0;
  std::vector<StepEvents::Exit> exits_;
  std::vector<Error> errors_;
};

StepRequest cat() {
  StepRequest request;
  request.ticket = "good";
  request.arguments = {"cat"};
  return request;
}

TEST_F(AgentClientTest, InputComesBackAndTheExitIsTold) {
  auto client = run(cat());
  EXPECT_EQ(client->result().error().code, ErrorCode::Busy);
  client->send_input("hello", {});
  client->send_input("to one", 2);
  client->end_input();
  client->end_input();
  client->send_input("too late", {});
  finish(*client, [&] { return client->ended(); });
  EXPECT_TRUE(client->result());
  EXPECT_EQ(started_, "n1.4:77");
  EXPECT_EQ(out_, "0:hello;");
  EXPECT_EQ(err_, "2:to one;");
  ASSERT_EQ(exits_.size(), 1u);
  EXPECT_EQ(exits_[0].node, "n1");
  EXPECT_EQ(exits_[0].code, 3u);
  EXPECT_FALSE(client->turn(-1, seconds(1)));  // at once
}

TEST_F(AgentClientTest, SignalsAndErrorsPass) {
  auto client = run(cat());
  client->resize(25, 80);
  finish(*client, [&] { return !errors_.empty(); });
  EXPECT_EQ(errors_.at(0), (Error{ErrorCode::StepTooLarge, "too large a window"}));
  client->send_signal(15);
  finish(*client, [&] { return client->ended(); });
  EXPECT_TRUE(client->result());
  EXPECT_EQ(exits_.at(0).signal, 15u);
}

TEST_F(AgentClientTest, ReadableInputIsReported) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  auto client = run(cat());
  finish(*client, [&] { return !started_.empty(); });
  EXPECT_FALSE(client->turn(ends[0], milliseconds(1)));
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  EXPECT_TRUE(client->turn(ends[0], seconds(20)));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(AgentClientTest, InputIsHeldBackWhileTheAgentIsSlow) {
  auto client = run(cat());
  const std::string block(64 << 10, 'b');
  std::size_t sent = 0;
  for (; sent < 1000 && !client->input_is_full(); ++sent) client->send_input(block, {});
  EXPECT_TRUE(client->input_is_full());
  finish(*client, [&] { return bytes_ == sent * block.size(); });
  EXPECT_FALSE(client->input_is_full());
}

TEST_F(AgentClientTest, RefusalsAndLossesAreTheResult) {
  auto refused = cat();
  refused.ticket = "bad";
  auto client = run(refused);
  finish(*client, [&] { return client->ended(); });
  EXPECT_EQ(client->result().error(), (Error{ErrorCode::Unauthenticated, "bad ticket"}));

  auto vanishing = cat();
  vanishing.arguments = {"vanish"};
  client = run(vanishing);
  finish(*client, [&] { return client->ended(); });
  EXPECT_EQ(client->result().error().code, ErrorCode::Unreachable);

  client = run(cat());
  finish(*client, [&] { return !started_.empty(); });
  server_.stop();
  finish(*client, [&] { return client->ended(); });
  EXPECT_FALSE(client->result());

  const auto nobody = AgentClient::run_step("unix:/nowhere/at/all", cat(), {});
  EXPECT_EQ(nobody.error().code, ErrorCode::Unreachable);
}

TEST_F(AgentClientTest, Ping) {
  const auto reply = ping_agent(server_.tcp_address(), seconds(20));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->node, "n1");
}

}  // namespace
}  // namespace spur::wire
