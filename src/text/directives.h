// SPDX-License-Identifier: Apache-2.0
// Options written inside a batch script: #SBATCH lines (also #SLURM and #SPUR) and #PBS lines, from the second line
// to the first command. They become argument words for the same option parser that reads the command line. Quoting is
// Slurm's: single and double quotes, a backslash takes the next character as it is (inside single quotes too, but it
// does not join words), and '#' outside quotes ends the line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spur::text {

struct Directives {
  // One list of words per component; "#SBATCH hetjob" starts the next. At least one, maybe empty. PBS options,
  // already translated, come after all others of the first component: as in Slurm they win.
  std::vector<std::vector<std::string>> components;
  friend bool operator==(const Directives&, const Directives&) = default;
};

// `name` is the script's, for messages such as "job.sh: line 2: Unmatched `"` in [ "abc]".
Result<Directives> parse_directives(std::string_view script, std::string_view name);

// The words of one directive line (what follows "#SBATCH").
Result<std::vector<std::string>> split_directive(std::string_view text);

}  // namespace spur::text
