// SPDX-License-Identifier: Apache-2.0
// Letters beyond ASCII on their way through the TOML library. Its test for blanks (toml++ 3.3) is undefined for
// characters below U+049A such as "ä", and every character passes through it. So each byte beyond ASCII travels as a
// character of its own from a private plane, and is put back in what comes out. A file in plain ASCII, the usual one,
// is left alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spur::config {

bool is_ascii(std::string_view text);
// The line, from 1, of the first byte that is not UTF-8; 0 if all is well.
std::uint32_t line_of_bad_utf8(std::string_view text);

std::string shield(std::string_view text);
std::string unshield(std::string_view text);

}  // namespace spur::config
