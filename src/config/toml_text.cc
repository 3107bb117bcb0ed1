// SPDX-License-Identifier: Apache-2.0
#include "config/toml_text.h"

#include <algorithm>

namespace spur::config {

namespace {

constexpr unsigned char byte(char c) {
  return static_cast<unsigned char>(c);
}

// How many bytes the character at the front of `text` has; 0 if it is not UTF-8. Overlong forms, surrogates and what
// lies beyond U+10FFFF are not.
std::size_t length_of_character(std::string_view text) {
  const unsigned char first = byte(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(text[i]) & 0xc0) != 0x80) return 0;
  const unsigned char second = byte(text[1]);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0, beyond = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

// U+F0000 + byte, in UTF-8: F3 B0 and two bytes more.
constexpr std::string_view kPlane = "\xf3\xb0";

}  // namespace

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return byte(c) < 0x80; });
}

std::uint32_t line_of_bad_utf8(std::string_view text) {
  std::uint32_t line = 1;
  while (!text.empty()) {
    const std::size_t length = length_of_character(text);
    if (length == 0) return line;
    if (text[0] == '\n') ++line;
    text.remove_prefix(length);
  }
  return 0;
}

std::string shield(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  for (const char c : text) {
    if (byte(c) < 0x80) {
      out += c;
      continue;
    }
    out += kPlane;
    out += static_cast<char>(0x80 | byte(c) >> 6);
    out += static_cast<char>(0x80 | (byte(c) & 0x3f));
  }
  return out;
}

std::string unshield(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (rest.size() >= 4 && rest.starts_with(kPlane) && (byte(rest[2]) == 0x82 || byte(rest[2]) == 0x83)) {
      out += static_cast<char>((byte(rest[2]) & 0x03) << 6 | (byte(rest[3]) & 0x3f));
      at += 4;
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace spur::config
