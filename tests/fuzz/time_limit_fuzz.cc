// SPDX-License-Identifier: Apache-2.0
#include "text/time_limit.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(time_limit, "5", "1:30", "0:90", "30:00:00", "1-2", "1-2:3:4", "UNLIMITED", "-1", "35791394",
          "9999999999") {
  const auto limit = parse_time_limit(input);
  const auto span = parse_time_seconds(input);
  SPUR_CHECK(limit.has_value() == span.has_value());
  if (!limit) return fuzz::check_message(limit.error());
  SPUR_CHECK(limit->is_unlimited() == !span->has_value());
  if (!*span) return;
  SPUR_CHECK(limit->is_finite() && limit->minutes_value() <= kMaxLimitMinutes);
  SPUR_CHECK(limit->duration() >= **span && limit->duration() < **span + minutes(1));
  for (const std::string& text : {format_clock(**span), format_elapsed(**span)}) {
    const auto again = parse_time_seconds(text);
    SPUR_CHECK(again.has_value() && again->has_value() && **again == **span);
  }
}

}  // namespace spur::text
