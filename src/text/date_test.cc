// SPDX-License-Identifier: Apache-2.0
#include "text/date.h"

#include <cstdlib>
#include <ctime>
#include <string>

#include <gtest/gtest.h>

namespace spur::text {
namespace {

// Every test says in which time zone it lives; the one of the machine comes back afterwards.
class InZone {
 public:
  explicit InZone(const char* zone) {
    if (const char* tz = std::getenv("TZ")) before_ = tz, had_ = true;
    setenv("TZ", zone, 1);
    tzset();
  }
  ~InZone() {
    if (had_) {
      setenv("TZ", before_.c_str(), 1);
    } else {
      unsetenv("TZ");
    }
    tzset();
  }

 private:
  std::string before_;
  bool had_ = false;
};

const Time kNow = from_unix_seconds(1794774147);  // Sunday 2026-11-15T20:22:27 UTC

TEST(Date, CompletesComingTimes) {
  const InZone utc("UTC");
  const struct {
    const char *text, *date;
  } rows[] = {
      {"now", "2026-11-15T20:22:27"},
      {"NOW", "2026-11-15T20:22:27"},
      {"now+1hour", "2026-11-15T21:22:27"},
      {"now+1hours", "2026-11-15T21:22:27"},
      {"now + 1 hour", "2026-11-15T21:22:27"},
      {"now-2days", "2026-11-13T20:22:27"},
      {"now+60", "2026-11-15T20:23:27"},
      {"now+2minutes", "2026-11-15T20:24:27"},
      {"now+10seconds", "2026-11-15T20:22:37"},
      {"now+3weeks", "2026-12-06T20:22:27"},
      {"today", "2026-11-15T00:00:00"},
      {"tomorrow", "2026-11-16T00:00:00"},
      {"midnight", "2026-11-16T00:00:00"},
      {"noon", "2026-11-16T12:00:00"},
      {"fika", "2026-11-16T15:00:00"},
      {"teatime", "2026-11-16T16:00:00"},
      {"16:00", "2026-11-16T16:00:00"},
      {"23:59", "2026-11-15T23:59:00"},
      {"20:22:27", "2026-11-15T20:22:27"},
      {"4:00 PM", "2026-11-16T16:00:00"},
      {"4:00pm", "2026-11-16T16:00:00"},
      {"12:00AM", "2026-11-16T00:00:00"},
      {"12:00PM", "2026-11-16T12:00:00"},
      {"11:59:30 PM", "2026-11-15T23:59:30"},
      {"2030-01-02", "2030-01-02T00:00:00"},
      {"2030-01-02T03:04", "2030-01-02T03:04:00"},
      {"2030-01-02T03:04:05", "2030-01-02T03:04:05"},
      {"2030-01-02-03:04:05", "2030-01-02T03:04:05"},
      {"2030-01-02 03:04", "2030-01-02T03:04:00"},
      {"2030-01-02T10:00PM", "2030-01-02T22:00:00"},
      {"2030-02-30", "2030-03-02T00:00:00"},  // as Slurm's own mktime has it
      {"2020-01-02", "2020-01-02T00:00:00"},
      {"010230", "2030-01-02T00:00:00"},
      {"01/02/30", "2030-01-02T00:00:00"},
      {"01.02.30", "2030-01-02T00:00:00"},
      {"01/02", "2027-01-02T00:00:00"},
      {"1/2", "2027-01-02T00:00:00"},
      {"0102", "2027-01-02T00:00:00"},
      {"12/25", "2026-12-25T00:00:00"},
      {"11/15", "2027-11-15T00:00:00"},
      {"01/02/30-10:00", "2030-01-02T10:00:00"},
      {"tomorrow 10:00", "2026-11-16T10:00:00"},
      {"tomorrow-10:00", "2026-11-16T10:00:00"},
      {"16:00 tomorrow", "2026-11-16T16:00:00"},
      {"midnight tomorrow", "2026-11-16T00:00:00"},
      {"uts1893555000", "2030-01-02T03:30:00"},
  };
  for (const auto& row : rows) {
    const auto when = parse_date(row.text, kNow);
    ASSERT_TRUE(when) << when.error().message;
    EXPECT_EQ(format_date(*when), row.date) << row.text;
  }
}

TEST(Date, CompletesPastTimesForAccounting) {
  const InZone utc("UTC");
  const struct {
    const char *text, *date;
  } rows[] = {
      {"10:00", "2026-11-15T10:00:00"},     {"23:59", "2026-11-15T23:59:00"},
      {"midnight", "2026-11-15T00:00:00"},  {"01/02", "2026-01-02T00:00:00"},
      {"12/25", "2025-12-25T00:00:00"},     {"11/15", "2026-11-15T00:00:00"},
      {"now-1week", "2026-11-08T20:22:27"}, {"2027-01-01", "2027-01-01T00:00:00"},
  };
  for (const auto& row : rows) {
    const auto when = parse_date(row.text, kNow, DateSense::Past);
    ASSERT_TRUE(when) << when.error().message;
    EXPECT_EQ(format_date(*when), row.date) << row.text;
  }
}

TEST(Date, RefusesInSlurmsWords) {
  const InZone utc("UTC");
  const struct {
    const char* text;
    int position;
  } rows[] = {
      {"sometime", 0},
      {"banana", 0},
      {"now+", 3},
      {"now+x", 3},
      {"now+5min", 4},
      {"now+10sec", 5},
      {"now+1fortnight", 4},
      {"elevenses", 0},
      {"25:00", 0},
      {"12:60", 3},
      {"13:00PM", 5},
      {"10", 2},
      {"4pm", 1},
      {"2030-1-2", 0},
      {"2030-13-01", 5},
      {"2030-01-02T25:00", 11},
      {"2030-01-02T03", 13},
      {"2030-01-02T3:4", 14},
      {"2030-01-02T03:04:05Z", 19},
      {"today+1hour", 5},
      {"noon+1hour", 4},
      {"10:00:00.5", 8},
      {"01/02/2030", 8},
      {"99/99/99", 0},
      {"1893555000", 0},
      {"uts123", 0},
      {"now now", 4},
      {"Tomorrow", 1},
      {"10:00 11:00", 6},
      {"2030-01-02 2030-01-03", 11},
      {"now 10:00", 4},
      {"yesterday", 0},
  };
  for (const auto& row : rows) {
    const auto when = parse_date(row.text, kNow);
    ASSERT_FALSE(when) << row.text;
    EXPECT_EQ(when.error().message,
              "Invalid time specification (pos=" + std::to_string(row.position) + "): " + row.text);
  }
  for (const char* text : {"", " ", "T", "-", "now+99999999999999999999hours", "now+2147483647weeks",
                           "uts99999999999999999999", "now-2147483647days", "0000-01-01"})
    EXPECT_FALSE(parse_date(text, kNow)) << text;
}

TEST(Date, LivesInTheLocalZone) {
  {
    const InZone berlin("Europe/Berlin");
    EXPECT_EQ(format_date(kNow), "2026-11-15T21:22:27");
    EXPECT_EQ(to_unix_seconds(*parse_date("2026-07-01T12:00", kNow)), 1782900000);  // summer: UTC+2
    EXPECT_EQ(to_unix_seconds(*parse_date("2026-12-01T12:00", kNow)), 1796122800);  // winter: UTC+1
  }
  {
    // The hour that does not exist and the day of 25 hours.
    const InZone new_york("America/New_York");
    const Time before = from_unix_seconds(1772938800);  // 2026-03-07T22:00:00
    EXPECT_EQ(format_date(*parse_date("tomorrow", before)), "2026-03-08T00:00:00");
    EXPECT_EQ(format_date(*parse_date("2026-03-08T03:30", before)), "2026-03-08T03:30:00");
    EXPECT_TRUE(parse_date("2026-03-08T02:30", before));
    const Time autumn = from_unix_seconds(1793505600);  // 2026-11-01T00:00:00 EDT
    EXPECT_EQ(format_date(*parse_date("tomorrow", autumn)), "2026-11-02T00:00:00");
    EXPECT_EQ(to_unix_seconds(*parse_date("tomorrow", autumn)) - 1793505600, 25 * 3600);
  }
}

TEST(Date, PrintsUnsetAsUnknown) {
  EXPECT_EQ(format_date(Time{}), "Unknown");
  EXPECT_EQ(format_date(Time{}, kNow, "relative"), "Unknown");
  EXPECT_EQ(format_date_or(Time{}, "N/A"), "N/A");
  EXPECT_EQ(format_date_or(kNow, "None"), format_date(kNow));
  EXPECT_EQ(format_date(Time::max()), "Unknown");
  EXPECT_EQ(format_date(Time::min()), "Unknown");
}

TEST(Date, ObeysSlurmTimeFormat) {
  const InZone utc("UTC");
  const auto after = [](std::int64_t s) { return from_unix_seconds(to_unix_seconds(kNow) + s); };
  constexpr std::int64_t kDay = 86400;
  const struct {
    Time when;
    const char *format, *text;
  } rows[] = {
      {kNow, "", "2026-11-15T20:22:27"},
      {kNow, "standard", "2026-11-15T20:22:27"},
      {kNow, "%s", "1794774147"},
      {kNow, "%a %T", "Sun 20:22:27"},
      {kNow, "nonsense", "2026-11-15T20:22:27"},
      {kNow, "relative", "20:22:27"},
      {after(-5 * 3600), "relative", "15:22:27"},
      {after(kDay), "relative", "Tomorr 20:22"},
      {after(-kDay), "relative", "Ystday 20:22"},
      {after(2 * kDay), "relative", "Tue 20:22"},
      {after(6 * kDay), "relative", "Sat 20:22"},
      {after(7 * kDay), "relative", "22 Nov 20:22"},
      {after(-2 * kDay), "relative", "13 Nov 20:22"},
      {after(-14 * kDay), "relative", "1 Nov 20:22"},
      {after(60 * kDay), "relative", "14 Jan 2027"},
  };
  for (const auto& row : rows) EXPECT_EQ(format_date(row.when, kNow, row.format), row.text) << row.format;
}

TEST(Date, MomentsHaveFractions) {
  const Time now = from_unix_seconds(1'800'000'000);
  const auto micros = [&](std::string_view text) -> std::int64_t {
    const auto when = parse_moment(text, now);
    return when ? to_micros(*when) : -1;
  };
  EXPECT_EQ(micros("uts1700000000"), 1'700'000'000'000'000);
  EXPECT_EQ(micros("uts1700000000.5"), 1'700'000'000'500'000);
  EXPECT_EQ(micros("uts1700000000.000001"), 1'700'000'000'000'001);
  EXPECT_EQ(micros("now-5minutes"), 1'799'999'700'000'000);
  EXPECT_EQ(to_micros(*parse_moment("now-1", now + Duration(7))), 1'799'999'999'000'007);
  EXPECT_EQ(micros("2026-03-04T05:06:07.25") - micros("2026-03-04T05:06:07"), 250'000);
  EXPECT_EQ(micros("05:06:07.250000") - micros("05:06:07"), 250'000);
  EXPECT_NE(micros("03.04.26"), -1);  // a date, not a fraction
  for (const char* bad : {"uts1700000000.", "uts1700000000.1234567", "2026-03-04T05:06:07.x", "05:06.5", "", "uts.5"})
    EXPECT_EQ(micros(bad), -1) << bad;
}

}  // namespace
}  // namespace spur::text
