// SPDX-License-Identifier: Apache-2.0
#include "cli/srun_multi_prog.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/array_spec.h"

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

}  // namespace

std::expected<std::vector<wire::StepRequest::Program>, std::string> parse_multi_prog(std::string_view content,
                                                                                     std::string_view path,
                                                                                     std::uint32_t tasks) {
  std::vector<wire::StepRequest::Program> out;
  IndexSet left;
  if (tasks > 0) left.insert_range(0, tasks - 1);
  for (int number = 1; !content.empty(); ++number) {
    const std::string_view line = content.substr(0, content.find('\n'));
    content.remove_prefix(std::min(line.size() + 1, content.size()));
    const auto bad = [&](const std::string& why) {
      return std::unexpected(fmt::format("{}\nLine {} of configuration file {} invalid", why, number, path));
    };
    auto words = split_words(line);
    if (words.empty() || words.front().starts_with('#')) continue;
    wire::StepRequest::Program program;
    if (words.front() == "*") {
      program.ranks = left;
    } else {
      const auto ranks = text::parse_array_spec(words.front());
      if (!ranks || ranks->max_running != 0)
        return bad(fmt::format("Invalid task range specification ({})", words.front()));
      program.ranks = ranks->tasks;
    }
    if (words.size() < 2)
      return bad(fmt::format("Configuration file {} has no program for tasks {}", path, words.front()));
    for (auto rank = program.ranks.lowest(); rank && *rank < tasks; rank = program.ranks.next_after(*rank))
      if (!left.erase(*rank)) return bad(fmt::format("Duplicate record for task {}", *rank));
    program.arguments.assign(words.begin() + 1, words.end());
    if (!program.ranks.empty()) out.push_back(std::move(program));
  }
  if (!left.empty())
    return std::unexpected(
        fmt::format("Configuration file {} invalid, no record for task id {}", path, *left.lowest()));
  return out;
}

}  // namespace spur::cli
