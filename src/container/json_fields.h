// SPDX-License-Identifier: Apache-2.0
// Reading JSON that comes from users. For the .cc files of this folder only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spur::container {

using Json = nlohmann::ordered_json;

inline std::unexpected<Error> bad_json(std::string_view what, std::string_view why) {
  return fail(ErrorCode::Corrupt, std::string(what) + " is not valid: " + std::string(why));
}

inline Result<Json> parse_object(std::string_view text, std::string_view what) {
  Json out = Json::parse(text, nullptr, false);
  if (!out.is_object()) return bad_json(what, "it is no JSON object");
  return out;
}

inline bool is_c_text(const std::string& text) {
  return text.find('\0') == std::string::npos;
}

// Empty when it is not there or no text.
inline std::string text_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_string()) return {};
  auto text = it->get<std::string>();
  return is_c_text(text) ? text : std::string();
}

// Empty when it is not there; anything but a list of texts is an error.
inline Result<std::vector<std::string>> texts_at(const Json& object, const char* key, std::string_view what) {
  std::vector<std::string> out;
  const auto it = object.find(key);
  if (it == object.end() || it->is_null()) return out;
  if (!it->is_array()) return bad_json(what, std::string(key) + " is no list");
  for (const Json& item : *it) {
    if (!item.is_string()) return bad_json(what, std::string(key) + " holds what is no text");
    out.push_back(item.get<std::string>());
    if (!is_c_text(out.back())) return bad_json(what, std::string(key) + " holds a NUL byte");
  }
  return out;
}

}  // namespace spur::container
