// SPDX-License-Identifier: Apache-2.0
// The lines of scrontab and their times. A line is a comment (also "#SCRON OPTIONS", which belong to the next entry), a
// variable (NAME=VALUE), or an entry: five fields and a command, or @daily and the like and a command. Fields are
// minute, hour, day of the month, month and day of the week: `*`, numbers, ranges, lists, steps, names of months and
// days. A day fits if both day fields do, or, where both say something, if one of them does. Times are of the local
// zone (TZ); the present is an argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spur::text {

struct CronSchedule {
  std::uint64_t minutes = 0;                        // bit 0: minute 0
  std::uint32_t hours = 0, days = 0, months = 0;    // bit 1: the first day, January
  std::uint32_t weekdays = 0;                       // bit 0: Sunday
  bool every_minute = false, every_hour = false, every_day = false, every_month = false, every_weekday = false;
  friend bool operator==(const CronSchedule&, const CronSchedule&) = default;
};

// Five fields, or "@word".
Result<CronSchedule> parse_cron(std::string_view text);
// The first minute behind `after` that fits; not set: there is none (the 31st of February).
Time next_cron(const CronSchedule& schedule, Time after);
// "0,30 8-17 * * 1-5": how Slurm writes it, whatever way it was said.
std::string cron_text(const CronSchedule& schedule);

struct CronLine {
  std::string schedule;                                     // as written
  std::string command;
  std::vector<std::string> options;                         // words of its #SCRON lines
  std::vector<std::pair<std::string, std::string>> variables;  // set above it
  std::uint32_t first_line = 0, last_line = 0;              // from 1: its options and itself
  friend bool operator==(const CronLine&, const CronLine&) = default;
};
struct CronFault {
  std::string message;
  std::uint32_t first_line = 0, last_line = 0;
};

// All entries of a table, or what is wrong with its first bad one.
std::expected<std::vector<CronLine>, CronFault> parse_crontab(std::string_view text);

}  // namespace spur::text
