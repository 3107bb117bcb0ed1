// SPDX-License-Identifier: Apache-2.0
#include "config/draft.h"

#include <fmt/format.h>

namespace spur::config {

std::string Draft::where(Position at) const {
  if (at.file >= files.size()) return "configuration";
  return at.line == 0 ? files[at.file] : fmt::format("{}:{}", files[at.file], at.line);
}

std::unexpected<Error> Draft::refuse(Position at, std::string_view message) const {
  return fail(ErrorCode::ConfigInvalid, fmt::format("{}: {}", where(at), message));
}

void Draft::warn(Position at, std::string_view message) {
  warnings.push_back(fmt::format("{}: {}", where(at), message));
}

}  // namespace spur::config
