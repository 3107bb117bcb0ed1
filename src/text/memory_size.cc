// SPDX-License-Identifier: Apache-2.0
#include "text/memory_size.h"

#include <cmath>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

constexpr std::uint64_t kMaxMib = std::uint64_t{1} << 53;  // exact as a double, which is how clients read it
constexpr char kLetters[] = {0, 'K', 'M', 'G', 'T', 'P', 'E'};
constexpr std::size_t kUnits = std::size(kLetters);

// Position of a unit letter in K M G T P E counted from 1, or nothing.
std::optional<std::size_t> unit_index(char letter) {
  const std::string_view letters = "KMGTPE";
  const auto at = letters.find(to_upper(letter));
  if (at == std::string_view::npos) return std::nullopt;
  return at + 1;
}

}  // namespace

Result<std::uint64_t> parse_memory_mib(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::InvalidMemory, fmt::format("Invalid memory specification \"{}\"", shown(text)));
  };
  std::string_view digits = text;
  if (digits.size() >= 2 && to_upper(digits.back()) == 'B' && unit_index(digits[digits.size() - 2]))
    digits.remove_suffix(1);
  std::size_t unit = 2;
  if (!digits.empty() && !is_digit(digits.back())) {
    const auto index = unit_index(digits.back());
    if (!index || *index > 4) return bad();  // Slurm stops at T
    unit = *index;
    digits.remove_suffix(1);
  }
  const auto value = parse_decimal(digits);
  if (!value) return bad();
  std::optional<std::uint64_t> mib = *value / 1024 + (*value % 1024 != 0);
  if (unit >= 2) mib = checked_mul(*value, std::uint64_t{1} << (10 * (unit - 2)));
  if (!mib || *mib > kMaxMib) return bad();
  return *mib;
}

Result<std::uint64_t> parse_count(std::string_view text) {
  std::string_view digits = text;
  std::uint64_t factor = 1;
  if (!digits.empty() && !is_digit(digits.back())) {
    const auto index = unit_index(digits.back());
    if (!index) return fail(ErrorCode::InvalidArgument, fmt::format("Invalid count \"{}\"", shown(text)));
    factor = std::uint64_t{1} << (10 * *index);
    digits.remove_suffix(1);
  }
  const auto value = parse_decimal(digits);
  const auto count = value ? checked_mul(*value, factor) : std::nullopt;
  if (!count) return fail(ErrorCode::InvalidArgument, fmt::format("Invalid count \"{}\"", shown(text)));
  return *count;
}

std::string format_amount(std::uint64_t amount, Unit unit, UnitStyle style) {
  if (amount == 0) return "0";
  auto at = static_cast<std::size_t>(unit);
  std::uint64_t whole = amount;
  double value = static_cast<double>(amount);
  if (style != UnitStyle::Plain) {
    // Slurm's own test for "exact": a multiple of half the next unit, looked at after each step in whole numbers.
    while (at + 1 < kUnits && whole >= 1024 && (style == UnitStyle::Rounded || whole % 512 == 0)) {
      value /= 1024;
      whole /= 1024;
      ++at;
    }
  }
  std::string text;
  if (at == static_cast<std::size_t>(unit)) {
    text = fmt::format("{}", amount);
  } else if (value == std::floor(value)) {
    text = fmt::format("{:.0f}", value);
  } else {
    text = fmt::format("{:.2f}", value);
  }
  if (at > 0) text += kLetters[at];
  return text;
}

}  // namespace spur::text
