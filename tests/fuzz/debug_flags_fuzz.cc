// SPDX-License-Identifier: Apache-2.0
#include "text/debug_flags.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(debug_flags, "Agent,Backfill", "steps, AGENT", "", "wibble") {
  const auto flags = parse_debug_flags(input);
  if (flags && *flags != 0) SPUR_CHECK(parse_debug_flags(debug_flags_text(*flags)) == *flags);
}

}  // namespace spur::text
