// SPDX-License-Identifier: Apache-2.0
#include "os/yaml_text.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace spur::os {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kMaxDepth = 64;

struct Line {
  std::size_t number = 0, indent = 0;
  std::string_view text;  // without indentation, comment and blanks at the end
};

std::unexpected<Error> bad(const Line& line, std::string_view why) {
  return fail(ErrorCode::Corrupt, fmt::format("line {}: {}", line.number, why));
}

// Where a quoted text that begins at `at` ends (behind its quote), or npos.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '\'' && i + 1 < text.size() && text[i + 1] == quote) {
        ++i;
        continue;
      }
      return i + 1;
    }
  }
  return std::string_view::npos;
}

// A '#' begins a comment at the start or behind a blank, outside of quotes.
std::string_view without_comment(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool fresh = i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t';
    if (text[i] == '#' && fresh) return text.substr(0, i);
    const bool opens = fresh || text[i - 1] == '[' || text[i - 1] == ',';
    if ((text[i] == '"' || text[i] == '\'') && opens) {
      const auto end = end_of_quoted(text, i);
      if (end == std::string_view::npos) return text;
      i = end - 1;
    }
  }
  return text;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

// Where the ": " of a mapping is, or npos.
std::size_t colon_of(std::string_view text) {
  std::size_t i = 0;
  if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
    i = end_of_quoted(text, 0);
    if (i == std::string_view::npos) return i;
  }
  for (; i < text.size(); ++i)
    if (text[i] == ':' && (i + 1 == text.size() || text[i + 1] == ' ')) return i;
  return std::string_view::npos;
}

Result<std::string> quoted(std::string_view text, const Line& line) {
  if (end_of_quoted(text, 0) != text.size()) return bad(line, "a quoted text does not end where it should");
  const std::string_view inner = text.substr(1, text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (text[0] == '\'' && inner[i] == '\'') ++i;
    if (text[0] == '"' && inner[i] == '\\') {
      constexpr std::string_view kFrom = "\"\\/nt", kTo = "\"\\/\n\t";
      const auto known = ++i < inner.size() ? kFrom.find(inner[i]) : std::string_view::npos;
      if (known == std::string_view::npos) return bad(line, "an escape that is not understood");
      out += kTo[known];
      continue;
    }
    out += inner[i];
  }
  return out;
}

class Reader {
 public:
  Status split(std::string_view text) {
    std::size_t number = 0;
    for (bool more = true; more;) {
      const auto end = text.find('\n');
      std::string_view row = text.substr(0, end);
      more = end != std::string_view::npos;
      text.remove_prefix(more ? end + 1 : text.size());
      Line line{++number, row.find_first_not_of(' '), {}};
      if (line.indent == std::string_view::npos) continue;
      row = without_comment(row);
      line.text = trimmed(row);
      if (line.text.empty() || (line.text == "---" && lines_.empty())) continue;
      if (line.text == "...") break;
      if (line.text.front() == '\t' || line.text == "---") return bad(line, "not understood");
      lines_.push_back(line);
    }
    return {};
  }

  Result<Json> document() {
    if (lines_.empty()) return fail(ErrorCode::Corrupt, "it is empty");
    SPUR_ASSIGN(Json out, block(lines_.front().indent, 0));
    if (at_ < lines_.size()) return bad(lines_[at_], "it stands where nothing should");
    return out;
  }

 private:
  static bool is_item(std::string_view text) { return text == "-" || text.starts_with("- "); }

  Result<Json> block(std::size_t indent, int depth) {
    if (depth > kMaxDepth) return bad(lines_[at_], "too deep");
    return is_item(lines_[at_].text) ? sequence(indent, depth) : mapping(indent, depth);
  }

  Result<Json> sequence(std::size_t indent, int depth) {
    Json out = Json::array();
    while (at_ < lines_.size() && lines_[at_].indent == indent && is_item(lines_[at_].text)) {
      Line& line = lines_[at_];
      const std::string_view rest = trimmed(line.text.substr(1));
      if (rest.empty()) {
        ++at_;
        SPUR_ASSIGN(Json item, below(indent, depth));
        out.push_back(std::move(item));
      } else if (is_item(rest) || colon_of(rest) != std::string_view::npos) {
        // "- a: 1": the mapping begins behind the dash.
        line.indent += static_cast<std::size_t>(rest.data() - line.text.data());
        line.text = rest;
        SPUR_ASSIGN(Json item, block(line.indent, depth + 1));
        out.push_back(std::move(item));
      } else {
        SPUR_ASSIGN(Json item, scalar(rest, line));
        ++at_;
        out.push_back(std::move(item));
      }
    }
    return out;
  }

