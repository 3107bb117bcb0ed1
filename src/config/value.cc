// SPDX-License-Identifier: Apache-2.0
// Text to checked values. Sentences follow Slurm's where Slurm refuses the same value.
#include "config/value.h"

#include <fmt/format.h>

#include "text/decimal.h"
#include "text/printable.h"
#include "text/time_limit.h"
#include "text/words.h"

namespace spur::config {

namespace {

using text::equal_ignoring_case;

std::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::ConfigInvalid, std::move(message));
}

std::string show(std::string_view text) {
  return text::shown(text, 60);
}  // a garbage file gives no garbage page

Result<Value> flag_from(std::string_view key, std::string_view text) {
  Value value;
  value.text = text;
  for (const std::string_view yes : {"yes", "true", "up", "1"})
    if (equal_ignoring_case(text, yes)) return value.flag = true, value;
  for (const std::string_view no : {"no", "false", "down", "0"})
    if (equal_ignoring_case(text, no)) return value;
  return invalid(fmt::format("\"{}\" is not a valid option for \"{}\"", show(text), key));
}

Result<Value> number_from(const Kind& kind, std::string_view key, std::string_view text) {
  const bool other_word = !kind.words.empty() && equal_ignoring_case(text, kind.words);
  if (kind.infinite &&
      (equal_ignoring_case(text, "UNLIMITED") || equal_ignoring_case(text, "INFINITE") || other_word)) {
    Value value;
    value.text = text;
    value.infinite = true;
    return value;
  }
  if (text.starts_with('-')) return invalid(fmt::format("{} value ({}) is less than zero", key, show(text)));
  std::string_view digits = text;
  const bool kilo = digits.ends_with('k') || digits.ends_with('K');
  if (kilo) digits.remove_suffix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return invalid(fmt::format("{} value ({}) is not a valid number", key, show(text)));
  auto number = text::parse_decimal(digits);
  if (number && kilo) number = text::checked_mul(*number, 1024);
  if (!number) return invalid(fmt::format("{} value ({}) is greater than {}", key, show(text), kind.max));
  return check_number(kind, key, *number, std::string(text));
}

Result<Value> time_from(std::string_view key, std::string_view text) {
  Value value;
  value.text = text;
  if (std::uint64_t secs = 0; parse_short_duration(text, &secs)) {
    const std::uint64_t minutes = secs / 60 + (secs % 60 != 0);
    if (minutes > text::kMaxLimitMinutes) return invalid(fmt::format("{} value ({}) is too large", key, show(text)));
    value.time = TimeLimit::of_minutes(static_cast<std::uint32_t>(minutes));
    return value;
  }
  const auto limit = text::parse_time_limit(text);
  if (!limit) return invalid(fmt::format("Bad value \"{}\" for {}", show(text), key));
  value.time = *limit;
  return value;
}

Result<Value> span_from(const Kind& kind, std::string_view key, std::string_view text) {
  std::uint64_t secs = 0;
  if (!parse_short_duration(text, &secs)) {
    const auto span = text::parse_time_seconds(text);
    if (!span || !*span) return invalid(fmt::format("Bad value \"{}\" for {}", show(text), key));
    secs = static_cast<std::uint64_t>((*span)->count());
  }
  return check_number(kind, key, secs, std::string(text));
}

Result<Value> word_from(const Kind& kind, std::string_view key, std::string_view text) {
  Value value;
  for (const std::string_view word : text::split(kind.words, '|')) {
    if (equal_ignoring_case(word, text)) return value.text = word, value;
    ++value.number;
  }
  return invalid(fmt::format("Bad value \"{}\" for {}: it is {}", show(text), key, words_for_people(kind.words)));
}

