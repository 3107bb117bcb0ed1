// SPDX-License-Identifier: Apache-2.0
#include "cli/document.h"

#include <algorithm>

#include "base/check.h"
#include "text/printable.h"

namespace spur::cli {
namespace {

constexpr int kOldest = 40, kNewest = 44;

}  // namespace

std::expected<DocumentStyle, BadOption> parse_document_style(DocumentStyle::Kind kind, std::string_view value) {
  DocumentStyle style{.kind = kind};
  if (value.empty()) return style;
  if (value == "list") {
    style.list = true;
    return style;
  }
  for (int version = kOldest; version <= kNewest; ++version)
    if (value == fmt::format("v0.0.{}", version) || value == fmt::format("data_parser/v0.0.{}", version)) {
      style.version = version;
      return style;
    }
  return std::unexpected(BadOption{
      .message =
          fmt::format("Unable to find plugin matching: {} (there are v0.0.{} to v0.0.{})", value, kOldest, kNewest),
      .exit_status = 1,
      .before = {}});
}

int list_document_styles(Context& context) {
  context.err.write("Possible data_parser plugins:\n");
  for (int version = kOldest; version <= kNewest; ++version) context.err.print("data_parser/v0.0.{}\n", version);
  return 0;
}

Document& Document::field(std::string_view key, std::string_view value) {
  return raw(key, fmt::format("\"{}\"", text::json_escape(value)));
}

Document& Document::field(std::string_view key, const std::vector<std::string>& values) {
  open_array(key);
  for (const std::string& value : values) field({}, value);
  return close_array();
}

Document& Document::number(std::string_view key, std::optional<std::uint64_t> value, bool infinite) {
  return open_object(key)
      .field("set", value.has_value() && !infinite)
      .field("infinite", infinite)
      .field("number", infinite ? 0 : value.value_or(0))
      .close_object();
}

Document& Document::moment(std::string_view key, Time t) {
  return number(key, is_set(t) ? static_cast<std::uint64_t>(to_unix_seconds(t)) : 0);
}

std::string Document::finish() && {
  SPUR_CHECK(levels_.size() == 1);
  close('}');
  if (text_.empty() || text_.back() != '\n') text_.push_back('\n');
  return std::move(text_);
}

void Document::new_line() {
  text_.append("\n").append(2 * (levels_.size() - (style_.kind == DocumentStyle::Kind::Yaml ? 1 : 0)), ' ');
}

void Document::begin(std::string_view key) {
  if (levels_.empty()) {
    if (style_.kind == DocumentStyle::Kind::Yaml) text_.append("---");
    return;
  }
  Level& level = levels_.back();
  if (style_.kind == DocumentStyle::Kind::Json) {
    if (!level.empty) text_.push_back(',');
    new_line();
    if (!level.array) text_.append("\"").append(text::json_escape(key)).append("\": ");
  } else {
    if (after_dash_) {
      after_dash_ = false;
    } else {
      new_line();
    }
    level.array ? text_.append("- ") : text_.append("\"").append(text::json_escape(key)).append("\": ");
    after_dash_ = level.array;
  }
  level.empty = false;
}

Document& Document::open(std::string_view key, char bracket) {
  begin(key);
  if (style_.kind == DocumentStyle::Kind::Json) text_.push_back(bracket);
  levels_.push_back({.array = bracket == '['});
  return *this;
}

Document& Document::close(char bracket) {
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (style_.kind == DocumentStyle::Kind::Json) {
    if (!empty) new_line();
    text_.push_back(bracket);
  } else if (empty) {
    text_.append(bracket == '}' ? "{}" : "[]");
  }
  after_dash_ = false;
  return *this;
}

Document& Document::raw(std::string_view key, std::string_view value) {
  begin(key);
  text_.append(value);
  after_dash_ = false;
  return *this;
}

}  // namespace spur::cli
