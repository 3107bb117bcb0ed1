// SPDX-License-Identifier: Apache-2.0
#include "text/file_pattern.h"

#include <algorithm>

#include <fmt/format.h>

#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

constexpr std::size_t kMaxPath = 4095;
constexpr std::uint32_t kMaxNumberWidth = 10;
constexpr std::uint32_t kNoValue = 0xfffffffe;

// A '%', its width and its letter at the start of a text.
struct Directive {
  char letter = 0;  // 0: the text ends before one
  std::uint32_t width = 0;
  std::size_t length = 0;  // of the whole directive in the pattern
};

Directive read_directive(std::string_view text) {
  Directive d;
  std::size_t at = 1;
  for (; at < text.size() && is_digit(text[at]); ++at)
    d.width = std::min(kMaxNumberWidth, d.width * 10 + static_cast<std::uint32_t>(text[at] - '0'));
  if (at < text.size()) d.letter = text[at++];
  d.length = at;
  return d;
}

std::string padded(std::uint32_t value, std::uint32_t width) {
  return fmt::format("{:0{}}", value, width);
}

// What the directive stands for, or nothing for an unknown letter.
std::optional<std::string> value_of(const Directive& d, const PatternValues& v) {
  const bool numbered_step = !v.step.empty() && std::all_of(v.step.begin(), v.step.end(), is_digit);
  switch (d.letter) {
    case 'j':
      return padded(v.job_id, d.width);
    case 'A':
      return padded(v.array_job.value_or(v.job_id), d.width);
    case 'a':
      return padded(v.array_task.value_or(kNoValue), d.width);
    case 'b':
      return padded(v.array_task.value_or(kNoValue) % 10, d.width);
    case 'J': {
      std::string id = padded(v.job_id, d.width);
      if (numbered_step) id.append(".").append(v.step);
      return id;
    }
    case 's':
      if (!numbered_step) return v.step;
      return std::string(d.width > v.step.size() ? d.width - v.step.size() : 0, '0') + v.step;
    case 'x':
      return v.job_name;
    case 'u':
      return v.user;
    case 'N':
      return v.node;
    case 'n':
      return padded(v.node_id, d.width);
    case 't':
      return padded(v.task_id, d.width);
    default:
      return std::nullopt;
  }
}

// "a\%j" is the file "a%j"; "\\" is one backslash.
std::string without_escapes(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      out += pattern[++i];
    } else if (pattern[i] != '\\') {
      out += pattern[i];
    }
  }
  return out;
}

bool uses_letter(std::string_view pattern, std::string_view letters) {
  if (pattern.find('\\') != std::string_view::npos) return false;
  for (std::size_t at = pattern.find('%'); at < pattern.size(); at = pattern.find('%', at)) {
    const Directive d = read_directive(pattern.substr(at));
    if (d.letter != 0 && letters.find(d.letter) != std::string_view::npos) return true;
    at += d.length;
  }
  return false;
}

}  // namespace

Result<std::string> expand_pattern(std::string_view pattern, const PatternValues& values) {
  std::string out;
  if (pattern.find('\\') != std::string_view::npos) {
    out = without_escapes(pattern);
  } else {
    for (std::size_t at = 0; at < pattern.size() && out.size() <= kMaxPath;) {
      if (pattern[at] != '%') {
        out += pattern[at++];
        continue;
      }
      const Directive d = read_directive(pattern.substr(at));
      if (d.letter == '%' && d.length == 2) {
        out += '%';
      } else if (const auto value = value_of(d, values)) {
        out += *value;
      } else {
        out += pattern.substr(at, d.length);
      }
      at += d.length;
    }
  }
  if (out.size() > kMaxPath || out.find('\0') != std::string::npos)
    return fail(ErrorCode::InvalidArgument, fmt::format("Invalid file name \"{}\"", shown(pattern)));
  return out;
}

bool differs_per_task(std::string_view pattern) {
  return uses_letter(pattern, "t");
}
bool differs_per_node(std::string_view pattern) {
  return uses_letter(pattern, "nN");
}

}  // namespace spur::text