// "fluent:30,matlab*2,simulink": a name alone counts once.
Result<Value> counts_from(const Kind& kind, std::string_view key, std::string_view text) {
  Value value;
  value.text = text;
  for (const std::string& part : split_list(text)) {
    const std::size_t mark = part.find_first_of(":*=");
    std::uint64_t count = 1;
    if (mark != std::string::npos) {
      const auto number = text::parse_decimal(std::string_view(part).substr(mark + 1), kind.max);
      if (!number) return invalid(fmt::format("Bad value \"{}\" for {}", show(part), key));
      count = *number;
    }
    if (mark == 0) return invalid(fmt::format("Bad value \"{}\" for {}", show(part), key));
    value.counts.emplace_back(part.substr(0, mark), count);
  }
  return value;
}

// host:port; an IPv6 host only in brackets, since its own colons would make the port a guess.
Result<Value> address_from(std::string_view key, std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::string_view host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  const std::uint64_t port =
      text::parse_decimal(text.substr(host.size() + (host.empty() ? 0 : 1)), 65535).value_or(0);
  const bool in_brackets = host.starts_with('[') && host.ends_with(']');
  if (host.empty() || port == 0 || (host.find(':') != std::string_view::npos && !in_brackets))
    return invalid(fmt::format("{}: \"{}\" is not host:port (an IPv6 address stands in brackets)", key, show(text)));
  Value value;
  value.text = text;
  value.number = port;
  value.list.emplace_back(host);
  return value;
}

}  // namespace

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view part : text::split(text, ','))
    if (const auto word = text::trim(part); !word.empty()) out.emplace_back(word);
  return out;
}

std::string words_for_people(std::string_view words) {
  std::string out;
  const auto parts = text::split(words, '|');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += i + 1 == parts.size() ? " or " : ", ";
    out += parts[i];
  }
  return out;
}

bool parse_short_duration(std::string_view text, std::uint64_t* out_seconds) {
  std::uint64_t total = 0;
  std::uint64_t last_unit = ~std::uint64_t{0};
  if (text.empty()) return false;
  while (!text.empty()) {
    const std::size_t end = text.find_first_not_of("0123456789");
    if (end == 0 || end == std::string_view::npos) return false;
    const auto number = text::parse_decimal(text.substr(0, end), 0xffffffffu);
    const char letter = text[end];
    const std::uint64_t unit = letter == 'd'   ? 86400
                               : letter == 'h' ? 3600
                               : letter == 'm' ? 60
                               : letter == 's' ? 1
                                               : 0;
    if (!number || unit == 0 || unit >= last_unit) return false;  // each unit once, the large ones first
    total += *number * unit;
    last_unit = unit;
    text.remove_prefix(end + 1);
  }
  *out_seconds = total;
  return true;
}

Result<Value> check_number(const Kind& kind, std::string_view key, std::uint64_t number, std::string text) {
  if (number < kind.min) return invalid(fmt::format("{} value ({}) is less than {}", key, show(text), kind.min));
  if (number > kind.max) return invalid(fmt::format("{} value ({}) is greater than {}", key, show(text), kind.max));
  Value value;
  value.text = std::move(text);
  value.number = number;
  return value;
}

Result<Value> check_list(std::vector<std::string> list) {
  Value value;
  for (const std::string& item : list) {
    if (!value.text.empty()) value.text += ',';
    value.text += item;
  }
  value.list = std::move(list);
  return value;
}

Result<Value> check_text(const Kind& kind, std::string_view key, std::string_view text) {
  Value value;
  switch (kind.type) {
    case Type::Path:
      if (!text.starts_with('/')) return invalid(fmt::format("{}: \"{}\" is not an absolute path", key, show(text)));
      [[fallthrough]];
    case Type::Text:
    case Type::Ports:
      return value.text = text, value;
    case Type::Time:
      return time_from(key, text);
    case Type::Span:
      return span_from(kind, key, text);
    case Type::Word:
      return word_from(kind, key, text);
    case Type::List: {
      auto list = check_list(split_list(text));
      if (list) list->text = text;
      return list;
    }
    case Type::Address:
      return address_from(key, text);
    case Type::Counts:
      return counts_from(kind, key, text);
    case Type::Flag:
      return flag_from(key, text);
    case Type::Number:
      return number_from(kind, key, text);
  }
  return invalid(fmt::format("{}: value of an unknown kind", key));
}

}  // namespace spur::config
