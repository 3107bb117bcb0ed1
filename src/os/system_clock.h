// SPDX-License-Identifier: Apache-2.0
// The machine's clocks behind io::Clock. monotonic() is CLOCK_BOOTTIME: a lease must also run out while a laptop
// sleeps.
#pragma once

#include "io/clock.h"

namespace spur::os {

class SystemClock final : public io::Clock {
 public:
  Time now() override;
  Duration monotonic() override;
};

}  // namespace spur::os
