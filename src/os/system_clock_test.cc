// SPDX-License-Identifier: Apache-2.0
#include "os/system_clock.h"

#include <gtest/gtest.h>

namespace spur::os {
namespace {

TEST(SystemClock, AgreesWithTheLibraryAndNeverGoesBack) {
  SystemClock clock;
  const auto before = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  const Time now = clock.now();
  const auto after = std::chrono::ceil<Duration>(std::chrono::system_clock::now());
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);

  Duration last = clock.monotonic();
  for (int i = 0; i < 10'000; ++i) {
    const Duration next = clock.monotonic();
    ASSERT_GE(next, last);
    last = next;
  }
  EXPECT_GT(last.count(), 0);
}

}  // namespace
}  // namespace spur::os
