// SPDX-License-Identifier: Apache-2.0
// The line format that slurm.conf and gres.conf share: Key=Value pairs, "quoted values", # comments (\# is a plain
// #), lines continued with a backslash. Knows nothing of keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spur::config {

struct SlurmPair {
  std::string_view key, value;  // into SlurmLine::text
};

struct SlurmLine {
  std::uint32_t number = 0;  // of its first physical line, from 1
  std::string text;          // joined, without comments
};

// The logical lines that hold anything.
std::vector<SlurmLine> slurm_lines(std::string_view text);

// "Include FILE" gives FILE; anything else gives empty.
std::string_view included_file(std::string_view line);

// Splits a line into its pairs. The error holds the text that is no pair, in Slurm's words.
Result<std::vector<SlurmPair>> slurm_pairs(std::string_view line);

}  // namespace spur::config
