// SPDX-License-Identifier: Apache-2.0
// Points in time as Slurm users type them (--begin, --deadline, sacct -S) and read them, in the local time zone (TZ).
// Typed: now, now+1hour, now-2days, now+60, today, tomorrow, midnight, noon, fika, teatime, HH:MM[:SS] [AM|PM],
// YYYY-MM-DD[THH:MM[:SS]], MMDD[YY], MM/DD[/YY], MM.DD[.YY], utsSECONDS; a date and a time may follow one another in
// either order, separated by blanks, 'T' or '-'. The present is an argument; nothing here reads a clock.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace spur::text {

// How a time or date that is not fully said is completed. Coming: 10:00 after ten is tomorrow's, 01/02 the next 2nd
// of January (--begin). Past: 10:00 is today's, a date later in the year is last year's (sacct -S).
enum class DateSense : std::uint8_t { Coming, Past };

// Whole seconds. The message is Slurm's: "Invalid time specification (pos=0): sometime".
Result<Time> parse_date(std::string_view text, Time now, DateSense sense = DateSense::Coming);

// For looking back: the same, and a fraction of a second behind HH:MM:SS or utsSECONDS, down to microseconds. "now" is
// not rounded.
Result<Time> parse_moment(std::string_view text, Time now);

// "2026-11-15T19:20:18"; "Unknown" if `when` is not set. Years beyond 9999 are "Unknown" too.
std::string format_date(Time when);
// The same with another word for "not set": "N/A" (Deadline), "None" (SuspendTime, BootTime).
std::string format_date_or(Time when, std::string_view unset);
// With the value of SLURM_TIME_FORMAT: "" and "standard" as above, "relative" (12:30:05, "Tomorr 12:30", "Mon 12:30",
// "25 Apr 12:30", "6 Jun 2012"), else a strftime format. An empty result of strftime gives the standard form.
std::string format_date(Time when, Time now, std::string_view format);

}  // namespace spur::text
