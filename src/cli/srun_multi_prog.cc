// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_multi_prog.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/array_spec.h"
#include "text/decimal.h"

namespace spur::cli {
namespace {

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> out;
  while (true) {
    const auto from = line.find_first_not_of(" \t\r");
    if (from == std::string_view::npos) return out;
    line.remove_prefix(from);
    const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
    out.emplace_back(word);
    line.remove_prefix(word.size());
  }
}

// "3-1"
bool is_reversed(std::string_view words, std::size_t dash) {
  if (dash == std::string_view::npos) return false;
  const auto first = text::parse_decimal32(words.substr(0, dash)), last = text::parse_decimal32(words.substr(dash + 1));
  return first && last && *last < *first;
}

}  // namespace

std::expected<std::vector<wire::StepRequest::Program>, std::string> parse_multi_prog(std::string_view content,
                                                                                     std::string_view path,
                                                                                     std::uint32_t tasks) {
  std::vector<wire::StepRequest::Program> out;
  IndexSet left;
  if (tasks > 0) left.insert_range(0, tasks - 1);
  for (int number = 1; !content.empty(); ++number) {
    std::string line;
    for (bool more = true; more;) {  // a backslash at its end joins the next one to it
      const std::string_view piece = content.substr(0, content.find('\n'));
      content.remove_prefix(std::min(piece.size() + 1, content.size()));
      more = piece.ends_with('\\') && !content.empty();
      line += more ? piece.substr(0, piece.size() - 1) : piece;
      if (more) ++number;
    }
    const auto bad = [&](const std::string& why) {
      return std::unexpected(fmt::format("{}{}Line {} of configuration file {} invalid", why, why.empty() ? "" : "\n",
                                         number, path));
    };
    auto words = split_words(line);
    if (words.empty() || words.front().starts_with('#')) continue;
    wire::StepRequest::Program program;
    const bool rest = words.front() == "*";
    if (rest) {
      if (tasks > 0) program.ranks.insert_range(0, tasks - 1);  // all, so that %o counts from the first
    } else {
      const auto ranks = text::parse_array_spec(words.front());
      if (const auto dash = words.front().find('-'); !ranks && is_reversed(words.front(), dash))
        return bad(fmt::format("Invalid task range, {}", words.front()));
      if (!ranks || ranks->max_running != 0 || words.front().find(':') != std::string::npos)
        return bad(fmt::format("Invalid task range specification ({})", words.front()));
      program.ranks = ranks->tasks;
    }
    if (words.size() < 2) return bad("");
    if (const auto highest = program.ranks.highest(); highest && *highest >= tasks)
      return bad(fmt::format("Invalid task id, {} >= ntasks", *highest));
    for (auto rank = program.ranks.lowest(); rank; rank = program.ranks.next_after(*rank))
      if (!left.erase(*rank) && !rest) return bad(fmt::format("Duplicate record for task {}", *rank));
    program.arguments.assign(words.begin() + 1, words.end());
    if (!program.ranks.empty()) out.push_back(std::move(program));
  }
  if (!left.empty())
    return std::unexpected(
        fmt::format("Configuration file {} invalid, no record for task id {}", path, *left.lowest()));
  return out;
}

}  // namespace spur::cli
