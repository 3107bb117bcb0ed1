// SPDX-License-Identifier: Apache-2.0
#include "config/draft.h"

#include <fmt/format.h>

#include "text/printable.h"

namespace spur::config {

std::string Draft::where(Position at) const {
  if (at.file >= files.size()) return "configuration";
  const std::string name = text::shown(files[at.file], 300);
  return at.line == 0 ? name : fmt::format("{}:{}", name, at.line);
}

std::unexpected<Error> Draft::refuse(Position at, std::string_view message) const {
  return fail(ErrorCode::ConfigInvalid, fmt::format("{}: {}", where(at), message));
}

void Draft::warn(Position at, std::string_view message) {
  if (!daemon_only) warnings.push_back(fmt::format("{}: {}", where(at), message));
}

}  // namespace spur::config
