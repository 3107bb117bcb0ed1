// SPDX-License-Identifier: Apache-2.0
// Command lines from tables. Each command has one table of options; getopt_long reads the line by it (so unique
// prefixes, permutation and glued short options work as Slurm users expect), and help comes from the same rows. A row
// without a function is an option that Slurm has and Spur does not have yet: giving it is an error, never silence.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"

namespace spur::cli {

enum class Takes : unsigned char { Nothing, Value, Maybe };

// What getopt and help need of a row.
struct OptionRow {
  const char* name;  // "ntasks"
  char letter = 0;   // 'n', or 0
  Takes takes = Takes::Nothing;
  const char* value_name = nullptr;  // for help; may be null where nothing is taken
  const char* help = nullptr;        // null: not shown (an alias, or not there yet)
  const char* alias = nullptr;       // another long name for the same thing
};

// Why a value was refused. `before` is a line that Slurm prints without its name in front.
struct BadOption {
  std::string message;  // may be several lines
  int exit_status = 255;
  std::string before;
  bool fatal = false;  // "sbatch: fatal: " instead of "sbatch: error: "
  std::string shown = {};  // on standard output: --hint=help and its like
};
using OptionStatus = std::expected<void, BadOption>;
inline std::unexpected<BadOption> bad_option(std::string message, int exit_status = 255, std::string before = {}) {
  return std::unexpected(BadOption{std::move(message), exit_status, std::move(before)});
}

template <class Target>
struct Option {
  OptionRow row;
  OptionStatus (*set)(Target&, std::string_view value) = nullptr;  // null: not supported yet
  const char* env = nullptr;  // a variable that means the same; the command line wins
};

// What a command has for options. With Context::options_asked the command reads no line: it fills this in and ends.
struct OptionsAsked {
  struct Row {
    OptionRow row;
    const char* env = nullptr;
    bool supported = true;
  };
  std::vector<Row> rows;
};

// One option as it stood on the line.
struct GivenOption {
  std::size_t row = 0;
  std::string value;  // empty where none was given
  bool has_value = false;
};
struct ParsedLine {
  std::vector<GivenOption> options;  // in order
  std::vector<std::string> rest;     // what is no option
};

enum class Order : unsigned char {
  Anywhere,      // options may follow other words (squeue, scancel)
  OptionsFirst,  // the first other word ends the options (sbatch's script, srun's program)
};

// Splits the words by the rows. On failure the messages have been printed in getopt's wording and the exit status is
// the error.
std::expected<ParsedLine, int> parse_words(Context& context, std::span<const OptionRow> rows,
                                           std::span<const std::string> words, Order order, int bad_option_status);

// "--foo is not supported yet", with what was given.
int report_unsupported(Context& context, std::string_view option);
int report(Context& context, const BadOption& bad);

template <class Target>
std::vector<OptionRow> rows_of(std::span<const Option<Target>> table) {
  std::vector<OptionRow> rows;
  rows.reserve(table.size());
  for (const auto& option : table) rows.push_back(option.row);
  return rows;
}

// Carries out what was given, in order. Returns 0, or the exit status after the message was printed.
template <class Target>
int apply_options(Context& context, std::span<const Option<Target>> table, const ParsedLine& line, Target& target) {
  for (const GivenOption& given : line.options) {
    const Option<Target>& option = table[given.row];
    if (option.set == nullptr) return report_unsupported(context, std::string("--") + option.row.name);
    if (auto done = option.set(target, given.value); !done) return report(context, done.error());
  }
  return 0;
}

// What the environment asks for. Before the command line, which wins.
template <class Target>
int apply_environment(Context& context, std::span<const Option<Target>> table, Target& target) {
  for (const Option<Target>& option : table) {
    if (option.env == nullptr) continue;
    const auto value = context.env(option.env);
    if (!value) continue;
    if (option.set == nullptr) return report_unsupported(context, option.env);
    if (auto done = option.set(target, *value); !done) return report(context, done.error());
  }
  return 0;
}

// Environment, then command line; what is no option comes back.
template <class Target>
std::expected<std::vector<std::string>, int> read_line(Context& context, std::span<const Option<Target>> table,
                                                       Target& target, Order order, int bad_option_status) {
  const std::vector<OptionRow> rows = rows_of(table);
  if (context.options_asked != nullptr) {
    for (const Option<Target>& option : table)
      context.options_asked->rows.push_back({option.row, option.env, option.set != nullptr});
    return std::unexpected(0);
  }
  auto line = parse_words(context, rows, context.arguments, order, bad_option_status);
  if (!line) return std::unexpected(line.error());
  if (const int status = apply_environment(context, table, target); status != 0) return std::unexpected(status);
  if (const int status = apply_options(context, table, *line, target); status != 0) return std::unexpected(status);
  return std::move(line->rest);
}

// The body of --help: one option a line (and the rest of a long text below it).
std::string help_text(std::span<const OptionRow> rows);

}  // namespace spur::cli
