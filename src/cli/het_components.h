// SPDX-License-Identifier: Apache-2.0
// The components of a heterogeneous job on a command line: "sbatch -n1 : -n2 -C gpu script".
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "cli/job_options.h"
#include "cli/options.h"

namespace spur::cli {

// One line per component. `rest` of the last one is the program with its arguments. On failure the messages have been
// printed and the exit status is the error.
std::expected<std::vector<ParsedLine>, int> parse_components(Context& context, const std::vector<OptionRow>& rows,
                                                             std::vector<std::string> words, int failure);

// What the next component does not take over from the one before: all that says how large it is and on which nodes.
// The rest (account, time limit, name, dependencies, files, ...) stays until it is given anew, as in Slurm.
void begin_component(JobRequest& request);

}  // namespace spur::cli
