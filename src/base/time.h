// SPDX-License-Identifier: Apache-2.0
// Points in time and spans. Microseconds since the epoch, UTC. A Time of zero means "not set"; nothing in a
// scheduler happened in 1970. Pure code never asks for the time: it is an argument or part of a command.
#pragma once

#include <chrono>
#include <cstdint>

namespace spur {

using Duration = std::chrono::microseconds;
using Time = std::chrono::sys_time<Duration>;

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr bool is_set(Time t) { return t.time_since_epoch().count() != 0; }
constexpr std::int64_t to_micros(Time t) { return t.time_since_epoch().count(); }
constexpr Time from_micros(std::int64_t us) { return Time{Duration{us}}; }
constexpr std::int64_t to_unix_seconds(Time t) {
  return std::chrono::floor<std::chrono::seconds>(t).time_since_epoch().count();
}
constexpr Time from_unix_seconds(std::int64_t s) { return Time{std::chrono::seconds{s}}; }

// A job's time limit in whole minutes, as Slurm keeps it: unset, a number, or unlimited.
class TimeLimit {
 public:
  constexpr TimeLimit() = default;
  static constexpr TimeLimit of_minutes(std::uint32_t m) { return TimeLimit(m); }
  static constexpr TimeLimit unlimited() { return TimeLimit(kUnlimited); }

  constexpr bool is_set() const { return value_ != kUnset; }
  constexpr bool is_unlimited() const { return value_ == kUnlimited; }
  constexpr bool is_finite() const { return value_ < kUnlimited && value_ != kUnset; }
  constexpr std::uint32_t minutes_value() const { return value_; }  // only if is_finite()
  constexpr Duration duration() const { return std::chrono::minutes(value_); }
  // Slurm's encoding: NO_VAL 0xfffffffe unset, INFINITE 0xffffffff unlimited.
  constexpr std::uint32_t raw() const { return value_ == kUnset ? 0xfffffffeu : value_ == kUnlimited ? 0xffffffffu : value_; }
  static constexpr TimeLimit from_raw(std::uint32_t r) {
    return r == 0xfffffffeu ? TimeLimit() : r == 0xffffffffu ? unlimited() : TimeLimit(r);
  }
  friend constexpr bool operator==(TimeLimit, TimeLimit) = default;

 private:
  static constexpr std::uint32_t kUnset = 0xfffffffeu, kUnlimited = 0xfffffffdu;
  explicit constexpr TimeLimit(std::uint32_t v) : value_(v) {}
  std::uint32_t value_ = kUnset;
};

}  // namespace spur
