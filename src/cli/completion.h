// SPDX-License-Identifier: Apache-2.0
// spur completion SHELL: completions for all commands, by their own names and as `spur NAME`, made from the tables of
// options. Names that only the cluster knows (partitions, jobs, ...) are asked for while somebody types:
// spur complete-values KIND.
#pragma once

#include <string>
#include <vector>

#include "cli/command_options.h"

namespace spur::cli {

// Everything a script is made of.
struct CompletedCommand {
  NamedCommand command;
  std::vector<OptionsAsked::Row> options;
  std::vector<std::string> words;
};
std::string bash_completion(const std::vector<CompletedCommand>& commands);
std::string zsh_completion(const std::vector<CompletedCommand>& commands);
std::string fish_completion(const std::vector<CompletedCommand>& commands);

int cmd_completion(Context& context, const std::vector<NamedCommand>& commands);
// One name a line; nothing, and exit status 1, where they cannot be had.
int cmd_complete_values(Context& context);

}  // namespace spur::cli
