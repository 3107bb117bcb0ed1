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
#include "config/slurm_keys.h"
#include "config/value.h"
#include "text/printable.h"

namespace spur::config {

inline std::unexpected<Error> bad(std::string message) {
  return fail(ErrorCode::ConfigInvalid, std::move(message));
}

// As it was written, for `scontrol show config`; what was said before of the same key is forgotten, as in Slurm.
inline void keep_text(Target& target, std::string_view key, std::string text) {
  auto& kept = target.draft.daemon.kept;
  std::erase_if(kept, [&](const auto& pair) { return pair.first == key; });
  kept.emplace_back(key, std::move(text));
}
inline void keep(Target& target, std::string_view key, const Value& value) {
  keep_text(target, key, value.text);
}
// The same for keys whose lines add up.
inline void keep_more(Target& target, std::string_view key, const Value& value) {
  target.draft.daemon.kept.emplace_back(key, value.text);
}

// Options in a list of which only some have a meaning here: the others are named in one warning.
inline void warn_rest(Target& target, std::string_view key, const std::vector<std::string>& rest) {
  if (!rest.empty())
    target.draft.warn(target.at, fmt::format("{}: not in force yet: {}", key,
                                             text::shown(fmt::format("{}", fmt::join(rest, ", ")), 400)));
}

// The same with the reasons of the table of options (config/slurm_keys.h).
inline void warn_of_options(Target& target, std::string_view key, const Value& value) {
  if (target.draft.daemon_only) return;  // commands start often
  for (const std::string& remark : remarks_on_options(key, value.text))
    target.draft.warn(target.at, fmt::format("{}: {}", key, remark));
}

}  // namespace spur::config
