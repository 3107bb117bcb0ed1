// SPDX-License-Identifier: Apache-2.0
// Amounts of memory: "4GB", "512M", "1T", "100K", "1024" (mebibytes where no unit is given), and Slurm's way of
// printing them. Units are powers of 1024 in any case, with or without a trailing B; kibibytes round up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spur::text {

// Mebibytes. InvalidMemory for anything else, fractions, signs and what does not fit 2^53 included.
Result<std::uint64_t> parse_memory_mib(std::string_view text);

enum class UnitStyle : std::uint8_t {
  Exact,    // the largest unit that shows the amount in whole or half steps: 4G, 1.50G, 4000M
  Rounded,  // the largest unit it fills, two decimals: 3.91G
  Plain,    // never convert: 4000M (--noconvert)
};
enum class Unit : std::uint8_t { One, Kibi, Mebi, Gibi, Tebi, Pebi, Exbi };

// `amount` counted in `unit`; 0 is "0" without a letter.
std::string format_amount(std::uint64_t amount, Unit unit, UnitStyle style = UnitStyle::Exact);
inline std::string format_mib(std::uint64_t mib, UnitStyle style = UnitStyle::Exact) {
  return format_amount(mib, Unit::Mebi, style);
}

// A count with an optional factor: "4", "2K" (2048), "1m". For gres and licence counts.
Result<std::uint64_t> parse_count(std::string_view text);

}  // namespace spur::text
