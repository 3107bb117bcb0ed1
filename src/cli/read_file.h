// SPDX-License-Identifier: Apache-2.0
// Whole files and descriptors into memory, with a bound: nothing a command reads is legitimately larger.
#pragma once

#include <string>

#include "base/result.h"

namespace spur::cli {

inline constexpr std::size_t kLargestInput = 64u << 20;

Result<std::string> read_file(const std::string& path);
Result<std::string> read_descriptor(int descriptor);  // to its end; does not close it

}  // namespace spur::cli
