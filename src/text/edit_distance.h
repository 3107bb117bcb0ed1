// SPDX-License-Identifier: Apache-2.0
// The known word that somebody probably meant: for unknown configuration keys and options.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace spur::text {

// Least number of insertions, deletions, substitutions and swaps of neighbours, ignoring case.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `known`, the first of equals; nothing if even that is no near miss (more than a third of the longer
// word would have to change).
std::optional<std::string_view> nearest_word(std::string_view word, std::span<const std::string_view> known);

}  // namespace spur::text
