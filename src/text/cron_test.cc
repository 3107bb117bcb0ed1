// SPDX-License-Identifier: Apache-2.0
#include "text/cron.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "text/date.h"

namespace spur::text {
namespace {

// The local zone for the length of a test.
class Zone {
 public:
  explicit Zone(const char* name) {
    const char* was = std::getenv("TZ");
    if (was) was_ = was;
    had_ = was != nullptr;
    setenv("TZ", name, 1);
    tzset();
  }
  ~Zone() {
    had_ ? setenv("TZ", was_.c_str(), 1) : unsetenv("TZ");
    tzset();
  }

 private:
  std::string was_;
  bool had_;
};

std::string next(std::string_view schedule, std::string_view after) {
  const auto parsed = parse_cron(schedule);
  if (!parsed) return parsed.error().message;
  const auto from = parse_date(after, from_unix_seconds(1'700'000'000));
  EXPECT_TRUE(from) << after;
  const Time when = next_cron(*parsed, *from);
  return is_set(when) ? format_date(when) : "never";
}

TEST(Cron, NextTime) {
  const Zone zone("UTC");
  struct Row {
    const char *schedule, *after, *next;
  };
  constexpr Row kRows[] = {
      {"* * * * *", "2026-11-18T01:20:30", "2026-11-18T01:21:00"},
      {"* * * * *", "2026-11-18T01:20:00", "2026-11-18T01:21:00"},
      {"*/15 * * * *", "2026-11-18T01:20:30", "2026-11-18T01:30:00"},
      {"5-59/20 * * * *", "2026-11-18T01:26:00", "2026-11-18T01:45:00"},
      {"0 8 * * *", "2026-11-18T08:00:00", "2026-11-19T08:00:00"},
      {"0 0 1 1 *", "2026-11-18T01:20:30", "2027-01-01T00:00:00"},
      {"@yearly", "2026-11-18T01:20:30", "2027-01-01T00:00:00"},
      {"@annually", "2027-01-01T00:00:00", "2028-01-01T00:00:00"},
      {"@monthly", "2026-12-31T23:59:59", "2027-01-01T00:00:00"},
      {"@weekly", "2026-11-18T01:20:30", "2026-11-22T00:00:00"},
      {"@daily", "2026-11-18T01:20:30", "2026-11-19T00:00:00"},
      {"@midnight", "2026-11-18T01:20:30", "2026-11-19T00:00:00"},
      {"@hourly", "2026-11-18T01:20:30", "2026-11-18T02:00:00"},
      {"@elevenses", "2026-11-18T01:20:30", "2026-11-18T11:00:00"},
      {"@noon", "2026-11-18T01:20:30", "2026-11-18T12:00:00"},
      {"@fika", "2026-11-18T01:20:30", "2026-11-18T15:00:00"},
      {"@teatime", "2026-11-18T01:20:30", "2026-11-18T16:00:00"},
      // 18 November 2026 is a Wednesday
      {"0 9 * * mon-fri", "2026-11-20T09:00:00", "2026-11-23T09:00:00"},
      {"0 9 * * 7", "2026-11-18T01:20:30", "2026-11-22T09:00:00"},
      {"0 9 * * 0", "2026-11-18T01:20:30", "2026-11-22T09:00:00"},
      {"0 9 1 * fri", "2026-11-18T01:20:30", "2026-11-20T09:00:00"},  // either
      {"0 9 19 * fri", "2026-11-18T01:20:30", "2026-11-19T09:00:00"},
      {"0 9 13 nov *", "2026-11-18T01:20:30", "2027-11-13T09:00:00"},
      {"0 0 29 feb *", "2026-11-18T01:20:30", "2028-02-29T00:00:00"},
      {"0 0 31 2 *", "2026-11-18T01:20:30", "never"},
      {"0 0 31 2,3 *", "2026-11-18T01:20:30", "2027-03-31T00:00:00"},
  };
  for (const Row& row : kRows) EXPECT_EQ(next(row.schedule, row.after), row.next) << row.schedule;
}

TEST(Cron, WhereClocksAreChanged) {
  const Zone zone("Europe/Berlin");
  EXPECT_EQ(next("30 2 * * *", "2027-03-28T00:00:00"), "2027-03-28T03:30:00");  // there is no 02:30
  EXPECT_EQ(next("30 2 * * *", "2027-03-28T03:30:00"), "2027-03-29T02:30:00");
  EXPECT_EQ(next("0 8 * * *", "2027-03-27T08:00:00"), "2027-03-28T08:00:00");   // 23 hours later
  EXPECT_EQ(next("0 8 * * *", "2027-10-30T08:00:00"), "2027-10-31T08:00:00");   // 25 hours later
}

TEST(Cron, BadTimes) {
  for (const char* bad : {"", "*", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *",
                          "* * * 13 *", "* * * 0 *", "* * * * 8", "5-1 * * * *", "*/0 * * * *", "*/61 * * * *", "1, * * * *",
                          ",1 * * * *", "-1 * * * *", "1/5 * * * *", "a * * * *", "* * * janu *", "@", "@reboot",
                          "@daily x", "99999999999 * * * *", "1-2-3 * * * *"})
    EXPECT_FALSE(parse_cron(bad)) << bad;
}

TEST(Cron, AsSlurmWritesIt) {
  EXPECT_EQ(cron_text(*parse_cron("*/20 8-10 * jan,mar SUN")), "0,20,40 8-10 * 1,3 0");
  EXPECT_EQ(cron_text(*parse_cron("@daily")), "0 0 * * *");
  EXPECT_EQ(cron_text(*parse_cron("0 0 1 1 1-7")), "0 0 1 1 0-6");
}

TEST(Cron, Tables) {
  const auto lines = parse_crontab(
      "# mine\n"
      "\n"
      "A=1\n"
      " B = \"two words\" \n"
      "#SCRON -p debug --time=5\n"
      "# between\n"
      "#SCRON -J 'my job'\n"
      "*/5  *\t* * * date > out # not a comment\n"
      "#SCRONISH\n"
      "@daily echo X=1\n");
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ((*lines)[0].schedule, "*/5 * * * *");
  EXPECT_EQ((*lines)[0].command, "date > out # not a comment");
  EXPECT_EQ((*lines)[0].options, (std::vector<std::string>{"-p", "debug", "--time=5", "-J", "my job"}));
  EXPECT_EQ((*lines)[0].first_line, 5u);
  EXPECT_EQ((*lines)[0].last_line, 8u);
  EXPECT_EQ((*lines)[1].options, std::vector<std::string>{});
  EXPECT_EQ((*lines)[1].command, "echo X=1");
  EXPECT_EQ((*lines)[1].first_line, 10u);
  ASSERT_EQ((*lines)[1].variables.size(), 2u);
  EXPECT_EQ((*lines)[1].variables[1], (std::pair<std::string, std::string>("B", "two words")));
}

TEST(Cron, BadTables) {
  const auto bad = parse_crontab("# fine\n#SCRON -t 5\n61 * * * * date\n");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().first_line, 2u);
  EXPECT_EQ(bad.error().last_line, 3u);
  EXPECT_NE(bad.error().message.find("minute"), std::string::npos);
  EXPECT_EQ(parse_crontab("0 0 * * *").error().last_line, 1u);  // no command
  EXPECT_TRUE(parse_crontab("")->empty());
}

}  // namespace
}  // namespace spur::text
