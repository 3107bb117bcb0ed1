// SPDX-License-Identifier: Apache-2.0
#include "agent/step_tickets.h"

#include <gtest/gtest.h>

#include "agent/test_doors.h"
#include "wire/local_call.h"

namespace spur::agent {
namespace {

class StepTicketsTest : public testing::Test {
 protected:
  StepTicketsTest() {
    agent_.set_address("n1:9");
    EXPECT_TRUE(agent_.start());
    model::ControllerWelcome welcome;
    welcome.lease = seconds(0);
    agent_.on_message(welcome);
    auto spec = std::make_shared<model::JobSpec>();
    spec->uid = Uid{1000};
    model::ControllerLaunch launch;
    launch.run = {JobId{7}, Epoch{2}};
    launch.spec = spec;
    for (const char* node : {"n1", "n2"})
      launch.parts.push_back({.node = node, .cpus = {0}, .memory_mib = 0, .tasks = 3, .devices = {}});
    launch.addresses = {"n1:1", "n2:2"};
    agent_.on_message(launch);
  }
  static io::Verified ticket(std::uint32_t epoch, seconds expires) {
    io::Verified out;
    out.kind = io::CredentialKind::StepTicket;
    out.uid = Uid{1000};
    out.job = JobId{7};
    out.epoch = Epoch{epoch};
    out.expires = Time{} + expires;
    return out;
  }
  auto give(std::uint32_t uid = 1000, seconds now = seconds(0)) {
    return tickets_.give(agent_, JobId{7}, Uid{uid}, Time{} + now);
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
  StepTickets tickets_;
};

TEST_F(StepTicketsTest, WhatOneStepBroughtTheNextOneGets) {
  EXPECT_FALSE(give());
  tickets_.keep("one", ticket(2, seconds(600)));
  const auto reply = give();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->ticket(), "one");
  ASSERT_EQ(reply->nodes_size(), 2);
  EXPECT_EQ(reply->nodes(1), "n2");
  EXPECT_EQ(reply->addresses(0), "n1:9") << "where this agent listens now, whatever the launch said";
  EXPECT_EQ(reply->addresses(1), "n2:2");
  EXPECT_EQ(reply->tasks_per_node(0), 3u);
}

TEST_F(StepTicketsTest, OnlyItsUserGetsIt) {
  tickets_.keep("one", ticket(2, seconds(600)));
  EXPECT_FALSE(give(1001));
  EXPECT_FALSE(give(0));
}

TEST_F(StepTicketsTest, TheLatestCountsAndOldOnesAreOfNoUse) {
  tickets_.keep("late", ticket(2, seconds(700)));
  tickets_.keep("early", ticket(2, seconds(600)));
  EXPECT_EQ(give(1000, seconds(600))->ticket(), "late");
  EXPECT_FALSE(give(1000, seconds(660)));
}

TEST_F(StepTicketsTest, ATicketOfAnEarlierRunIsNone) {
  tickets_.keep("old", ticket(1, seconds(600)));
  EXPECT_FALSE(give());
}

TEST_F(StepTicketsTest, CallsOnTheSocketAreAnsweredInItsLanguage) {
  tickets_.keep("one", ticket(2, seconds(600)));
  const auto ask = [&](std::string_view method, std::string_view message, std::string* got) {
    const std::string request = wire::local_request(method, message);
    wire::LocalAnswer answer;
    const auto taken =
        answer.take(answer_ticket_call(tickets_, agent_, std::string_view(request).substr(wire::kLocalLengthBytes),
                                       Uid{1000}, {}),
                    [&](std::string_view bytes) -> Status {
                      got->assign(bytes);
                      return {};
                    });
    EXPECT_TRUE(taken && answer.ended());
    return answer.end();
  };
  v1::StepTicketRequest request;
  request.set_job(7);
  std::string got;
  EXPECT_TRUE(ask("StepTicket", request.SerializeAsString(), &got));
  v1::StepTicketReply reply;
  ASSERT_TRUE(reply.ParseFromString(got));
  EXPECT_EQ(reply.ticket(), "one");
  EXPECT_EQ(ask("SubmitJob", "", &got).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(ask("StepTicket", "\xff\xff", &got).error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace spur::agent
