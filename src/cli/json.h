// SPDX-License-Identifier: Apache-2.0
// A small JSON emitter for --json: appends to a string, keeps track of commas and indentation, and nothing else.
// Values that Slurm wraps ({"set": true, "infinite": false, "number": 5}) have a function of their own.
#pragma once

#include <fmt/core.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "text/printable.h"

namespace spur::cli {

class Json {
 public:
  Json& open_object(std::string_view key = {}) { return open(key, '{'); }
  Json& open_array(std::string_view key = {}) { return open(key, '['); }
  Json& close_object() { return close('}'); }
  Json& close_array() { return close(']'); }

  Json& field(std::string_view key, std::string_view value) {
    return raw(key, fmt::format("\"{}\"", text::json_escape(value)));
  }
  Json& field(std::string_view key, const char* value) { return field(key, std::string_view(value)); }
  Json& field(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Json& field(std::string_view key, T value) {
    return raw(key, fmt::format("{}", value));
  }
  // JSON has no words for what is not a number.
  Json& field(std::string_view key, double value) {
    return raw(key, std::isfinite(value) ? fmt::format("{:.6g}", value) : "null");
  }
  Json& item(std::string_view value) { return field({}, value); }
  Json& field(std::string_view key, const std::vector<std::string>& values) {
    open_array(key);
    for (const std::string& value : values) item(value);
    return close_array();
  }

  // Slurm's number that may be absent or without bound.
  Json& number(std::string_view key, std::optional<std::uint64_t> value, bool infinite = false) {
    return open_object(key)
        .field("set", value.has_value() && !infinite)
        .field("infinite", infinite)
        .field("number", value.value_or(0))
        .close_object();
  }
  Json& moment(std::string_view key, Time t) {
    if (!is_set(t)) return number(key, 0);
    return number(key, static_cast<std::uint64_t>(to_unix_seconds(t)));
  }

  std::string finish() && {
    text_.push_back('\n');
    return std::move(text_);
  }

 private:
  Json& open(std::string_view key, char bracket) {
    begin(key);
    text_.push_back(bracket);
    ++depth_;
    first_ = true;
    return *this;
  }
  Json& close(char bracket) {
    --depth_;
    if (!first_) new_line();
    text_.push_back(bracket);
    first_ = false;
    return *this;
  }
  Json& raw(std::string_view key, std::string_view value) {
    begin(key);
    text_.append(value);
    first_ = false;
    return *this;
  }
  void begin(std::string_view key) {
    if (!first_) text_.push_back(',');
    if (depth_ > 0) new_line();
    if (!key.empty()) text_.append("\"").append(text::json_escape(key)).append("\": ");
  }
  void new_line() { text_.append("\n").append(depth_ * 2, ' '); }

  std::string text_;
  std::size_t depth_ = 0;
  bool first_ = true;
};

// The part that every answer of Slurm's has: "meta", then the caller's own fields, then "errors" and "warnings".
void add_meta(Json& json, std::string_view cluster, std::string_view program);
void add_no_errors(Json& json);

}  // namespace spur::cli
