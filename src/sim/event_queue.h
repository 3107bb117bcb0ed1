// SPDX-License-Identifier: Apache-2.0
// Virtual time: events run in order of time, then of scheduling. Nothing here waits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/time.h"

namespace spur::sim {

class EventQueue {
 public:
  using Action = std::function<void()>;
  Duration now() const { return now_; }
  void at(Duration when, Action action) { events_.emplace(std::pair{when < now_ ? now_ : when, ++sequence_}, std::move(action)); }
  void after(Duration delay, Action action) { at(now_ + delay, std::move(action)); }
  bool empty() const { return events_.empty(); }
  Duration next_time() const { return events_.begin()->first.first; }
  // Runs the next event; false if there is none.
  bool step() {
    if (events_.empty()) return false;
    auto node = events_.extract(events_.begin());
    now_ = node.key().first;
    ++ran_;
    node.mapped()();
    return true;
  }
  // Lets time pass without an event; never past the next one.
  void advance(Duration when) {
    if (when > now_) now_ = when;
  }
  std::uint64_t ran() const { return ran_; }

 private:
  Duration now_{0};
  std::uint64_t sequence_ = 0, ran_ = 0;
  std::map<std::pair<Duration, std::uint64_t>, Action> events_;
};

}  // namespace spur::sim
