// SPDX-License-Identifier: Apache-2.0
#include "line.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

namespace spur::scenario {

const std::string* Line::option(std::string_view key) const {
  for (const auto& [name, value] : options)
    if (name == key) return &value;
  return nullptr;
}

Line parse_line(std::string_view text) {
  Line line;
  std::istringstream in{std::string(text)};
  in >> line.directive;
  for (std::string word; in >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos)
      line.words.push_back(word);
    else
      line.options.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return line;
}

Result<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" is not a number", text));
  return value;
}

Result<bool> parse_yes_no(std::string_view text) {
  if (text == "yes") return true;
  if (text == "no") return false;
  return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" is neither yes nor no", text));
}

Result<Duration> parse_span(std::string_view text) {
  Duration unit = minutes(1);
  const std::string_view given = text;
  if (!text.empty() && (text.back() < '0' || text.back() > '9')) {
    switch (text.back()) {
      case 's':
        unit = seconds(1);
        break;
      case 'm':
        break;
      case 'h':
        unit = hours(1);
        break;
      case 'd':
        unit = hours(24);
        break;
      default:
        return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" is not a span of time", given));
    }
    text.remove_suffix(1);
  }
  SPUR_ASSIGN(const std::uint64_t count, parse_number(text));
  return unit * static_cast<std::int64_t>(count);
}

std::string show_span(Duration span) {
  if (span % minutes(1) == Duration(0)) return fmt::format("{}m", span / minutes(1));
  if (span % seconds(1) == Duration(0)) return fmt::format("{}s", span / seconds(1));
  return fmt::format("{}us", span.count());
}

}  // namespace spur::scenario
