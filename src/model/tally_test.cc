// SPDX-License-Identifier: Apache-2.0
#include "model/tally.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace spur::model {
namespace {

TEST(FadeFactor, IsAPowerOfTwo) {
  constexpr double kOne = 4294967296.0;
  EXPECT_EQ(fade_factor(seconds(0), seconds(600)), std::uint64_t{1} << 32);
  EXPECT_EQ(fade_factor(seconds(600), seconds(600)), std::uint64_t{1} << 31);
  EXPECT_EQ(fade_factor(seconds(1200), seconds(600)), std::uint64_t{1} << 30);
  EXPECT_EQ(fade_factor(seconds(10), seconds(0)), std::uint64_t{1} << 32);  // no half-life: nothing fades
  EXPECT_EQ(fade_factor(seconds(100000), seconds(600)), 0u);
  for (int elapsed = 1; elapsed < 5000; elapsed += 37)
    EXPECT_NEAR(static_cast<double>(fade_factor(seconds(elapsed), seconds(1000))) / kOne,
                std::exp2(-elapsed / 1000.0), 1e-9)
        << elapsed;
}

TEST(Faded, MultipliesWithoutLosingTheSmallPart) {
  const Wide usage = (Wide{1} << 90) + (Wide{1} << 32);
  EXPECT_TRUE(faded(usage, std::uint64_t{1} << 31) == usage / 2);
  EXPECT_TRUE(faded(usage, std::uint64_t{1} << 32) == usage);
  EXPECT_TRUE(faded(usage, 0) == 0);
}

TallyPart running(std::uint64_t cpus, std::int64_t since, std::int64_t end) {
  TallyPart part;
  part.running = part.submitted = 1;
  part.tres = {cpus, 0};
  part.used_since = since;
  part.limit_end = end;
  return part;
}

TEST(Tally, KnowsWhatRunningJobsHaveUsedAndMayUse) {
  Tally tally;
  tally.add(running(4, 100, 400));
  tally.add(running(2, 150, 250));
  EXPECT_EQ(tally.running, 2u);
  EXPECT_EQ(tally.tres[0], 6u);
  EXPECT_EQ(tally.used(0, 200), 4u * 100 + 2u * 50);
  EXPECT_EQ(tally.promised(0, 200), 4u * 200 + 2u * 50);
  EXPECT_EQ(tally.used(2, 200), 150u);  // behind the columns: time on the wall
  tally.settle(200);
  EXPECT_EQ(tally.used(0, 200), 500u);
  EXPECT_EQ(tally.used(0, 210), 560u);
  tally.remove(running(2, 200, 250));  // settled: its usage is past
  tally.remove(running(4, 200, 400));
  EXPECT_EQ(tally.used(0, 1000), 500u);
  EXPECT_EQ(tally.promised(0, 1000), 0u);
  EXPECT_FALSE(tally.empty());
}

TEST(Tally, AMinuteThatHasFadedALittleIsOne) {
  Tally tally;
  tally.widen(1);
  tally.past[0] = faded((Wide{60} * 1000) << kFadedBits, fade_factor(seconds(60), hours(7 * 24)));
  EXPECT_EQ(tally.used(0, 0), 60u);
  tally.past[0] = (Wide{59} * 1000 + 499) << kFadedBits;
  EXPECT_EQ(tally.used(0, 0), 59u);
}

TEST(Tally, UsageFactorWeighsUsageOnly) {
  Tally tally;
  TallyPart part = running(10, 0, 60);
  part.factor_thousandths = 500;
  tally.add(part);
  EXPECT_EQ(tally.tres[0], 10u);
  EXPECT_EQ(tally.used(0, 60), 300u);
  EXPECT_EQ(tally.promised(0, 0), 600u);
}

TEST(Tally, AddingAndRemovingInAnyOrderLeavesNothing) {
  std::mt19937 random(7);
  Tally tally;
  std::vector<TallyPart> parts;
  for (int i = 0; i < 500; ++i) {
    parts.push_back(running(random() % 1000, random() % 100000, random() % 200000));
    tally.add(parts.back());
  }
  std::shuffle(parts.begin(), parts.end(), random);
  for (const TallyPart& part : parts) tally.remove(part);
  EXPECT_TRUE(tally.empty());
  EXPECT_EQ(tally.used(0, 1000000), 0u);
  EXPECT_EQ(tally.promised(0, 0), 0u);
}

}  // namespace
}  // namespace spur::model
