// SPDX-License-Identifier: Apache-2.0
#include "text/memory_size.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(memory_size, "4GB", "512m", "100K", "1024", "1T", "0", "18446744073709551615", "17592186044416T", "16E") {
  if (const auto mib = parse_memory_mib(input)) {
    SPUR_CHECK(parse_memory_mib(format_mib(*mib, UnitStyle::Plain)) == *mib);
    SPUR_CHECK(!format_mib(*mib).empty() && !format_mib(*mib, UnitStyle::Rounded).empty());
  } else {
    fuzz::check_message(mib.error());
  }
  if (const auto count = parse_count(input)) {
    SPUR_CHECK(parse_count(format_amount(*count, Unit::One, UnitStyle::Plain)) == *count);
  } else {
    fuzz::check_message(count.error());
  }
}

}  // namespace spur::text
