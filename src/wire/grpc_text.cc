// SPDX-License-Identifier: Apache-2.0
#include "wire/grpc_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace spur::wire {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> kValues = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
  return values;
}();

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0;
    if (escape) {
      out.push_back(static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  int held = 0;
  for (char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) out.push_back(kDigits[bits >> (held - 6) & 63]);
  }
  if (held > 0) out.push_back(kDigits[bits << (6 - held) & 63]);
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  for (int pad = 0; pad < 2 && text.ends_with('='); ++pad) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int held = 0;
  for (char c : text) {
    const int value = kValues[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if ((held += 6) >= 8) out.push_back(static_cast<char>(bits >> (held -= 8) & 255));
  }
  return out;
}

std::string grpc_timeout(Duration timeout) {
  struct Unit {
    char letter;
    std::int64_t micros;
  };
  static constexpr Unit kUnits[] = {{'u', 1}, {'m', 1000}, {'S', 1'000'000}, {'M', 60'000'000}, {'H', 3'600'000'000}};
  const std::int64_t micros = std::max<std::int64_t>(timeout.count(), 1);
  for (const auto& unit : kUnits) {
    const std::int64_t count = micros / unit.micros + (micros % unit.micros != 0);
    if (count <= 99'999'999) return fmt::format("{}{}", count, unit.letter);
  }
  return "99999999H";
}

}  // namespace spur::wire
