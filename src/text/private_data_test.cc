// SPDX-License-Identifier: Apache-2.0
#include "text/private_data.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(PrivateData, Words) {
  EXPECT_EQ(parse_private_data(""), 0u);
  EXPECT_EQ(parse_private_data("none,cloud"), 0u);
  EXPECT_EQ(parse_private_data("jobs"), kPrivateJobs);
  EXPECT_EQ(parse_private_data("Usage, USERS,jobs"), kPrivateUsage | kPrivateUsers | kPrivateJobs);
  EXPECT_EQ(parse_private_data("accounts,events,nodes,partitions,reservations"),
            kPrivateAccounts | kPrivateEvents | kPrivateNodes | kPrivatePartitions | kPrivateReservations);
  EXPECT_NE(parse_private_data("all") & kPrivateEvents, 0u);
}

}  // namespace
}  // namespace spur::text
