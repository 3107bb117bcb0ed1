// SPDX-License-Identifier: Apache-2.0
#include "os/name_lookup.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace spur::os {
namespace {

TEST(NameLookup, RootIsThereEverywhere) {
  EXPECT_EQ(user_by_name("root"), Uid{0});
  EXPECT_EQ(user_by_name("1234567"), Uid{1234567});
  EXPECT_EQ(user_by_name("no such user").error().code, ErrorCode::InvalidUser);
  EXPECT_EQ(members_of_group("no such group").error().code, ErrorCode::InvalidGroup);
  const auto members = members_of_group("root");
  ASSERT_TRUE(members);
  EXPECT_NE(std::ranges::find(*members, Uid{0}), members->end());  // by his first group
  const auto groups = group_names_of(Uid{0}, Gid{0});
  EXPECT_NE(std::ranges::find(groups, "root"), groups.end());
  EXPECT_TRUE(group_names_of(Uid{4'000'000'000}, Gid{0}).empty());
}

}  // namespace
}  // namespace spur::os
