// SPDX-License-Identifier: Apache-2.0
#include "text/cron.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(cron, "*/5 * * * *", "0 8-17/2 1,15 jan-mar mon,fri", "@daily", "0 0 29 2 1", "0 0 31 2 *", "59 23 * * 7",
          "#SCRON -t 5 -p debug\n0 * * * * date\n", "A=1\nB = 'x y'\n@hourly run $A\n# text\n",
          "#SCRON --wrap='a\n0 0 * * * x\n") {
  const Time now = from_unix_seconds(1794774147);
  if (const auto schedule = parse_cron(input)) {
    const auto again = parse_cron(cron_text(*schedule));
    SPUR_CHECK(again.has_value() && cron_text(*again) == cron_text(*schedule));
    const Time next = next_cron(*schedule, now);
    SPUR_CHECK(!is_set(next) || (next > now && next == next_cron(*again, now)));
  } else {
    fuzz::check_message(schedule.error());
  }
  const auto lines = parse_crontab(input);
  if (!lines) {
    fuzz::check_message({ErrorCode::InvalidArgument, lines.error().message});
    SPUR_CHECK(lines.error().first_line > 0 && lines.error().first_line <= lines.error().last_line);
    return;
  }
  std::uint32_t last = 0;
  for (const CronLine& line : *lines) {
    SPUR_CHECK(line.first_line > last && line.first_line <= line.last_line);
    SPUR_CHECK(!line.command.empty() && parse_cron(line.schedule).has_value());
    last = line.last_line;
  }
}

}  // namespace spur::text
