// SPDX-License-Identifier: Apache-2.0
// A process's view of virtual time. The monotonic clock starts anew with each process; the wall clock may be off.
#pragma once

#include "io/clock.h"
#include "sim/event_queue.h"

namespace spur::sim {

// 2026-01-01T00:00:00Z, so that dates in traces look like dates.
inline constexpr Time kWorldBegin = from_unix_seconds(1767225600);

class SimClock final : public io::Clock {
 public:
  SimClock(const EventQueue& events, Duration skew) : events_(events), born_(events.now()), skew_(skew) {}
  Time now() override { return kWorldBegin + events_.now() + skew_; }
  Duration monotonic() override { return events_.now() - born_; }
  void jump(Duration by) { skew_ += by; }
  // When something due at `mono` on this clock happens in the world.
  Duration world(Duration mono) const { return mono > Duration::max() - born_ ? Duration::max() : born_ + mono; }

 private:
  const EventQueue& events_;
  Duration born_, skew_;
};

}  // namespace spur::sim
