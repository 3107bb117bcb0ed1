// SPDX-License-Identifier: Apache-2.0
// Spans of time as Slurm users type them (--time, MaxTime=) and read them (TIME, TIME_LIMIT, TimeLimit=).
// Typed: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S, UNLIMITED, INFINITE, -1. Each field may exceed its usual range ("0:90");
// what is left of a minute counts as a whole one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace spur::text {

// The longest limit that is taken: 68 years, where Slurm's own count of seconds ends.
inline constexpr std::uint32_t kMaxLimitMinutes = 35'791'394;

Result<TimeLimit> parse_time_limit(std::string_view text);
// The same grammar to the second; no value means unlimited.
Result<std::optional<seconds>> parse_time_seconds(std::string_view text);

// "1-02:03:04", "2:03:04", "3:04": squeue and sinfo. Negative spans are "INVALID", as there.
std::string format_elapsed(seconds span);
// "1-02:03:04", "02:03:04", "00:03:04": scontrol and sacct.
std::string format_clock(seconds span);

enum class LimitStyle : std::uint8_t {
  Scontrol,  // 00:02:00, UNLIMITED, unset: Partition_Limit
  Squeue,    // 2:00, UNLIMITED, unset: NOT_SET
  Sinfo,     // 2:00, infinite, unset: n/a
};
std::string format_time_limit(TimeLimit limit, LimitStyle style);

}  // namespace spur::text
