// SPDX-License-Identifier: Apache-2.0
#include "text/array_spec.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(array_spec, "0-15", "1,3,5-9:2", "0-15%4", "[1-3]%2", "0-999999999999", "1-13:2,0-12:2", "5-1", "0-4999") {
  constexpr std::uint32_t kMaxArraySize = 5000;
  const auto spec = parse_array_spec(input, kMaxArraySize);
  if (!spec) return fuzz::check_message(spec.error());
  SPUR_CHECK(!spec->tasks.empty() && *spec->tasks.highest() < kMaxArraySize);
  SPUR_CHECK(parse_array_spec(format_array_spec(*spec), kMaxArraySize) == *spec);
}

}  // namespace spur::text
