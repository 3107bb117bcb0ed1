// SPDX-License-Identifier: Apache-2.0
#include "model/fixed_power.h"

#include <gtest/gtest.h>

#include <cmath>

namespace spur::model {
namespace {

double plain(std::int64_t fixed) {
  return std::ldexp(static_cast<double>(fixed), -32);
}

TEST(FixedPower, LogarithmsAreThoseOfTheLibrary) {
  EXPECT_EQ(fixed_log2(std::uint64_t{1} << 32), 0);
  EXPECT_EQ(fixed_log2(std::uint64_t{1} << 35), std::int64_t{3} << 32);
  EXPECT_EQ(fixed_log2(1), std::int64_t{-32} * (std::int64_t{1} << 32));
  for (const double x : {1e-6, 0.1, 0.5, 0.747184, 0.999999, 1.000001, 2.7, 3.0, 1000.5, 4e9})
    EXPECT_NEAR(plain(fixed_log2(static_cast<std::uint64_t>(std::ldexp(x, 32)))), std::log2(x), 1e-3 * (x < 1e-5) + 1e-8) << x;
}

TEST(FixedPower, PowersAreThoseOfTheLibrary) {
  EXPECT_EQ(fixed_exp2(0), std::uint64_t{1} << 32);
  EXPECT_EQ(fixed_exp2(std::int64_t{-1} * (std::int64_t{1} << 32)), std::uint64_t{1} << 31);
  for (const double y : {-20.5, -1.25, -0.1, 0.1, 0.999, 1.0, 1.4326, 20.3})
    EXPECT_NEAR(plain(static_cast<std::int64_t>(fixed_exp2(static_cast<std::int64_t>(std::ldexp(y, 32))))) / std::exp2(y), 1,
                y < -20 ? 1e-3 : 1e-8)
        << y;
  EXPECT_EQ(fixed_exp2(std::int64_t{40} << 32), ~std::uint64_t{0});
  EXPECT_EQ(fixed_exp2(std::int64_t{-200} * (std::int64_t{1} << 32)), 0u);
}

}  // namespace
}  // namespace spur::model
