// SPDX-License-Identifier: Apache-2.0
// A file on its way through n1's agent to the other nodes of job 7, over channels that the test works by hand.
#include "agent/file_session.h"

#include <gtest/gtest.h>

#include <utility>

#include "agent/test_doors.h"

namespace spur::agent {
namespace {

struct TestFilePort final : io::FilePort {
  struct End {
    std::string where;
    io::StepChannel::Events events;
    std::vector<v1::FileInput> got;
    std::vector<std::function<void()>> written;
    void say(const v1::FileOutput& output) const { events.on_output(output.SerializeAsString()); }
    void write() {
      for (auto& call : std::exchange(written, {}))
        if (call) call();
    }
  };
  struct Channel final : io::StepChannel {
    std::shared_ptr<End> end;
    void send(std::string input, std::function<void()> written) override {
      ASSERT_TRUE(end->got.emplace_back().ParseFromString(input));
      end->written.push_back(std::move(written));
    }
    void pause(bool) override {}
  };
  std::vector<std::shared_ptr<End>> ends;
  std::unique_ptr<io::StepChannel> open(std::string where, io::StepChannel::Events events) {
    auto channel = std::make_unique<Channel>();
    channel->end = ends.emplace_back(std::make_shared<End>());
    channel->end->where = std::move(where);
    channel->end->events = std::move(events);
    return channel;
  }
  std::unique_ptr<io::StepChannel> open_files(const model::ControllerLaunch&,
                                              io::StepChannel::Events events) override {
    return open("here", std::move(events));
  }
  std::unique_ptr<io::StepChannel> open_remote_files(const std::string& address,
                                                     io::StepChannel::Events events) override {
    return open(address, std::move(events));
  }
};

class FileSessionTest : public testing::Test {
 protected:
  FileSessionTest() {
    EXPECT_TRUE(agent_.start());
    model::ControllerWelcome welcome;
    welcome.lease = seconds(0);
    agent_.on_message(welcome);
    auto spec = std::make_shared<model::JobSpec>();
    spec->uid = Uid{1000};
    model::ControllerLaunch launch;
    launch.run = {JobId{7}, Epoch{1}};
    launch.spec = spec;
    launch.parts.push_back({.node = "n1", .cpus = {0}, .memory_mib = 0, .tasks = 1, .devices = {}});
    agent_.on_message(launch);
    ticket_.kind = io::CredentialKind::StepTicket;
    ticket_.uid = Uid{1000};
    ticket_.job = JobId{7};
    ticket_.epoch = Epoch{1};
  }
  v1::FileStart start_of(int nodes, std::uint32_t fanout = 0) {
    v1::FileStart start;
    start.set_ticket("ticket");
    start.set_fanout(fanout);
    for (int i = 1; i <= nodes; ++i) {
      start.add_nodes("n" + std::to_string(i));
      start.add_addresses("a" + std::to_string(i));
    }
    start.mutable_send()->set_path("/tmp/x");
    return start;
  }
  void begin(const v1::FileStart& start) {
    v1::FileInput input;
    *input.mutable_start() = start;
    session_.input(input.SerializeAsString(), [] {});
  }
  void block(int* taken) {
    v1::FileInput input;
    input.mutable_block()->set_data("data");
    session_.input(input.SerializeAsString(), [taken] { ++*taken; });
  }
  static v1::FileOutput done(const std::string& node) {
    v1::FileOutput output;
    output.mutable_done()->set_node(node);
    return output;
  }
  static v1::FileOutput error(const std::string& node) {
    v1::FileOutput output;
    output.mutable_error()->set_node(node);
    output.mutable_error()->set_number(28);
    return output;
  }
  std::string nodes_of(std::size_t end) const {
    std::string out;
    for (const auto& node : port_.ends[end]->got.at(0).start().nodes()) out += node + " ";
    return out;
  }

