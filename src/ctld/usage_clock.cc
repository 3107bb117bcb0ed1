// SPDX-License-Identifier: Apache-2.0
#include "ctld/usage_clock.h"

#include <ctime>

namespace spur::ctld {

Time last_usage_reset(std::string_view period, Time now) {
  const std::time_t at = static_cast<std::time_t>(to_micros(now) / 1'000'000);
  std::tm day{};
  if (localtime_r(&at, &day) == nullptr) return {};
  day.tm_sec = day.tm_min = day.tm_hour = 0;
  day.tm_isdst = -1;
  if (period == "WEEKLY") {
    day.tm_mday -= day.tm_wday;  // weeks begin on Sunday
  } else if (period == "MONTHLY") {
    day.tm_mday = 1;
  } else if (period == "QUARTERLY") {
    day.tm_mday = 1;
    day.tm_mon -= day.tm_mon % 3;
  } else if (period == "YEARLY") {
    day.tm_mday = 1;
    day.tm_mon = 0;
  } else if (period != "DAILY") {
    return {};
  }
  return Time(seconds(std::mktime(&day)));
}

}  // namespace spur::ctld
