// SPDX-License-Identifier: Apache-2.0
#include "text/tres.h"

#include "fuzz.h"

namespace spur::text {

SPUR_FUZZ(tres, "cpu=4,mem=10G,node=1,billing=4,gres/gpu:mi300x=8", "gres/gpu:2", "license/a=3,bb/x=1T", "mem=0") {
  const auto items = parse_tres(input);
  if (!items) return fuzz::check_message(items.error());
  SPUR_CHECK(parse_tres(format_tres(*items, UnitStyle::Plain)) == *items);
}

}  // namespace spur::text
