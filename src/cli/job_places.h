// SPDX-License-Identifier: Apache-2.0
// Where the files of a job go to or come from: the nodes of "JOB[+OFFSET][.STEP]", one place for each component of a
// heterogeneous job.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"

namespace spur::cli {

struct FileTarget {
  std::uint32_t job = 0;
  std::optional<std::uint32_t> offset, step;
  std::string text() const;  // "7", "7+1", "7.0"
};
// What is no number reads as 0, as in Slurm: there is no such job.
FileTarget parse_file_target(std::string_view text);

// The whole of a heterogeneous job for its first component without an offset.
Result<std::vector<wire::FilePlace>> find_places(Controller& controller, const FileTarget& target);

}  // namespace spur::cli
