// SPDX-License-Identifier: Apache-2.0
#include "ctld/usage_clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace spur::ctld {
namespace {

Time utc(int year, int month, int day, int hour) {
  std::tm when{};
  when.tm_year = year - 1900, when.tm_mon = month - 1, when.tm_mday = day, when.tm_hour = hour;
  return Time(seconds(timegm(&when)));
}

TEST(LastUsageReset, IsTheBeginningOfThePeriod) {
  ASSERT_EQ(setenv("TZ", "UTC", 1), 0);
  tzset();
  const Time now = utc(2026, 11, 18, 15);  // a Wednesday
  EXPECT_EQ(last_usage_reset("DAILY", now), utc(2026, 11, 18, 0));
  EXPECT_EQ(last_usage_reset("WEEKLY", now), utc(2026, 11, 15, 0));
  EXPECT_EQ(last_usage_reset("MONTHLY", now), utc(2026, 11, 1, 0));
  EXPECT_EQ(last_usage_reset("QUARTERLY", now), utc(2026, 10, 1, 0));
  EXPECT_EQ(last_usage_reset("YEARLY", now), utc(2026, 1, 1, 0));
  EXPECT_FALSE(is_set(last_usage_reset("NONE", now)));
}

}  // namespace
}  // namespace spur::ctld
