// SPDX-License-Identifier: Apache-2.0
#include "config/slurm_lines.h"

#include <fmt/format.h>

#include "text/printable.h"
#include "text/words.h"

namespace spur::config {

namespace {

constexpr bool is_key_char(char c) {
  return text::is_alpha(c) || text::is_digit(c) || c == '_' || c == '.';
}

// Appends a physical line without its comment and its trailing blanks; \# becomes #.
void append_uncommented(std::string_view line, std::string& out) {
  const std::size_t start = out.size();
  for (std::size_t mark; !line.empty();) {
    mark = line.find('#');
    const bool escaped = mark != std::string_view::npos && mark > 0 && line[mark - 1] == '\\';
    out += line.substr(0, escaped ? mark - 1 : mark);
    if (!escaped) break;
    out += '#';
    line.remove_prefix(mark + 1);
  }
  while (out.size() > start && text::is_blank(out.back())) out.pop_back();
}

std::unexpected<Error> no_pair(std::string_view rest) {
  return fail(ErrorCode::ConfigInvalid, fmt::format("Parse error: \"{}\"", text::shown(rest, 80)));
}

}  // namespace

std::vector<SlurmLine> slurm_lines(std::string_view text) {
  std::vector<SlurmLine> out;
  SlurmLine line;
  std::uint32_t number = 0;
  const auto finish = [&] {
    if (!text::trim(line.text).empty()) out.push_back(std::move(line));
    line = {};
  };
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    ++number;
    if (line.number == 0) line.number = number;
    append_uncommented(text.substr(0, end), line.text);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.text.ends_with('\\')) {
      line.text.pop_back();  // goes on in the next physical line
      continue;
    }
    finish();
  }
  finish();
  return out;
}

std::string_view included_file(std::string_view line) {
  constexpr std::string_view kWord = "include";
  line = text::trim(line);
  if (!text::starts_with_ignoring_case(line, kWord) || line.size() == kWord.size() ||
      !text::is_blank(line[kWord.size()]))
    return {};
  return text::trim(line.substr(kWord.size()));
}

Result<std::vector<SlurmPair>> slurm_pairs(std::string_view line) {
  std::vector<SlurmPair> pairs;
  const auto skip_blanks = [](std::string_view s) {
    while (!s.empty() && text::is_blank(s.front())) s.remove_prefix(1);
    return s;
  };
  for (std::string_view rest = skip_blanks(line); !rest.empty(); rest = skip_blanks(rest)) {
    std::size_t end = 0;
    while (end < rest.size() && is_key_char(rest[end])) ++end;
    const std::string_view key = rest.substr(0, end);
    std::string_view value = skip_blanks(rest.substr(end));
    if (key.empty() || !value.starts_with('=')) return no_pair(rest);
    value = skip_blanks(value.substr(1));
    if (value.starts_with('"')) {
      const std::size_t close = value.find('"', 1);
      if (close == std::string_view::npos) return no_pair(rest);
      pairs.push_back({key, value.substr(1, close - 1)});
      rest = value.substr(close + 1);
      if (!rest.empty() && !text::is_blank(rest.front())) return no_pair(value);
      continue;
    }
    end = 0;
    while (end < value.size() && !text::is_blank(value[end])) ++end;
    if (end == 0) return no_pair(rest);
    pairs.push_back({key, value.substr(0, end)});
    rest = value.substr(end);
  }
  return pairs;
}

}  // namespace spur::config