  IdleClock clock_;
  IdleLauncher launcher_;
  IdleController controller_;
  Agent agent_{{.node = "n1",
                .address = {},
                .hostname = {},
                .version = {},
                .os = {},
                .arch = {},
                .public_key = {},
                .found = {},
                .boot_time = {}},
               clock_,
               launcher_,
               controller_};
  TestFilePort port_;
  io::Verified ticket_;
  FileContext context_{.agent = agent_,
                       .port = port_,
                       .node = "n1",
                       .verify = [this](std::string_view ticket) -> Result<io::Verified> {
                         if (ticket != "ticket") return fail(ErrorCode::Unauthenticated, "forged");
                         return ticket_;
                       },
                       .call_after = [](Duration, std::function<void()>) {}};
  std::vector<v1::FileOutput> heard_;
  std::optional<Status> finished_;
  FileSession session_{
      context_,
      FileSession::Events{
          .output = [this](const std::string& bytes) { ASSERT_TRUE(heard_.emplace_back().ParseFromString(bytes)); },
          .finished = [this](Status status) { finished_ = std::move(status); }}};
};

TEST(FanOut, InOrderAndEven) {
  EXPECT_EQ(fan_out(0, 2), (std::vector<std::size_t>{}));
  EXPECT_EQ(fan_out(1, 8), (std::vector<std::size_t>{1}));
  EXPECT_EQ(fan_out(7, 3), (std::vector<std::size_t>{3, 2, 2}));
  EXPECT_EQ(fan_out(5, 0), (std::vector<std::size_t>{5}));
}

TEST_F(FileSessionTest, TheOthersAreDealtOutAndEveryNodeIsHeardOf) {
  begin(start_of(6, 2));
  ASSERT_EQ(port_.ends.size(), 3u);
  EXPECT_EQ(port_.ends[0]->where, "here");
  EXPECT_EQ(port_.ends[1]->where, "a2");
  EXPECT_EQ(nodes_of(1), "n2 n3 n4 ");
  EXPECT_EQ(port_.ends[2]->where, "a5");
  EXPECT_EQ(nodes_of(2), "n5 n6 ");
  for (const char* node : {"n2", "n4"}) port_.ends[1]->say(done(node));
  port_.ends[0]->say(done("n1"));
  port_.ends[2]->say(error("n5"));
  port_.ends[2]->events.on_closed(fail(ErrorCode::Unreachable, "gone"));
  EXPECT_FALSE(finished_);
  port_.ends[1]->say(done("n3"));
  ASSERT_TRUE(finished_ && *finished_);
  ASSERT_EQ(heard_.size(), 6u);
  EXPECT_EQ(heard_[4].error().node(), "n6");
  EXPECT_EQ(heard_[4].error().text(), "gone");
}

TEST_F(FileSessionTest, TheSlowestSetsThePaceAndTheDeadDoNot) {
  begin(start_of(3, 8));
  int taken = 0;
  block(&taken);
  for (auto& end : port_.ends) {
    EXPECT_EQ(taken, 0);
    end->write();
  }
  EXPECT_EQ(taken, 1);
  block(&taken);
  block(&taken);
  port_.ends[0]->write();
  port_.ends[1]->write();
  EXPECT_EQ(taken, 1);
  port_.ends[2]->say(error("n3"));  // its disk is full; nothing more of it is written
  EXPECT_EQ(taken, 3);
  block(&taken);
  EXPECT_EQ(port_.ends[2]->got.size(), 4u);
  port_.ends[2]->write();  // late news
  EXPECT_EQ(taken, 3);
}

TEST_F(FileSessionTest, WhatIsRefused) {
  const auto refused = [&](const v1::FileStart& start) {
    FileSession session(context_, {.output = [](const std::string&) {},
                                   .finished = [&](Status status) { finished_ = std::move(status); }});
    v1::FileInput input;
    *input.mutable_start() = start;
    finished_.reset();
    session.input(input.SerializeAsString(), [] {});
    return finished_ && !*finished_ ? finished_->error().code : ErrorCode::Internal;
  };
  auto start = start_of(2);
  start.set_ticket("other");
  EXPECT_EQ(refused(start), ErrorCode::Unauthenticated);
  start = start_of(2);
  start.set_nodes(0, "n9");
  EXPECT_EQ(refused(start), ErrorCode::InvalidArgument);
  start = start_of(2);
  start.clear_send();
  EXPECT_EQ(refused(start), ErrorCode::InvalidArgument);
  start.mutable_fetch()->set_path("/x");
  EXPECT_EQ(refused(start), ErrorCode::InvalidArgument) << "one node at a time is asked";
  ticket_.uid = Uid{1001};
  EXPECT_EQ(refused(start_of(2)), ErrorCode::PermissionDenied);
  ticket_.uid = Uid{1000};
  ticket_.epoch = Epoch{2};
  EXPECT_EQ(refused(start_of(2)), ErrorCode::StaleEpoch);
  session_.input("garbage", [] {});
  ASSERT_TRUE(finished_);
  EXPECT_FALSE(*finished_);
}

}  // namespace
}  // namespace spur::agent
