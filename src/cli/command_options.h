// SPDX-License-Identifier: Apache-2.0
// All commands with their options, asked of the commands themselves: what completions and manual pages are made of.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace spur::cli {

struct NamedCommand {
  std::string name;     // "squeue", or "queue" of `spur queue`
  bool native = false;  // called as `spur NAME` only
  int (*run)(Context& context) = nullptr;
  const char* help = nullptr;
};

// Those that work, in the table's order; with --color where the command has it.
std::vector<OptionsAsked::Row> options_of(const NamedCommand& command);
// The words that may come first behind the options: keywords of scontrol and sacctmgr, names of commands.
std::vector<std::string> first_words(const NamedCommand& command, const std::vector<NamedCommand>& all);
// What a value, or a word that is no option, names.
enum class ValueOf : unsigned char { Anything, File, Partition, Node, Job, Account, Qos, User, JobState, NodeState };
ValueOf value_of_option(const NamedCommand& command, const OptionRow& row);
ValueOf value_of_words(const NamedCommand& command);
// "partitions": how the hidden `spur complete-values KIND` and the scripts call them; empty: nothing is asked.
std::string_view value_name(ValueOf value);

}  // namespace spur::cli
