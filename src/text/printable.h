// SPDX-License-Identifier: Apache-2.0
// Text of unknown origin (job names, comments, bad options) made harmless: for a terminal, for an error sentence,
// for JSON. A name with an escape sequence in it must never reach somebody's screen as such.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spur::text {

// `text` with control characters (C0, DEL and C1) and bytes that are not valid UTF-8 written as \n, \t, \r or \xNN.
// Other text, blanks included, passes unchanged.
std::string printable(std::string_view text);

// The same for an error message: at most `max` characters or so, then "...".
std::string shown(std::string_view text, std::size_t max = 120);

// `text` as the inside of a JSON string, without the quotes. Invalid UTF-8 becomes U+FFFD: JSON has no other bytes.
std::string json_escape(std::string_view text);

}  // namespace spur::text
