// SPDX-License-Identifier: Apache-2.0
#include "model/rounded.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace spur::model {
namespace {

TEST(Rounded, OfDoublesIsWhatTheProcessorSays) {
  std::mt19937_64 dice(7);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t a = 1 + (dice() >> (11 + dice() % 50)), b = 1 + (dice() >> (11 + dice() % 50));
    ASSERT_EQ(Rounded::of(a, b, 53).as_double(), static_cast<double>(a) / static_cast<double>(b)) << a << "/" << b;
  }
}

TEST(Rounded, WideDividendsAndDivisorsAreScaled) {
  const Wide big = Wide{3} << 100;
  EXPECT_EQ(Rounded::of(big, Wide{1} << 100, 53).as_double(), 3.0);
  EXPECT_EQ(Rounded::of(1, Wide{1} << 100, 53).as_double(), std::ldexp(1.0, -100));
}

TEST(Rounded, OrdersByValue) {
  const Rounded none, third = Rounded::of(1, 3, 64), half = Rounded::of(1, 2, 64), two = Rounded::of(2, 1, 64);
  EXPECT_LT(none, third);
  EXPECT_LT(third, half);
  EXPECT_LT(half, two);
  EXPECT_LT(two, Rounded::endless());
  EXPECT_EQ(half / two, Rounded::of(1, 4, 64));
  EXPECT_EQ(Rounded::of(6, 12, 53), half);
}

// 80-bit numbers are what Slurm has on the processors that most sites use.
TEST(Rounded, QuotientsAreThoseOfLongDoubles) {
  if (std::numeric_limits<long double>::digits != 64) GTEST_SKIP() << "this processor has no 80-bit numbers";
  std::mt19937_64 dice(8);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t s = 1 + dice() % 1000, sum = s + dice() % 1000, u = 1 + dice() % 100'000, all = u + dice() % 100'000;
    const long double expected = static_cast<long double>(static_cast<double>(s) / static_cast<double>(sum)) /
                                 (static_cast<long double>(u) / static_cast<long double>(all));
    int exponent = 0;
    const long double mantissa = std::frexp(expected, &exponent);
    const Rounded level = Rounded::of(s, sum, 53) / Rounded::of(u, all, 64);
    const Rounded same = Rounded::of(static_cast<std::uint64_t>(std::ldexp(mantissa, 64)), 1, 64);
    ASSERT_EQ(level / same, exponent >= 64 ? Rounded::of(Wide{1} << (exponent - 64), 1, 64)
                                           : Rounded::of(1, Wide{1} << (64 - exponent), 64))
        << s << "/" << sum << " " << u << "/" << all;
  }
}

}  // namespace
}  // namespace spur::model
