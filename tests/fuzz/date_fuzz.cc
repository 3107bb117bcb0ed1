// SPDX-License-Identifier: Apache-2.0
#include "text/date.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(date, "now+1hour", "now-2days", "tomorrow 10:00", "16:00:30 PM", "2030-01-02T03:04:05", "010230",
          "01/02/30-10:00", "teatime", "uts1893555000", "%Y-%m-%d %s", "relative", "11/15", "now + 3 weeks",
          "2026-03-08T02:30") {
  const Time now = from_unix_seconds(1794774147);
  for (const DateSense sense : {DateSense::Coming, DateSense::Past}) {
    const auto when = parse_date(input, now, sense);
    if (!when) {
      fuzz::check_message(when.error());
      continue;
    }
    const std::string text = format_date(*when);
    const auto again = parse_date(text, now, sense);
    SPUR_CHECK(again.has_value() && format_date(*again) == text);
    SPUR_CHECK(!format_date(*when, now, "relative").empty());
  }
  if (const auto moment = parse_moment(input, now))
    SPUR_CHECK(is_set(*moment));
  else
    fuzz::check_message(moment.error());
  SPUR_CHECK(!format_date(now, now, input.substr(0, 200)).empty());
}

}  // namespace spur::text
