// SPDX-License-Identifier: Apache-2.0
// Quotients with a mantissa of so many bits, rounded to nearest, ties to even: what a floating-point unit makes of them,
// in integers, so that every replica gets the same on every processor. Fair Tree needs it: Slurm compares shares (53 bits)
// over usage (64 bits), and whether two users count as equal depends on how these were rounded.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "model/tally.h"

namespace spur::model {

class Rounded {
 public:
  constexpr Rounded() = default;  // 0
  static constexpr Rounded endless() { return {std::numeric_limits<std::int32_t>::max(), 0}; }
  // a / b, neither of which is 0.
  static Rounded of(Wide a, Wide b, int bits);
  double as_double() const;

  // With 64 bits.
  friend Rounded operator/(const Rounded& a, const Rounded& b);
  friend constexpr auto operator<=>(const Rounded&, const Rounded&) = default;

 private:
  constexpr Rounded(std::int32_t exponent, std::uint64_t mantissa) : exponent_(exponent), mantissa_(mantissa) {}
  // The value is mantissa * 2^exponent, and the mantissa's highest bit is set: so the larger exponent is the larger value.
  std::int32_t exponent_ = std::numeric_limits<std::int32_t>::min();
  std::uint64_t mantissa_ = 0;
};

}  // namespace spur::model
