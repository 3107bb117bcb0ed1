// SPDX-License-Identifier: Apache-2.0
#include "model/reservation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/time_limit.h"
#include "text/words.h"

namespace spur::model {
namespace {

struct FlagWord {
  std::uint64_t flag;
  std::string_view shown;
  std::string_view typed;  // empty: nobody may ask for it
  std::size_t least = 1;   // so many letters of it will do
  std::string_view also = {};
};
// In the order in which Slurm shows them, and in which it looks what the beginning of a word means.
constexpr std::array<FlagWord, 22> kWords{{
    {kResvMaint, "MAINT", "MAINTENANCE", 3},
    {kResvFlex, "FLEX", "FLEX"},
    {kResvOverlap, "OVERLAP", "OVERLAP"},
    {kResvIgnoreJobs, "IGNORE_JOBS", "IGNORE_JOBS"},
    {kResvHourly, "HOURLY", "HOURLY"},
    {kResvDaily, "DAILY", "DAILY"},
    {kResvWeekday, "WEEKDAY", "WEEKDAY"},
    {kResvWeekend, "WEEKEND", "WEEKEND"},
    {kResvWeekly, "WEEKLY", "WEEKLY"},
    {kResvSpecNodes, "SPEC_NODES", ""},
    {kResvAllNodes, "ALL_NODES", ""},
    {kResvAnyNodes, "ANY_NODES", "ANY_NODES", 1, "LICENSE_ONLY"},
    {kResvStaticAlloc, "STATIC", "STATIC_ALLOC"},
    {kResvPartNodes, "PART_NODES", "PART_NODES", 2},
    {kResvFirstCores, "FIRST_CORES", "FIRST_CORES"},
    {kResvTimeFloat, "TIME_FLOAT", "TIME_FLOAT"},
    {kResvReplace, "REPLACE", "REPLACE"},
    {kResvReplaceDown, "REPLACE_DOWN", "REPLACE_DOWN"},
    {kResvPurgeComp, "PURGE_COMP", "PURGE_COMP", 2},
    {kResvNoHoldJobs, "NO_HOLD_JOBS_AFTER_END", "NO_HOLD_JOBS_AFTER_END"},
    {kResvMagnetic, "MAGNETIC", "MAGNETIC", 3},
    {kResvUserDelete, "USER_DELETE", "USER_DELETE"},
}};

constexpr auto kDay = hours(24);
constexpr auto kHorizon = hours(24 * 366);

// 0 is Monday.
int weekday(Time at, seconds utc_offset) {
  const auto days = std::chrono::floor<std::chrono::days>(at + utc_offset);
  return static_cast<int>(std::chrono::weekday(days).iso_encoding()) - 1;
}

template <class T>
bool share(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::any_of(a, [&](const T& item) { return std::ranges::find(b, item) != b.end(); });
}

bool share_part(const ReservedNode& a, const ReservedNode& b) {
  if (a.whole() || b.whole() || share(a.cores, b.cores)) return true;
  for (const DeviceGrant& x : a.devices)
    for (const DeviceGrant& y : b.devices)
      if (x.gres == y.gres && share(x.indices, y.indices)) return true;
  return false;
}

bool share_nodes(const Reservation& a, const Reservation& b) {
  auto x = a.nodes.begin(), y = b.nodes.begin();
  while (x != a.nodes.end() && y != b.nodes.end()) {
    if (x->node == y->node && share_part(*x, *y)) return true;
    if (x->node <= y->node) {
      ++x;
    } else {
      ++y;
    }
  }
  return false;
}

bool passes(const ReservationNames& list, bool named) {
  return list.names.empty() || named != list.denied;
}

}  // namespace

std::string flags_text(const Reservation& reservation) {
  std::string out;
  for (const FlagWord& row : kWords) {
    if (!reservation.has(row.flag)) continue;
    if (!out.empty()) out += ',';
    out += row.shown;
    if (row.flag == kResvPurgeComp) out += '=' + text::format_clock(reservation.purge_after);
  }
  return out;
}

std::uint64_t parse_reservation_flag(std::string_view word) {
  const auto begins = [word](std::string_view typed, std::size_t least) {
    return word.size() >= least && text::starts_with_ignoring_case(typed, word);
  };
  for (const FlagWord& row : kWords)
    if (begins(row.typed, row.least) || begins(row.also, row.least)) return row.flag;
  return 0;
}

bool names_reservation(std::string_view list, std::string_view name) {
  if (list == name) return true;
  if (list.find(',') == std::string_view::npos) return false;
  const auto names = text::split(list, ',');
  return std::ranges::find(names, name) != names.end();
}

Occurrence occurrence(const Reservation& reservation, Time now) {
  if (!reservation.has(kResvTimeFloat)) return {reservation.start, reservation.end};
  const Time start = now + reservation.float_ahead;
  return {start, start + (reservation.end - reservation.start)};
}

Occurrence next_occurrence(const Reservation& reservation, const Occurrence& of) {
  Duration step{0};
  if (reservation.has(kResvHourly)) {
    step = hours(1);
  } else if (reservation.has(kResvDaily)) {
    step = kDay;
  } else if (reservation.has(kResvWeekday)) {
    step = kDay;
    while (weekday(of.start + step, reservation.utc_offset) > 4) step += kDay;
  } else if (reservation.has(kResvWeekend)) {
    step = kDay;
    while (weekday(of.start + step, reservation.utc_offset) < 5) step += kDay;
  } else if (reservation.has(kResvWeekly)) {
    step = 7 * kDay;
  } else {
    return {};
  }
  return {of.start + step, of.end + step};
}

Occurrence occurrence_after(const Reservation& reservation, Time now) {
  Occurrence at = occurrence(reservation, now);
  if (at.end > now) return at;
  if (!reservation.has(kResvRecurring)) return {};
  // Whole weeks are the same for all of them; the rest in steps.
  constexpr Duration week = 7 * kDay;
  const Duration skip = (now - at.end) / week * week;
  at = {at.start + skip, at.end + skip};
  while (at.end <= now) at = next_occurrence(reservation, at);
  return at;
}

bool collide(const Reservation& a, const Reservation& b, Time now) {
  return share_nodes(a, b) && meet(a, b, now);
}

bool meet(const Reservation& a, const Reservation& b, Time now) {
  Occurrence x = occurrence_after(a, now), y = occurrence_after(b, now);
  const Time horizon = now + kHorizon;
  while (is_set(x.end) && is_set(y.end) && (x.start < horizon || y.start < horizon)) {
    if (x.start < y.end && y.start < x.end) return true;
    if (x.end <= y.end) {
      x = next_occurrence(a, x);
    } else {
      y = next_occurrence(b, y);
    }
  }
  return false;
}

bool lets_in(const Reservation& r, Uid user, std::string_view account, std::string_view qos) {
  const bool is_user = std::ranges::binary_search(r.user_ids, user);
  const auto named = [](const ReservationNames& list, std::string_view name) {
    return std::ranges::find(list.names, name) != list.names.end();
  };
  return passes(r.users, is_user) && passes(r.groups, is_user) && passes(r.accounts, named(r.accounts, account)) &&
         passes(r.qos, named(r.qos, qos));
}

}  // namespace spur::model
