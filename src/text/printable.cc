// SPDX-License-Identifier: Apache-2.0
#include "text/printable.h"

#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace spur::text {
namespace {

struct Decoded {
  char32_t point = 0;
  std::size_t length = 0;  // 0: not valid UTF-8 here
};

// The code point at the start of `text`, which is not empty. Overlong forms, surrogates and what lies beyond U+10FFFF
// are invalid.
Decoded decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t head = byte(0);
  if (head < 0x80) return {head, 1};
  std::size_t length = 0;
  char32_t point = 0, least = 0;
  if (head >= 0xc2 && head <= 0xdf) {
    length = 2, point = head & 0x1fu, least = 0x80;
  } else if (head >= 0xe0 && head <= 0xef) {
    length = 3, point = head & 0x0fu, least = 0x800;
  } else if (head >= 0xf0 && head <= 0xf4) {
    length = 4, point = head & 0x07u, least = 0x10000;
  } else {
    return {};
  }
  if (text.size() < length) return {};
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80) return {};
    point = point << 6 | (byte(i) & 0x3fu);
  }
  if (point < least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return {};
  return {point, length};
}

bool is_control(char32_t point) {
  return point < 0x20 || (point >= 0x7f && point <= 0x9f);
}

void append_escaped(std::string& out, std::string_view bytes) {
  if (bytes == "\n") {
    out += "\\n";
  } else if (bytes == "\t") {
    out += "\\t";
  } else if (bytes == "\r") {
    out += "\\r";
  } else {
    for (const char c : bytes) fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<std::uint8_t>(c));
  }
}

// Appends the first character of `rest` in its harmless form and drops it from `rest`.
void take_printable(std::string_view& rest, std::string& out) {
  const Decoded decoded = decode_utf8(rest);
  const std::string_view bytes = rest.substr(0, decoded.length == 0 ? 1 : decoded.length);
  if (decoded.length == 0 || is_control(decoded.point)) {
    append_escaped(out, bytes);
  } else {
    out += bytes;
  }
  rest.remove_prefix(bytes.size());
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) take_printable(text, out);
  return out;
}

std::string shown(std::string_view text, std::size_t max) {
  std::string out;
  while (!text.empty() && out.size() < max) take_printable(text, out);
  if (!text.empty()) out += "...";
  return out;
}

std::string json_escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded decoded = decode_utf8(text);
    if (decoded.length == 0) {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
      continue;
    }
    switch (decoded.point) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (decoded.point < 0x20 || decoded.point == 0x7f) {
          fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<std::uint32_t>(decoded.point));
        } else {
          out += text.substr(0, decoded.length);
        }
    }
    text.remove_prefix(decoded.length);
  }
  return out;
}

}  // namespace spur::text
