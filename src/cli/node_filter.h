// SPDX-License-Identifier: Apache-2.0
// sinfo -t: node states as users name them, "idle,mix" (any of them) and "idle&drain" (all of them), by unique
// beginnings.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "model/node.h"

namespace spur::cli {

class NodeStateFilter {
 public:
  // The word that names no state is the error.
  static std::expected<NodeStateFilter, std::string> parse(std::string_view text);
  bool matches(const model::Node& node) const;
  // For the message about a bad word.
  static std::string_view valid_words();

 private:
  using Test = bool (*)(const model::Node& node);
  std::vector<std::vector<Test>> any_of_all_;  // empty inner list: everything
};

}  // namespace spur::cli
