// SPDX-License-Identifier: Apache-2.0
// A trace as text: the whole file, unpacked where it is gzip's. Bounded, so that a small file which unpacks to a huge
// one is an error and not a machine without memory.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace spur::replay {

inline constexpr std::size_t kLargestTrace = std::size_t{4} << 30;

Result<std::string> read_trace_file(const std::string& path, std::size_t limit = kLargestTrace);

}  // namespace spur::replay
