// SPDX-License-Identifier: Apache-2.0
// What setters of several files share.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/draft.h"
#include "config/value.h"
#include "text/printable.h"

namespace spur::config {

inline std::unexpected<Error> bad(std::string message) {
  return fail(ErrorCode::ConfigInvalid, std::move(message));
}

// As it was written, for `scontrol show config`.
inline void keep(Target& target, std::string_view key, const Value& value) {
  target.draft.daemon.kept.emplace_back(key, value.text);
}

// Options in a list of which only some have a meaning here: the others are named in one warning.
inline void warn_rest(Target& target, std::string_view key, const std::vector<std::string>& rest) {
  if (!rest.empty())
    target.draft.warn(target.at, fmt::format("{}: not in force yet: {}", key,
                                             text::shown(fmt::format("{}", fmt::join(rest, ", ")), 400)));
}

}  // namespace spur::config
