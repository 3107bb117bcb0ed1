// SPDX-License-Identifier: Apache-2.0
#include "cli/job_target.h"

#include "text/array_spec.h"
#include "text/decimal.h"

namespace spur::cli {

std::optional<state::JobTarget> parse_job_target(std::string_view text) {
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    const auto leader = text::parse_decimal32(text.substr(0, plus)),
               offset = text::parse_decimal32(text.substr(plus + 1));
    if (!leader || *leader == 0 || !offset) return std::nullopt;
    return state::JobTarget{JobId(*leader), std::nullopt, *offset};
  }
  const std::size_t underscore = text.find('_');
  const auto id = text::parse_decimal32(text.substr(0, underscore));
  if (!id || *id == 0) return std::nullopt;
  state::JobTarget target{JobId(*id), std::nullopt};
  if (underscore == std::string_view::npos) return target;

  std::string_view tasks = text.substr(underscore + 1);
  if (tasks == "*") return target;  // all of them: the array itself
  if (tasks.starts_with('[')) {
    if (!tasks.ends_with(']')) return std::nullopt;
    tasks = tasks.substr(1, tasks.size() - 2);
  } else if (!text::parse_decimal32(tasks)) {
    return std::nullopt;
  }
  // What squeue shows for a pending array ("1-5%2") can be given back as it is; the limit after % picks no tasks.
  const auto spec = text::parse_array_spec(tasks);
  if (!spec) return std::nullopt;
  target.tasks = spec->tasks;
  return target;
}

std::vector<std::string> split_job_list(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  int depth = 0;
  for (const char c : text) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth <= 0) {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
      continue;
    }
    word.push_back(c);
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

}  // namespace spur::cli
