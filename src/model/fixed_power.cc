// SPDX-License-Identifier: Apache-2.0
#include "model/fixed_power.h"

#include <bit>

#include "base/check.h"
#include "model/tally.h"

namespace spur::model {

// A bit at a time: where the square of a number in [1, 2) is 2 or more, the next bit of its logarithm is 1.
std::int64_t fixed_log2(std::uint64_t x) {
  SPUR_CHECK(x > 0);
  const int top = 63 - std::countl_zero(x);
  std::uint64_t mantissa = x << (63 - top);  // in 2^-63
  std::int64_t out = std::int64_t{top - 32} * (std::int64_t{1} << 32);
  for (int bit = 31; bit >= 0; --bit) {
    const Wide square = Wide{mantissa} * mantissa;  // in 2^-126
    const bool carries = (square >> 127) != 0;
    if (carries) out += std::int64_t{1} << bit;
    mantissa = static_cast<std::uint64_t>(square >> (carries ? 64 : 63));
  }
  return out;
}

std::uint64_t fixed_exp2(std::int64_t y) {
  constexpr std::int64_t kOne = std::int64_t{1} << 32;
  const std::int64_t whole = y >= 0 ? (y + kOne - 1) / kOne : y / kOne;  // the next one above
  const std::uint64_t part = fade_factor(seconds(whole * kOne - y), seconds(kOne));
  if (whole >= 31) return ~std::uint64_t{0};
  return whole >= 0 ? part << whole : whole <= -64 ? 0 : part >> -whole;
}

}  // namespace spur::model
