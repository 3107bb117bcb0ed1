// SPDX-License-Identifier: Apache-2.0
// Cutting a trace into lines, words and numbers, without copies: traces have millions of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "text/words.h"

namespace spur::replay {

// Cuts the first line off `text`, without its end ("\n" or "\r\n").
inline std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Cuts the first word off `line`; empty where there is none.
inline std::string_view next_word(std::string_view& line) {
  std::size_t begin = 0;
  while (begin < line.size() && text::is_blank(line[begin])) ++begin;
  std::size_t end = begin;
  while (end < line.size() && !text::is_blank(line[end])) ++end;
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

// A number with sign and fraction; the fraction is cut off. Nothing for anything else, and for what 63 bits do not
// hold.
constexpr std::optional<std::int64_t> parse_number(std::string_view word) {
  const bool negative = word.starts_with('-');
  if (negative || word.starts_with('+')) word.remove_prefix(1);
  std::int64_t value = 0;
  std::size_t at = 0;
  for (; at < word.size() && text::is_digit(word[at]); ++at) {
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, std::int64_t{word[at] - '0'}, &value)) return std::nullopt;
  }
  if (at == 0) return std::nullopt;
  if (at < word.size()) {
    if (word[at] != '.') return std::nullopt;
    for (++at; at < word.size(); ++at)
      if (!text::is_digit(word[at])) return std::nullopt;
  }
  return negative ? -value : value;
}

}  // namespace spur::replay
