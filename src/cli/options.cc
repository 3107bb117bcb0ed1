// SPDX-License-Identifier: Apache-2.0
// getopt_long keeps its position in globals, so only one line is read at a time; it is told to be silent, and the
// messages are put together here in its wording, so that they go where all other output of a command goes.
#include "cli/options.h"

#include <getopt.h>

#include <algorithm>

#include "base/check.h"
#include "text/words.h"

namespace spur::cli {
namespace {

constexpr int kLongOnly = 256;  // getopt's value of row i is kLongOnly + i

int getopt_argument(Takes takes) {
  return takes == Takes::Nothing ? no_argument : takes == Takes::Value ? required_argument : optional_argument;
}

std::vector<option> long_options(std::span<const OptionRow> rows) {
  std::vector<option> options;
  options.reserve(rows.size() + 8);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int value = kLongOnly + static_cast<int>(i);
    options.push_back({rows[i].name, getopt_argument(rows[i].takes), nullptr, value});
    if (rows[i].alias != nullptr) options.push_back({rows[i].alias, getopt_argument(rows[i].takes), nullptr, value});
  }
  options.push_back({nullptr, 0, nullptr, 0});
  return options;
}

std::string short_options(std::span<const OptionRow> rows, Order order) {
  std::string text = order == Order::OptionsFirst ? "+:" : ":";
  for (const OptionRow& row : rows) {
    if (row.letter == 0) continue;
    text.push_back(row.letter);
    text.append(row.takes == Takes::Nothing ? "" : row.takes == Takes::Value ? ":" : "::");
  }
  return text;
}

std::size_t row_of_letter(std::span<const OptionRow> rows, int letter) {
  const auto found = std::ranges::find_if(rows, [&](const OptionRow& row) { return row.letter == letter; });
  SPUR_CHECK(found != rows.end());
  return static_cast<std::size_t>(found - rows.begin());
}

// The names that `word` ("--nt=3") could stand for, when there is more than one.
std::string possibilities(std::span<const option> options, std::string_view word) {
  word.remove_prefix(2);
  word = word.substr(0, word.find('='));
  std::string names;
  int count = 0;
  for (const option& candidate : options) {
    if (candidate.name == nullptr || !std::string_view(candidate.name).starts_with(word)) continue;
    names.append(" '--").append(candidate.name).append("'");
    ++count;
  }
  return count > 1 ? names : std::string();
}

void complain(Context& context, int result, std::span<const option> options, const std::vector<char*>& argv) {
  const std::string_view word = optind > 0 && argv[static_cast<std::size_t>(optind) - 1] != nullptr
                                    ? argv[static_cast<std::size_t>(optind) - 1]
                                    : "";
  const std::string_view name = context.program;
  if (optopt != 0 && optopt < kLongOnly) {
    const char letter = static_cast<char>(optopt);
    if (result == ':') {
      context.plain("{}: option requires an argument -- '{}'", name, letter);
    } else {
      context.plain("{}: invalid option -- '{}'", name, letter);
    }
    return;
  }
  if (optopt >= kLongOnly) {
    const auto row = std::ranges::find_if(options, [](const option& candidate) { return candidate.val == optopt; });
    const std::string_view full = row->name;
    if (result == ':') {
      context.plain("{}: option '--{}' requires an argument", name, full);
    } else {
      context.plain("{}: option '--{}' doesn't allow an argument", name, full);
    }
    return;
  }
  if (const std::string names = possibilities(options, word); !names.empty()) {
    context.plain("{}: option '{}' is ambiguous; possibilities:{}", name, word, names);
  } else {
    context.plain("{}: unrecognized option '{}'", name, word);
  }
}

}  // namespace

std::expected<ParsedLine, int> parse_words(Context& context, std::span<const OptionRow> rows,
                                           std::span<const std::string> words, Order order, int bad_option_status) {
  if (context.options_asked != nullptr) {
    for (const OptionRow& row : rows) context.options_asked->rows.push_back({row});
    return std::unexpected(0);
  }
  const std::vector<option> options = long_options(rows);
  const std::string letters = short_options(rows, order);
  std::vector<std::string> copies(words.begin(), words.end());  // getopt reorders its words
  std::vector<char*> argv;
  argv.reserve(copies.size() + 2);
  argv.push_back(context.program.data());
  for (std::string& copy : copies) argv.push_back(copy.data());
  argv.push_back(nullptr);

  ParsedLine line;
  optind = 0;  // glibc: start over, also with a new order of options
  opterr = 0;
  const int argc = static_cast<int>(argv.size()) - 1;
  for (;;) {
    optopt = 0;
    const int result = getopt_long(argc, argv.data(), letters.c_str(), options.data(), nullptr);
    if (result == -1) break;
    if (result == '?' || result == ':') {
      complain(context, result, options, argv);
      context.plain("Try \"{} --help\" for more information", context.program);
      return std::unexpected(bad_option_status);
    }
    GivenOption given;
    given.row = result >= kLongOnly ? static_cast<std::size_t>(result - kLongOnly) : row_of_letter(rows, result);
    if (optarg != nullptr) {
      given.value = optarg;
      given.has_value = true;
    }
    line.options.push_back(std::move(given));
  }
  for (int i = optind; i < argc; ++i) line.rest.emplace_back(argv[static_cast<std::size_t>(i)]);
  return line;
}

int report_unsupported(Context& context, std::string_view option) {
  context.error("{} is not supported yet", option);
  return 1;
}

int report(Context& context, const BadOption& bad) {
  context.out.write(bad.shown);
  if (!bad.before.empty())
    for (const std::string_view line : text::split(bad.before, '\n')) context.plain("{}", line);
  if (bad.message.empty()) return bad.exit_status;
  for (const std::string_view line : text::split(bad.message, '\n')) {
    if (line.empty()) {
      context.plain("");  // some of Slurm's messages end in an empty line
    } else if (bad.fatal) {
      context.fatal("{}", line);
    } else {
      context.error("{}", line);
    }
  }
  return bad.exit_status;
}

std::string help_text(std::span<const OptionRow> rows) {
  constexpr std::size_t kColumn = 32;
  std::string text;
  for (const OptionRow& row : rows) {
    if (row.help == nullptr) continue;
    std::string line =
        row.letter != 0 ? fmt::format("  -{}, --{}", row.letter, row.name) : fmt::format("      --{}", row.name);
    if (row.takes == Takes::Value) line.append("=").append(row.value_name != nullptr ? row.value_name : "value");
    if (row.takes == Takes::Maybe)
      line.append("[=").append(row.value_name != nullptr ? row.value_name : "value").append("]");
    line.append(line.size() + 1 < kColumn ? kColumn - line.size() : 1, ' ');
    for (const char c : std::string_view(row.help)) {
      line.push_back(c);
      if (c == '\n') line.append(kColumn, ' ');
    }
    text.append(line).push_back('\n');
  }
  return text;
}

}  // namespace spur::cli
