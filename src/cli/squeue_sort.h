// SPDX-License-Identifier: Apache-2.0
// The order of squeue's lines: -S "P,t,-p", Slurm's default. Numbers and moments sort by value, all else by its text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/squeue_columns.h"

namespace spur::cli {

// Sorts, lines that compare equal by ascending id. Returns the letter that names no column (nothing is sorted then),
// or 0.
char sort_lines(std::vector<JobLine>& lines, std::string_view text);

}  // namespace spur::cli