  Result<Json> mapping(std::size_t indent, int depth) {
    Json out = Json::object();
    while (at_ < lines_.size() && lines_[at_].indent == indent && !is_item(lines_[at_].text)) {
      const Line line = lines_[at_];
      const auto colon = colon_of(line.text);
      if (colon == std::string_view::npos || colon == 0) return bad(line, "there is no key");
      std::string key(trimmed(line.text.substr(0, colon)));
      if (key.front() == '"' || key.front() == '\'') {
        SPUR_ASSIGN(key, quoted(key, line));
      } else if (std::string_view("?&*!|>%@`[]{},").find(key.front()) != std::string_view::npos) {
        return bad(line, "not understood");
      }
      if (out.contains(key)) return bad(line, "the key is there twice");
      const std::string_view value = trimmed(line.text.substr(colon + 1));
      ++at_;
      if (value.empty()) {
        SPUR_ASSIGN(out[key], below(indent, depth));
      } else {
        SPUR_ASSIGN(out[key], scalar(value, line));
      }
    }
    if (at_ < lines_.size() && lines_[at_].indent > indent) return bad(lines_[at_], "it is indented too far");
    return out;
  }

  // What belongs to a key or a dash that stands alone: nothing, something deeper, or a sequence at the key's own
  // depth.
  Result<Json> below(std::size_t indent, int depth) {
    if (at_ >= lines_.size()) return Json();
    const Line& next = lines_[at_];
    if (next.indent > indent) return block(next.indent, depth + 1);
    const bool own = next.indent == indent && is_item(next.text) && !in_sequence(indent);
    return own ? sequence(indent, depth + 1) : Result<Json>(Json());
  }
  // Whether the line before was itself an item at that depth.
  bool in_sequence(std::size_t indent) const {
    return at_ > 0 && lines_[at_ - 1].indent == indent && is_item(lines_[at_ - 1].text);
  }

  Result<Json> scalar(std::string_view text, const Line& line) const {
    if (text.front() == '"' || text.front() == '\'') {
      SPUR_ASSIGN(std::string value, quoted(text, line));
      return Json(std::move(value));
    }
    if (text == "{}") return Json(Json::object());
    if (text.front() == '[') return flow_sequence(text, line);
    if (std::string_view("&*!|>%@`{}]").find(text.front()) != std::string_view::npos)
      return bad(line, "not understood");
    if (colon_of(text) != std::string_view::npos) return bad(line, "a mapping where a value should be");
    if (text == "true" || text == "false") return Json(text == "true");
    if (text == "null" || text == "~") return Json();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return Json(number);
    return Json(std::string(text));
  }

  Result<Json> flow_sequence(std::string_view text, const Line& line) const {
    if (text.back() != ']') return bad(line, "a list that does not end on its line");
    text = trimmed(text.substr(1, text.size() - 2));
    Json out = Json::array();
    while (!text.empty()) {
      const bool in_quotes = text.front() == '"' || text.front() == '\'';
      const auto quote_end = in_quotes ? end_of_quoted(text, 0) : 0;
      const auto comma = quote_end == std::string_view::npos ? quote_end : text.find(',', quote_end);
      const std::string_view one = trimmed(text.substr(0, comma));
      if (one.empty() || one.front() == '[' || one.front() == '{') return bad(line, "not understood");
      SPUR_ASSIGN(Json item, scalar(one, line));
      out.push_back(std::move(item));
      text = comma == std::string_view::npos ? std::string_view{} : trimmed(text.substr(comma + 1));
    }
    return out;
  }

  std::vector<Line> lines_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::string> yaml_to_json(std::string_view text) {
  Reader reader;
  SPUR_TRY(reader.split(text));
  SPUR_ASSIGN(const Json json, reader.document());
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace spur::os
