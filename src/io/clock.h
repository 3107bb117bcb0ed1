// SPDX-License-Identifier: Apache-2.0
// The door to time. Real: os/system_clock.h. Virtual: sim/.
#pragma once

#include "base/time.h"

namespace spur::io {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() = 0;            // wall clock, may jump
  virtual Duration monotonic() = 0;  // since some start, never back; leases and timeouts are measured with it
};

}  // namespace spur::io
