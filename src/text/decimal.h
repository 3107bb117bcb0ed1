// SPDX-License-Identifier: Apache-2.0
// Decimal numbers the way every grammar here wants them: digits only, no sign, no blanks, overflow is "no number".
// Shared by all parsers of this folder so that none of them meets strtol's surprises.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace spur::text {

// The value of `digits`, or nothing if it is empty, holds anything but 0-9, or exceeds `max`.
constexpr std::optional<std::uint64_t> parse_decimal(std::string_view digits,
                                                     std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) {
  if (digits.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (digit > max || value > (max - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

constexpr std::optional<std::uint32_t> parse_decimal32(std::string_view digits) {
  const auto value = parse_decimal(digits, std::numeric_limits<std::uint32_t>::max());
  if (!value) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

// a * b, or nothing where it does not fit.
constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

}  // namespace spur::text
