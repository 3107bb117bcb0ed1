// SPDX-License-Identifier: Apache-2.0
#include "os/system_clock.h"

#include <time.h>

#include "base/check.h"

namespace spur::os {
namespace {

Duration read_clock(clockid_t clock) {
  timespec value{};
  SPUR_CHECK(::clock_gettime(clock, &value) == 0);
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(value.tv_sec) +
                                              std::chrono::nanoseconds(value.tv_nsec));
}

}  // namespace

Time SystemClock::now() {
  return Time{read_clock(CLOCK_REALTIME)};
}

Duration SystemClock::monotonic() {
  return read_clock(CLOCK_BOOTTIME);
}

}  // namespace spur::os
