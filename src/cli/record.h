// SPDX-License-Identifier: Apache-2.0
// The shape of scontrol's records: "Key=value" pairs on indented lines, or all of a record on one line with -o.
#pragma once

#include <fmt/core.h>

#include <iterator>
#include <string>
#include <utility>

namespace spur::cli {

class Record {
 public:
  explicit Record(bool one_line) : one_line_(one_line) {}

  // Adds a line; one record is a sequence of lines.
  template <class... Args>
  Record& line(fmt::format_string<Args...> format, Args&&... args) {
    if (!text_.empty()) text_.append(one_line_ ? " " : "\n   ");
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    return *this;
  }
  // Adds to the line begun last.
  template <class... Args>
  Record& more(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    return *this;
  }
  // The record with what ends it: an empty line between records, unless each has a line of its own.
  std::string finish() && {
    text_.append(one_line_ ? "\n" : "\n\n");
    return std::move(text_);
  }

 private:
  bool one_line_;
  std::string text_;
};

}  // namespace spur::cli
