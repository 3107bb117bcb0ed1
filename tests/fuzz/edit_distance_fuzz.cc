// SPDX-License-Identifier: Apache-2.0
#include "text/edit_distance.h"

#include <algorithm>

#include "fuzz.h"
#include "text/words.h"

namespace spur::text {

SPUR_FUZZ(edit_distance, "partiton", "max_time", "") {
  const std::string_view known[] = {"partition", "nodes", "max_time"};
  const auto nearest = nearest_word(input, known);
  SPUR_CHECK(!nearest || edit_distance(input, *nearest) <= std::max(input.size(), nearest->size()));
  SPUR_CHECK(input.size() > 200 || edit_distance(input, lower(input)) == 0);
}

}  // namespace spur::text
