// SPDX-License-Identifier: Apache-2.0
#include "text/time_limit.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(TimeLimit, ParsesEveryForm) {
  const struct {
    const char* text;
    std::int64_t seconds;
    std::uint32_t minutes;
  } rows[] = {
      {"0", 0, 0},
      {"5", 300, 5},
      {"1:30", 90, 2},
      {"0:90", 90, 2},
      {"0:1", 1, 1},
      {"0:60", 60, 1},
      {"90:00", 5400, 90},
      {"30:00:00", 108000, 1800},
      {"100:100:100", 366100, 6102},
      {"0:0:1", 1, 1},
      {"1-0", 86400, 1440},
      {"1-", 86400, 1440},
      {"1-2", 93600, 1560},
      {"1-25", 176400, 2940},
      {"1-2:3", 93780, 1563},
      {"1-2:3:4", 93784, 1564},
      {"0-0:0:1", 1, 1},
      {"7-00:00:00", 604800, 10080},
      {"007", 420, 7},
      {"35791394", 2147483640, kMaxLimitMinutes},
  };
  for (const auto& row : rows) {
    const auto span = parse_time_seconds(row.text);
    ASSERT_TRUE(span && *span) << row.text;
    EXPECT_EQ((*span)->count(), row.seconds) << row.text;
    EXPECT_EQ(parse_time_limit(row.text), TimeLimit::of_minutes(row.minutes)) << row.text;
  }
}

TEST(TimeLimit, KnowsUnlimited) {
  for (const char* text : {"UNLIMITED", "unlimited", "INFINITE", "Infinite", "-1"}) {
    const auto limit = parse_time_limit(text);
    ASSERT_TRUE(limit) << text;
    EXPECT_TRUE(limit->is_unlimited()) << text;
    EXPECT_FALSE(parse_time_seconds(text)->has_value()) << text;
  }
}

TEST(TimeLimit, RefusesTheRest) {
  for (const char* text : {"",
                           "banana",
                           "1a",
                           "1:",
                           ":1",
                           "1::2",
                           "1:2:3:4",
                           "-2",
                           "-5",
                           "--1",
                           "1-1-1",
                           "1-:3",
                           "1-2:",
                           "1-2:3:4:5",
                           "1:2-3",
                           " 5",
                           "5 ",
                           "1.5",
                           "+5",
                           "UNLIMITEDx",
                           "UNLIM",
                           "1d",
                           "35791395",
                           "2147483647",
                           "4294967295",
                           "24856-0",
                           "99999999999",
                           "18446744073709551616",
                           "9999999999999999999999",
                           "999999999999999999:0:0",
                           "999999999999-999999999999:999999999999:999999999999",
                           "\xc2\xb2"}) {
    const auto limit = parse_time_limit(text);
    ASSERT_FALSE(limit) << text;
    EXPECT_EQ(limit.error().code, ErrorCode::InvalidTimeLimit);
    EXPECT_NE(limit.error().message.find(text), std::string::npos) << limit.error().message;
  }
}

TEST(TimeLimit, PrintsSpans) {
  const struct {
    std::int64_t span;
    const char *elapsed, *clock;
  } rows[] = {
      {0, "0:00", "00:00:00"},
      {5, "0:05", "00:00:05"},
      {65, "1:05", "00:01:05"},
      {120, "2:00", "00:02:00"},
      {3599, "59:59", "00:59:59"},
      {3600, "1:00:00", "01:00:00"},
      {86399, "23:59:59", "23:59:59"},
      {86400, "1-00:00:00", "1-00:00:00"},
      {93784, "1-02:03:04", "1-02:03:04"},
      {31536000, "365-00:00:00", "365-00:00:00"},
      {-1, "INVALID", "INVALID"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(format_elapsed(seconds(row.span)), row.elapsed);
    EXPECT_EQ(format_clock(seconds(row.span)), row.clock);
  }
}

TEST(TimeLimit, PrintsLimitsInEachCommandsWords) {
  using enum LimitStyle;
  const struct {
    TimeLimit limit;
    const char *scontrol, *squeue, *sinfo;
  } rows[] = {
      {TimeLimit::of_minutes(2), "00:02:00", "2:00", "2:00"},
      {TimeLimit::of_minutes(1440), "1-00:00:00", "1-00:00:00", "1-00:00:00"},
      {TimeLimit::unlimited(), "UNLIMITED", "UNLIMITED", "infinite"},
      {TimeLimit(), "Partition_Limit", "NOT_SET", "n/a"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(format_time_limit(row.limit, Scontrol), row.scontrol);
    EXPECT_EQ(format_time_limit(row.limit, Squeue), row.squeue);
    EXPECT_EQ(format_time_limit(row.limit, Sinfo), row.sinfo);
  }
}

TEST(TimeLimit, WhatIsPrintedReadsBack) {
  for (std::int64_t span = 0; span < 400'000; span += 137) {
    EXPECT_EQ(parse_time_seconds(format_clock(seconds(span)))->value().count(), span);
    EXPECT_EQ(parse_time_seconds(format_elapsed(seconds(span)))->value().count(), span);
  }
}

}  // namespace
}  // namespace spur::text
