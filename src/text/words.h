// SPDX-License-Identifier: Apache-2.0
// Cutting text into words and comparing them. ASCII only and never by locale: the same input must mean the same on
// every machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spur::text {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}
constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr char to_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

bool equal_ignoring_case(std::string_view a, std::string_view b);
bool starts_with_ignoring_case(std::string_view text, std::string_view prefix);
std::string lower(std::string_view text);
std::string upper(std::string_view text);
std::string_view trim(std::string_view text);

// The parts between separators, empty ones included; of empty text one empty part. Views into `text`.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace spur::text
