// SPDX-License-Identifier: Apache-2.0
#include "text/edit_distance.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(EditDistance, CountsEdits) {
  const struct {
    const char *a, *b;
    std::size_t distance;
  } rows[] = {
      {"", "", 0},      {"abc", "abc", 0}, {"abc", "ABC", 0}, {"abc", "", 3},           {"abc", "abd", 1},
      {"abc", "ab", 1}, {"abc", "acb", 1}, {"abc", "cab", 2}, {"kitten", "sitting", 3}, {"ab", "ba", 1},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(edit_distance(row.a, row.b), row.distance) << row.a << " " << row.b;
    EXPECT_EQ(edit_distance(row.b, row.a), row.distance) << row.a << " " << row.b;
  }
}

TEST(EditDistance, FindsTheNearMiss) {
  const std::vector<std::string_view> known{"partition", "partitions", "nodes", "max_time", "t"};
  EXPECT_EQ(nearest_word("partiton", known), "partition");
  EXPECT_EQ(nearest_word("nodse", known), "nodes");
  EXPECT_EQ(nearest_word("MAX-TIME", known), "max_time");
  EXPECT_EQ(nearest_word("zebra", known), std::nullopt);
  EXPECT_EQ(nearest_word("", known), std::nullopt);
  EXPECT_EQ(nearest_word(std::string(100'000, 'x'), known), std::nullopt);
  EXPECT_EQ(nearest_word("nodes", {}), std::nullopt);
}

}  // namespace
}  // namespace spur::text
