// SPDX-License-Identifier: Apache-2.0
#include "text/array_spec.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

using Range = IndexSet::Range;

// One of "7", "0-15", "5-9:2" onto `ranges`. False if malformed, beyond `max_index`, or if there would be more ranges
// than indices, which can only be repetition. The bound comes before the memory.
bool append_part(std::string_view part, std::uint64_t max_index, std::vector<Range>& ranges) {
  std::uint64_t step = 1;
  const auto dash = part.find('-');
  std::string_view last_text = dash == std::string_view::npos ? part : part.substr(dash + 1);
  if (const auto colon = last_text.find(':'); colon != std::string_view::npos) {
    const auto given = parse_decimal(last_text.substr(colon + 1));
    if (dash == std::string_view::npos || !given || *given == 0) return false;
    step = *given;
    last_text = last_text.substr(0, colon);
  }
  const auto first = parse_decimal(part.substr(0, dash), max_index), last = parse_decimal(last_text, max_index);
  if (!first || !last || *first > *last) return false;
  const std::uint64_t members = step == 1 ? 1 : (*last - *first) / step + 1;
  if (ranges.size() + members > max_index + 1) return false;
  if (step == 1) {
    ranges.push_back({static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*last)});
    return true;
  }
  ranges.reserve(ranges.size() + members);
  for (std::uint64_t i = 0; i < members; ++i) {
    const auto index = static_cast<std::uint32_t>(*first + i * step);
    ranges.push_back({index, index});
  }
  return true;
}

}  // namespace

Result<ArraySpec> parse_array_spec(std::string_view text, std::uint32_t max_array_size) {
  const auto bad = [&] {
    return fail(ErrorCode::InvalidArray, fmt::format("Invalid job array specification \"{}\"", shown(text)));
  };
  if (max_array_size == 0) return bad();
  ArraySpec spec;
  std::string_view indices = text;
  if (const auto percent = indices.find('%'); percent != std::string_view::npos) {
    const auto limit = parse_decimal32(indices.substr(percent + 1));
    if (!limit) return bad();
    spec.max_running = *limit;
    indices = indices.substr(0, percent);
  }
  if (indices.size() >= 2 && indices.front() == '[' && indices.back() == ']')
    indices = indices.substr(1, indices.size() - 2);
  std::vector<Range> ranges;
  for (const auto part : split(indices, ','))
    if (!part.empty() && !append_part(part, max_array_size - 1, ranges)) return bad();
  if (ranges.empty()) return bad();
  // In ascending order every insertion is at the end: no quadratic moving about, whatever was written.
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  for (const Range& range : ranges) spec.tasks.insert_range(range.first, range.last);
  return spec;
}

std::string format_array_spec(const ArraySpec& spec) {
  if (spec.max_running == 0) return spec.tasks.to_string();
  return fmt::format("{}%{}", spec.tasks.to_string(), spec.max_running);
}

}  // namespace spur::text
