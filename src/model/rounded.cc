// SPDX-License-Identifier: Apache-2.0
#include "model/rounded.h"

#include <bit>
#include <cmath>

namespace spur::model {
namespace {

int length(Wide value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(value));
}

}  // namespace

Rounded Rounded::of(Wide a, Wide b, int bits) {
  std::int32_t exponent = 0;
  // The divisor has 64 bits at most (one that has more loses its lowest), the dividend all 128: so the quotient has 64
  // bits or more.
  if (const int drop = length(b) - 64; drop > 0) {
    b >>= drop;
    exponent -= drop;
  }
  const int shift = 128 - length(a);
  a <<= shift;
  exponent -= shift;
  Wide quotient = a / b;
  const Wide rest = a % b;
  const int extra = length(quotient) - bits;
  std::strong_ordering half = extra == 0 ? rest <=> b - rest : std::strong_ordering::less;
  if (extra > 0) {
    const Wide low = quotient & ((Wide{1} << extra) - 1);
    half = low <=> Wide{1} << (extra - 1);
    if (half == 0 && rest != 0) half = std::strong_ordering::greater;
    quotient >>= extra;
    exponent += extra;
  }
  if (half > 0 || (half == 0 && (quotient & 1) != 0)) ++quotient;
  // Every mantissa is kept with 64 bits, whatever it was rounded to.
  const int up = 64 - length(quotient);
  if (up < 0) return {exponent + 1, static_cast<std::uint64_t>(quotient >> 1)};  // it was all ones: now a power of two
  return {exponent - up, static_cast<std::uint64_t>(quotient << up)};
}

Rounded operator/(const Rounded& a, const Rounded& b) {
  Rounded out = Rounded::of(a.mantissa_, b.mantissa_, 64);
  out.exponent_ += a.exponent_ - b.exponent_;
  return out;
}

double Rounded::as_double() const {
  if (*this == endless()) return std::numeric_limits<double>::infinity();
  return mantissa_ == 0 ? 0 : std::ldexp(static_cast<double>(mantissa_), exponent_);
}

}  // namespace spur::model
