// SPDX-License-Identifier: Apache-2.0
#include "text/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "text/words.h"

namespace spur::text {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: this one, the one above, and the one above that for swaps.
  std::vector<std::size_t> row(b.size() + 1), above(b.size() + 1), above2(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = to_lower(a[i - 1]), y = to_lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (x == y ? 0 : 1)});
      if (i > 1 && j > 1 && x == to_lower(b[j - 2]) && to_lower(a[i - 2]) == y)
        row[j] = std::min(row[j], above2[j - 2] + 1);
    }
    above2.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

std::optional<std::string_view> nearest_word(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 256;  // nobody mistypes more, and the table is quadratic
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (const auto candidate : known) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > std::max(word.size(), candidate.size()) / 3 + (word.size() < 3 ? 1 : 0)) continue;
    if (!best || distance < best_distance) best = candidate, best_distance = distance;
  }
  return best;
}

}  // namespace spur::text
