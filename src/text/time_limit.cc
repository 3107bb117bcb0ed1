// SPDX-License-Identifier: Apache-2.0
#include "text/time_limit.h"

#include <fmt/format.h>

#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

constexpr std::uint64_t kMaxLimitSeconds = std::uint64_t{kMaxLimitMinutes} * 60;

// Sum of the fields times their units, or nothing where a field is no number or the sum passes kMaxLimitSeconds.
std::optional<std::uint64_t> sum_fields(std::string_view fields, std::uint64_t first_unit, std::size_t at_most) {
  std::uint64_t total = 0, unit = first_unit;
  const auto parts = split(fields, ':');
  if (parts.size() > at_most) return std::nullopt;
  for (const auto part : parts) {
    const auto value = parse_decimal(part, kMaxLimitSeconds);
    if (!value) return std::nullopt;
    total += *value * unit;  // at most three terms below 2^32 * 2^12
    unit /= 60;
  }
  return total;
}

std::optional<std::uint64_t> parse_span(std::string_view text) {
  std::optional<std::uint64_t> total;
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    const auto days = parse_decimal(text.substr(0, dash), kMaxLimitSeconds);
    if (!days) return std::nullopt;
    const std::string_view clock = text.substr(dash + 1);
    total = clock.empty() ? 0 : sum_fields(clock, 3600, 3);  // Slurm takes "1-" for one day
    if (total) *total += *days * 86400;
  } else {
    const bool has_hours = text.find(':') != text.rfind(':');
    total = sum_fields(text, has_hours ? 3600 : 60, 3);
  }
  if (!total || *total > kMaxLimitSeconds) return std::nullopt;
  return total;
}

struct LimitClock {
  std::int64_t days, hours, minutes, seconds;
};

LimitClock split_clock(seconds span) {
  const std::int64_t s = span.count();
  return {s / 86400, s / 3600 % 24, s / 60 % 60, s % 60};
}

}  // namespace

Result<std::optional<seconds>> parse_time_seconds(std::string_view text) {
  if (text == "-1" || equal_ignoring_case(text, "UNLIMITED") || equal_ignoring_case(text, "INFINITE"))
    return std::nullopt;
  const auto total = parse_span(text);
  if (!total) return fail(ErrorCode::InvalidTimeLimit, fmt::format("Invalid time specification \"{}\"", shown(text)));
  return seconds(static_cast<std::int64_t>(*total));
}

Result<TimeLimit> parse_time_limit(std::string_view text) {
  SPUR_ASSIGN(const auto span, parse_time_seconds(text));
  if (!span) return TimeLimit::unlimited();
  return TimeLimit::of_minutes(static_cast<std::uint32_t>((span->count() + 59) / 60));
}

std::string format_elapsed(seconds span) {
  if (span.count() < 0) return "INVALID";
  if (span.count() == 0) return "0:00";  // of all that wait
  const LimitClock c = split_clock(span);
  if (c.days > 0) return fmt::format("{}-{:02}:{:02}:{:02}", c.days, c.hours, c.minutes, c.seconds);
  if (c.hours > 0) return fmt::format("{}:{:02}:{:02}", c.hours, c.minutes, c.seconds);
  return fmt::format("{}:{:02}", c.minutes, c.seconds);
}

std::string format_clock(seconds span) {
  if (span.count() < 0) return "INVALID";
  const LimitClock c = split_clock(span);
  if (c.days > 0) return fmt::format("{}-{:02}:{:02}:{:02}", c.days, c.hours, c.minutes, c.seconds);
  return fmt::format("{:02}:{:02}:{:02}", c.hours, c.minutes, c.seconds);
}

std::string format_time_limit(TimeLimit limit, LimitStyle style) {
  if (limit.is_finite()) {
    const seconds span{std::int64_t{limit.minutes_value()} * 60};
    return style == LimitStyle::Scontrol ? format_clock(span) : format_elapsed(span);
  }
  if (limit.is_unlimited()) return style == LimitStyle::Sinfo ? "infinite" : "UNLIMITED";
  switch (style) {
    case LimitStyle::Scontrol:
      return "Partition_Limit";
    case LimitStyle::Squeue:
      return "NOT_SET";
    case LimitStyle::Sinfo:
      break;
  }
  return "n/a";
}

}  // namespace spur::text
