// SPDX-License-Identifier: Apache-2.0
// One line of a scenario: a directive, plain words after it, and key=value options. Values hold no blanks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spur::scenario {

struct Line {
  std::string directive;
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> options;

  const std::string* option(std::string_view key) const;
};

Line parse_line(std::string_view text);

// Scenario time: "90s", "10m", "2h", "1d"; a bare number is minutes.
Result<Duration> parse_span(std::string_view text);
std::string show_span(Duration span);

Result<std::uint64_t> parse_number(std::string_view text);
Result<bool> parse_yes_no(std::string_view text);

}  // namespace spur::scenario
