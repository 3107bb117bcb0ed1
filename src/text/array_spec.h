// SPDX-License-Identifier: Apache-2.0
// Job array indices: "0-15", "1,3,5-9:2", "0-15%4". Kept as ranges, so "0-3999999" costs one of them; a step makes
// single members, which is why their number is checked against the limit before any is stored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/index_set.h"
#include "base/result.h"

namespace spur::text {

struct ArraySpec {
  IndexSet tasks;
  std::uint32_t max_running = 0;  // after '%'; 0: no limit
  friend bool operator==(const ArraySpec&, const ArraySpec&) = default;
};

// Indices must be below `max_array_size` (Slurm's MaxArraySize: highest index + 1). InvalidArray otherwise, and for
// anything malformed, reversed ("5-1") or empty; stray commas are passed over, as in Slurm.
Result<ArraySpec> parse_array_spec(std::string_view text, std::uint32_t max_array_size = 4'000'001);

// "1-5%2": as in squeue's "8_[1-5%2]".
std::string format_array_spec(const ArraySpec& spec);

}  // namespace spur::text
