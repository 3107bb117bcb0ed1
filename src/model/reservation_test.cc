// SPDX-License-Identifier: Apache-2.0
#include "model/reservation.h"

#include <gtest/gtest.h>

namespace spur::model {
namespace {

const Time kMonday = from_unix_seconds(1794787200);  // 2026-11-16 00:00 UTC

Reservation daily(Time start, Duration length, std::uint64_t flags, std::vector<std::uint32_t> nodes = {0}) {
  Reservation r;
  r.start = start;
  r.end = start + length;
  r.flags = flags;
  for (const std::uint32_t node : nodes) r.nodes.push_back({.node = NodeIndex{node}});
  return r;
}

TEST(Reservation, FlagsReadAsSlurmShowsThem) {
  Reservation r;
  for (const char* word : {"purge_comp", "no_hold_jobs", "mai", "MAGNETIC", "static_alloc", "first_cores", "maint",
                           "ignore_jobs", "overlap", "Daily", "flex", "part"}) {
    const std::uint64_t flag = parse_reservation_flag(word);
    EXPECT_NE(flag, 0u) << word;
    r.flags |= flag;
  }
  EXPECT_EQ(flags_text(r),
            "MAINT,FLEX,OVERLAP,IGNORE_JOBS,DAILY,STATIC,PART_NODES,FIRST_CORES,PURGE_COMP=00:05:00,"
            "NO_HOLD_JOBS_AFTER_END,MAGNETIC");
  // By their beginnings, as far as Slurm knows them by these.
  for (const auto& [word, flag] : std::initializer_list<std::pair<const char*, std::uint64_t>>{
           {"f", kResvFlex}, {"fi", kResvFirstCores}, {"w", kResvWeekday}, {"weeke", kResvWeekend}, {"weekl", kResvWeekly},
           {"a", kResvAnyNodes}, {"l", kResvAnyNodes}, {"replace", kResvReplace}, {"replace_", kResvReplaceDown},
           {"mag", kResvMagnetic}, {"ma", 0}, {"p", 0}, {"spec_nodes", 0}, {"all_nodes", 0}, {"no_flex", 0}})
    EXPECT_EQ(parse_reservation_flag(word), flag) << word;
  EXPECT_EQ(parse_reservation_flag("bogus"), 0u);
  EXPECT_EQ(parse_reservation_flag(""), 0u);
}

TEST(Reservation, ListsOfNames) {
  EXPECT_TRUE(names_reservation("a", "a"));
  EXPECT_TRUE(names_reservation("b,a", "a"));
  EXPECT_FALSE(names_reservation("ab,b", "a"));
  EXPECT_FALSE(names_reservation("", "a"));
}

TEST(Reservation, NextDates) {
  struct Row {
    std::uint64_t flags;
    int from_hour;  // after Monday 00:00 UTC
    int now_hour, wanted_hour;
    int offset_hours = 0;
  };
  const Row rows[] = {
      {kResvHourly, 10, 13, 13},  // one that lasts an hour, looked at on the hour
      {kResvDaily, 10, 12, 34},   // over since 11
      {kResvDaily, 10, 10, 10},   // still the present one
      {kResvDaily, 10, 24 * 300 + 12, 24 * 301 + 10},
      {kResvWeekly, 10, 12, 10 + 168},
      {kResvWeekday, 24 * 4 + 10, 24 * 4 + 12, 24 * 7 + 10},   // Friday, then Monday
      {kResvWeekend, 24 * 6 + 10, 24 * 6 + 12, 24 * 12 + 10},  // Sunday, then Saturday
      // Friday 20:00 UTC is Saturday at +09:00, so that the next weekday is Sunday 20:00 UTC.
      {kResvWeekday, 24 * 3 + 20, 24 * 3 + 22, 24 * 6 + 20, 9},
      {kResvDaily | kResvWeekly, 10, 12, 34},
  };
  for (const Row& row : rows) {
    Reservation r = daily(kMonday + hours(row.from_hour), hours(1), row.flags);
    r.utc_offset = hours(row.offset_hours);
    const Occurrence next = occurrence_after(r, kMonday + hours(row.now_hour));
    EXPECT_EQ(next.start, kMonday + hours(row.wanted_hour)) << row.flags << " at " << row.now_hour;
    EXPECT_EQ(next.end - next.start, hours(1));
  }
  const Reservation once = daily(kMonday, hours(1), 0);
  EXPECT_FALSE(is_set(occurrence_after(once, kMonday + hours(1)).end));
}

TEST(Reservation, AFloatingOneKeepsItsDistance) {
  Reservation r = daily(kMonday + hours(1), minutes(10), kResvTimeFloat);
  r.float_ahead = hours(1);
  EXPECT_EQ(occurrence(r, kMonday + hours(5)).start, kMonday + hours(6));
  EXPECT_EQ(occurrence(r, kMonday + hours(5)).end, kMonday + hours(6) + minutes(10));
}

TEST(Reservation, Collide) {
  const Reservation one = daily(kMonday + hours(10), hours(2), 0, {1, 3});
  EXPECT_TRUE(collide(one, daily(kMonday + hours(11), hours(2), 0, {3, 4}), kMonday));
  EXPECT_FALSE(collide(one, daily(kMonday + hours(12), hours(2), 0, {3}), kMonday));
  EXPECT_FALSE(collide(one, daily(kMonday + hours(11), hours(2), 0, {2, 4}), kMonday));
  // In a later occurrence.
  EXPECT_TRUE(collide(one, daily(kMonday - hours(24 * 7 - 11), hours(1), kResvWeekly, {3}), kMonday));
  EXPECT_TRUE(collide(daily(kMonday + hours(24 * 30 + 9), hours(2), 0),
                      daily(kMonday + hours(10), hours(1), kResvDaily), kMonday));
  EXPECT_FALSE(collide(daily(kMonday + hours(24 * 30 + 12), hours(2), 0),
                       daily(kMonday + hours(10), hours(1), kResvDaily), kMonday));
  EXPECT_FALSE(collide(daily(kMonday + hours(9), hours(1), kResvDaily),
                       daily(kMonday + hours(10), hours(1), kResvDaily), kMonday));

  Reservation some = one, others = one;
  some.nodes = {{.node = NodeIndex{1}, .cores = {0, 1}}};
  others.nodes = {{.node = NodeIndex{1}, .cores = {2, 3}}};
  EXPECT_FALSE(collide(some, others, kMonday));
  EXPECT_TRUE(collide(some, one, kMonday));
  others.nodes[0].cores = {1};
  EXPECT_TRUE(collide(some, others, kMonday));
  some.nodes[0] = {.node = NodeIndex{1}, .devices = {{"gpu", "", {0, 1}}}};
  others.nodes[0] = {.node = NodeIndex{1}, .devices = {{"gpu", "", {1}}}};
  EXPECT_TRUE(collide(some, others, kMonday));
  others.nodes[0].devices[0].indices = {2};
  EXPECT_FALSE(collide(some, others, kMonday));
}

TEST(Reservation, WhoMayUseIt) {
  Reservation r;
  r.users.names = {"me", "you"};
  r.user_ids = {Uid{1000}, Uid{1001}};
  EXPECT_TRUE(lets_in(r, Uid{1001}, "any", ""));
  EXPECT_FALSE(lets_in(r, Uid{0}, "any", ""));
  r.accounts.names = {"a1"};  // both
  EXPECT_FALSE(lets_in(r, Uid{1001}, "any", ""));
  EXPECT_TRUE(lets_in(r, Uid{1001}, "a1", ""));
  r.users.denied = true;
  EXPECT_FALSE(lets_in(r, Uid{1001}, "a1", ""));
  EXPECT_TRUE(lets_in(r, Uid{5}, "a1", ""));
  r.accounts.denied = true;
  EXPECT_FALSE(lets_in(r, Uid{5}, "a1", ""));
  EXPECT_TRUE(lets_in(r, Uid{5}, "a2", ""));
  r.qos.names = {"high"};
  EXPECT_FALSE(lets_in(r, Uid{5}, "a2", "low"));
  EXPECT_TRUE(lets_in(r, Uid{5}, "a2", "high"));
}

}  // namespace
}  // namespace spur::model
