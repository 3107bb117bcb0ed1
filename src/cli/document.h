// SPDX-License-Identifier: Apache-2.0
// A document in the shapes of Slurm's data parsers (v0.0.40 to v0.0.44), as JSON or YAML: appends to a string, keeps
// track of commas and indentation, and nothing else. Which fields an object has is in the tables of api_*.cc.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/options.h"

namespace spur::cli {

struct DocumentStyle {
  enum class Kind : unsigned char { Json, Yaml };
  Kind kind = Kind::Json;
  int version = 42;   // v0.0.42
  bool list = false;  // --json=list: which versions there are
};

// The value of --json or --yaml: empty, "list" or "v0.0.42".
std::expected<DocumentStyle, BadOption> parse_document_style(DocumentStyle::Kind kind, std::string_view value);
// The answer to "list"; exit status 0.
int list_document_styles(Context& context);

class Document {
 public:
  explicit Document(DocumentStyle style) : style_(style) { open({}, '{'); }

  int version() const { return style_.version; }
  Document& open_object(std::string_view key = {}) { return open(key, '{'); }
  Document& open_array(std::string_view key = {}) { return open(key, '['); }
  Document& close_object() { return close('}'); }
  Document& close_array() { return close(']'); }

  Document& field(std::string_view key, std::string_view value);
  Document& field(std::string_view key, const std::string& value) { return field(key, std::string_view(value)); }
  Document& field(std::string_view key, const char* value) { return field(key, std::string_view(value)); }
  Document& field(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Document& field(std::string_view key, T value) {
    return raw(key, fmt::format("{}", value));
  }
  Document& field(std::string_view key, const std::vector<std::string>& values);
  Document& decimal(std::string_view key, double value) { return raw(key, fmt::format("{:.1f}", value)); }

  // A number that may be absent or without bound: {"set": true, "infinite": false, "number": 5}.
  Document& number(std::string_view key, std::optional<std::uint64_t> value, bool infinite = false);
  // One that is there, with 0 for a moment that is not set.
  Document& moment(std::string_view key, Time t);

  // Ends the document.
  std::string finish() &&;

 private:
  Document& open(std::string_view key, char bracket);
  Document& close(char bracket);
  Document& raw(std::string_view key, std::string_view value);
  void begin(std::string_view key);
  void new_line();

  struct Level {
    bool array = false, empty = true;
  };
  DocumentStyle style_;
  std::string text_;
  std::vector<Level> levels_;
  bool after_dash_ = false;  // YAML: the first field of an object in a list stands on the line of its dash
};

}  // namespace spur::cli
