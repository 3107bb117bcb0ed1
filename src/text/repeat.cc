// SPDX-License-Identifier: Apache-2.0
#include "text/repeat.h"

#include <fmt/format.h>

namespace spur::text {

std::string repeat_text(const std::vector<std::uint32_t>& counts) {
  std::string out;
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t end = i + 1;
    while (end < counts.size() && counts[end] == counts[i]) ++end;
    out += fmt::format("{}{}", out.empty() ? "" : ",", counts[i]);
    if (end - i > 1) out += fmt::format("(x{})", end - i);
    i = end;
  }
  return out;
}

}  // namespace spur::text
