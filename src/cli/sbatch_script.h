// SPDX-License-Identifier: Apache-2.0
// The batch script: from a file, from standard input or made for --wrap, and the checks it must pass before anything
// is sent.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "cli/context.h"

namespace spur::cli {

struct BatchScript {
  std::string text;
  std::string path;                    // absolute; empty for --wrap and standard input
  std::string name;                    // what the job is called unless it says otherwise
  std::vector<std::string> arguments;  // the script's own
};

// `words`: the script's file and its arguments; empty: standard input. On failure the messages have been printed and
// the exit status is the error.
std::expected<BatchScript, int> load_script(Context& context, const std::vector<std::string>& words,
                                            const std::string& directory);
BatchScript wrap_command(const std::string& command);

}  // namespace spur::cli
