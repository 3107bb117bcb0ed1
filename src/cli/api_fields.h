// SPDX-License-Identifier: Apache-2.0
// An object of Slurm's REST interface as a table: a row is a field, in Slurm's order, with what fills it. A dotted
// path is a field of an inner object. Commands print them with --json and --yaml; whatever serves them over HTTP uses
// the same tables (all_* below).
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "cli/document.h"
#include "text/words.h"

namespace spur::cli {

template <class Object>
struct ApiField {
  const char* path;
  void (*add)(Document& to, std::string_view key, const Object& of);
  int from = 0, until = 99;  // versions that have it, both included
};

// All fields of an object that is open already.
template <class Object>
void add_fields(Document& document, std::span<const ApiField<Object>> fields, const Object& of) {
  std::vector<std::string_view> open;
  for (const ApiField<Object>& field : fields) {
    if (document.version() < field.from || document.version() > field.until) continue;
    auto path = text::split(field.path, '.');
    const std::string_view key = path.back();
    path.pop_back();
    const auto common = static_cast<std::size_t>(std::ranges::mismatch(open, path).in1 - open.begin());
    for (; open.size() > common; open.pop_back()) document.close_object();
    for (std::size_t i = common; i < path.size(); ++i) open.push_back((document.open_object(path[i]), path[i]));
    field.add(document, key, of);
  }
  for (std::size_t i = 0; i < open.size(); ++i) document.close_object();
}

template <class Object>
void add_object(Document& document, std::string_view key, std::span<const ApiField<Object>> fields,
                const Object& of) {
  document.open_object(key);
  add_fields(document, fields, of);
  document.close_object();
}

}  // namespace spur::cli
