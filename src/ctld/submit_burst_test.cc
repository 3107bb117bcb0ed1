// SPDX-License-Identifier: Apache-2.0
#include "ctld/submit_burst.h"

#include <gtest/gtest.h>

namespace spur::ctld {
namespace {

constexpr Duration kMost = seconds(3);

// `count` submissions, `apart` from each other; when the last one came.
Duration submit(SubmitBurst& burst, Duration from, std::size_t count, Duration apart) {
  for (std::size_t i = 0; i < count; ++i) burst.submitted(from + apart * static_cast<int>(i), kMost);
  return from + apart * static_cast<int>(count - 1);
}

TEST(SubmitBurst, FewOrSlowOnesStartAtOnce) {
  SubmitBurst few, slow;
  submit(few, seconds(10), SubmitBurst::kMany, milliseconds(1));
  EXPECT_EQ(few.hold_until(), Duration{0});
  submit(slow, seconds(10), 500, milliseconds(10));
  EXPECT_EQ(slow.hold_until(), Duration{0});
}

TEST(SubmitBurst, ABurstIsHeldUntilItIsOver) {
  SubmitBurst burst;
  const Duration last = submit(burst, seconds(10), 100, milliseconds(2));
  EXPECT_EQ(burst.hold_until(), last + SubmitBurst::kOverAfter);
  submit(burst, last + seconds(1), 1, milliseconds(1));
  EXPECT_EQ(burst.hold_until(), Duration{0});
}

TEST(SubmitBurst, OneWithoutEndIsHeldForTheLimitOnly) {
  SubmitBurst burst;
  Duration held{0};
  for (Duration now = seconds(10); now < seconds(70); now += milliseconds(2)) {
    burst.submitted(now, kMost);
    if (burst.hold_until() > now) held += milliseconds(2);
  }
  EXPECT_GE(held, kMost - milliseconds(10));
  EXPECT_LE(held, kMost);
}

TEST(SubmitBurst, WhatWasTakenGrowsAgainWhileThereIsNone) {
  SubmitBurst burst;
  Duration now = submit(burst, seconds(10), 2000, milliseconds(2));  // longer than the limit
  EXPECT_LT(burst.hold_until(), now);
  const Duration begin = now + seconds(1), held = begin + milliseconds(2) * static_cast<int>(SubmitBurst::kMany);
  now = submit(burst, begin, 100, milliseconds(2));
  EXPECT_EQ(burst.hold_until(), now + SubmitBurst::kOverAfter);
  now = submit(burst, now + milliseconds(2), 900, milliseconds(2));
  EXPECT_NEAR((burst.hold_until() - held).count(), Duration(seconds(1)).count(), Duration(milliseconds(5)).count());
}

TEST(SubmitBurst, WhoeverWaitsForAStartCutsIt) {
  SubmitBurst burst;
  const Duration last = submit(burst, seconds(10), 100, milliseconds(2));
  burst.cut(last);
  EXPECT_LT(burst.hold_until(), last);
  burst.submitted(last + milliseconds(2), kMost);
  EXPECT_LT(burst.hold_until(), last);
  const Duration next = submit(burst, last + milliseconds(4), 100, milliseconds(2));
  EXPECT_EQ(burst.hold_until(), next + SubmitBurst::kOverAfter);
}

TEST(SubmitBurst, NoneWhereNothingMayBeDelayed) {
  SubmitBurst burst;
  for (int i = 0; i < 100; ++i) burst.submitted(seconds(10) + milliseconds(i), Duration{0});
  EXPECT_LT(burst.hold_until(), seconds(10) + milliseconds(99));
}

}  // namespace
}  // namespace spur::ctld
