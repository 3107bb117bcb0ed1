// SPDX-License-Identifier: Apache-2.0
#include "text/array_spec.h"

#include <string>

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(ArraySpec, ParsesAndPrints) {
  const struct {
    const char *text, *printed;
    std::uint64_t tasks;
    std::uint32_t max_running;
  } rows[] = {
      {"0", "0", 1, 0},
      {"0-15", "0-15", 16, 0},
      {"1,3,5-9:2", "1,3,5,7,9", 5, 0},
      {"0-15%4", "0-15%4", 16, 4},
      {"1-3%0", "1-3", 3, 0},
      {"[1-3]%2", "1-3%2", 3, 2},
      {"5-5", "5", 1, 0},
      {"1-10:3", "1,4,7,10", 4, 0},
      {"1-13:2", "1-13:2", 7, 0},
      {"1-3:10", "1", 1, 0},
      {"1-3:18446744073709551615", "1", 1, 0},
      {"3,1,2,2", "1-3", 3, 0},
      {"01-03", "1-3", 3, 0},
      {"1,,2,", "1-2", 2, 0},
      {"0-4000000", "0-4000000", 4'000'001, 0},
      {"0-4000000%100", "0-4000000%100", 4'000'001, 100},
  };
  for (const auto& row : rows) {
    const auto spec = parse_array_spec(row.text);
    ASSERT_TRUE(spec) << row.text << ": " << spec.error().message;
    EXPECT_EQ(format_array_spec(*spec), row.printed) << row.text;
    EXPECT_EQ(spec->tasks.size(), row.tasks) << row.text;
    EXPECT_EQ(spec->max_running, row.max_running) << row.text;
  }
}

TEST(ArraySpec, RefusesTheRest) {
  for (const char* text : {"",
                           ",",
                           "%3",
                           "5-1",
                           "-1",
                           "1-",
                           "1-3:0",
                           "1-3:",
                           "1:2",
                           "a",
                           "0x1",
                           "1-3-5",
                           "1-3%",
                           "1-3%a",
                           "1-3%2%3",
                           "1-3%-1",
                           "1-3 ",
                           " 1",
                           "1.5",
                           "+1",
                           "[1-3",
                           "1-3]",
                           "4000001",
                           "0-4000001",
                           "0-999999999999",
                           "0-2147483648%1",
                           "99999999999999999999",
                           "0-18446744073709551616",
                           "1%99999999999",
                           "0-4000000:2,1-4000000:2,0-4000000:2"}) {
    const auto spec = parse_array_spec(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code, ErrorCode::InvalidArray);
    EXPECT_NE(spec.error().message.find(text), std::string::npos);
  }
}

TEST(ArraySpec, ObeysTheSitesLimit) {
  EXPECT_TRUE(parse_array_spec("0-1000", 1001));
  EXPECT_FALSE(parse_array_spec("0-1001", 1001));
  EXPECT_FALSE(parse_array_spec("0", 0));
  EXPECT_TRUE(parse_array_spec("0-4294967294", 0xffffffffu));
}

// Two interleaved strides, the worst order for a set of ranges: must not take quadratic time.
TEST(ArraySpec, InterleavedStridesMelt) {
  const auto spec = parse_array_spec("1-2000000:2,0-2000000:2");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->tasks.to_string(), "0-2000000");
}

// The text says the same thing again and again; only its length may cost.
TEST(ArraySpec, RepetitionIsCheap) {
  std::string text = "0-4000000";
  for (int i = 0; i < 20'000; ++i) text += ",0-4000000";
  const auto spec = parse_array_spec(text);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->tasks.ranges().size(), 1u);
}

}  // namespace
}  // namespace spur::text
