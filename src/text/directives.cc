// SPDX-License-Identifier: Apache-2.0
#include "text/directives.h"

#include <fmt/format.h>

#include "text/pbs_options.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

enum class LineKind { Sbatch, Pbs, Comment, Command };

struct Line {
  LineKind kind;
  std::string_view rest;  // after the marker
};

Line classify(std::string_view line) {
  for (const std::string_view marker : {"#SBATCH", "#SLURM", "#SPUR"})
    if (line.starts_with(marker)) return {LineKind::Sbatch, line.substr(marker.size())};
  if (line.starts_with("#PBS")) return {LineKind::Pbs, line.substr(4)};
  const std::string_view text = trim(line);
  return {text.empty() || text.front() == '#' ? LineKind::Comment : LineKind::Command, {}};
}

bool starts_component(const std::vector<std::string>& words) {
  return words.size() == 1 && (words[0] == "hetjob" || words[0] == "packjob");
}

}  // namespace

Result<std::vector<std::string>> split_directive(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  std::size_t rest_from = 0;  // behind the last whole word, for the message
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      // Before a blank outside quotes it vanishes and the blank still separates.
      if (i + 1 < text.size() && (quote != 0 || !is_blank(text[i + 1]))) word += text[++i], in_word = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c, in_word = true;
    } else if (c == '#') {
      break;
    } else if (is_blank(c)) {
      if (in_word) words.push_back(std::move(word)), rest_from = i;
      word.clear(), in_word = false;
    } else {
      word += c, in_word = true;
    }
  }
  if (quote != 0)
    return fail(ErrorCode::InvalidArgument,
                fmt::format("Unmatched `{}` in [{}]", quote, shown(trim(text.substr(rest_from)))));
  if (in_word) words.push_back(std::move(word));
  return words;
}

Result<Directives> parse_directives(std::string_view script, std::string_view name) {
  Directives directives;
  directives.components.emplace_back();
  std::vector<std::string> pbs_words;
  std::size_t number = 0;
  for (std::string_view rest = script; !rest.empty();) {
    const auto end = rest.find('\n');
    const Line line = classify(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    ++number;
    if (line.kind == LineKind::Command) break;
    if (line.kind == LineKind::Comment) continue;
    auto words = split_directive(line.rest);
    if (!words)
      return fail(ErrorCode::InvalidArgument, fmt::format("{}: line {}: {}", name, number, words.error().message));
    if (line.kind == LineKind::Pbs) {
      pbs_words.insert(pbs_words.end(), words->begin(), words->end());
    } else if (starts_component(*words)) {
      directives.components.emplace_back();
    } else {
      auto& component = directives.components.back();
      component.insert(component.end(), words->begin(), words->end());
    }
  }
  SPUR_ASSIGN(const auto translated, translate_pbs_options(pbs_words));
  auto& first = directives.components.front();
  first.insert(first.end(), translated.begin(), translated.end());
  return directives;
}

}  // namespace spur::text
