// SPDX-License-Identifier: Apache-2.0
#include "wire/ticket_keeper.h"

#include <gtest/gtest.h>

#include <thread>

namespace spur::wire {
namespace {

TEST(TicketKeeperTest, AsksOnceForAllThatAskIt) {
  auto keeper = TicketKeeper::open();
  ASSERT_TRUE(keeper) << keeper.error().message;
  int asked = 0;
  std::thread server([&] {
    for (int i = 0; i < 3; ++i)
      (void)keeper->serve_one(JobId{7}, [&]() -> Result<ControllerClient::StepTicket> {
        ++asked;
        return ControllerClient::StepTicket{"ticket", {"n1", "n2"}, {"a:1", "b:2"}, {4, 2}};
      });
  });
  ControllerClient client({.controllers = {}, .auth_socket = {}, .ticket_socket = keeper->address()});
  for (int i = 0; i < 2; ++i) {
    const auto ticket = client.step_ticket(JobId{7});
    ASSERT_TRUE(ticket) << ticket.error().message;
    EXPECT_EQ(ticket->ticket, "ticket");
    EXPECT_EQ(ticket->nodes, (std::vector<std::string>{"n1", "n2"}));
    EXPECT_EQ(ticket->tasks_per_node, (std::vector<std::uint32_t>{4, 2}));
  }
  EXPECT_FALSE(client.step_ticket(JobId{8})) << "it keeps those of one job, and there is no controller";
  server.join();
  EXPECT_EQ(asked, 1);
}

TEST(TicketKeeperTest, WhereNobodyServesTheControllerIsAsked) {
  ControllerClient client({.controllers = {}, .auth_socket = {}, .ticket_socket = "@spur-nobody-is-here"});
  EXPECT_FALSE(client.step_ticket(JobId{7}));
}

}  // namespace
}  // namespace spur::wire
