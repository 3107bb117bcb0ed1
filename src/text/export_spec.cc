// SPDX-License-Identifier: Apache-2.0
#include "text/export_spec.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

std::string_view name_of_entry(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

bool always_passed(std::string_view name) {
  return name.starts_with("SLURM_") || name.starts_with("SPUR_");
}

// Reads up to the next comma outside quotes and drops it. Nothing if a quote is not closed.
std::optional<std::string_view> take_item(std::string_view& rest) {
  char quote = 0;
  std::size_t at = 0;
  for (; at < rest.size() && (quote != 0 || rest[at] != ','); ++at) {
    if (quote != 0) {
      if (rest[at] == quote) quote = 0;
    } else if (rest[at] == '\'' || rest[at] == '"') {
      quote = rest[at];
    }
  }
  if (quote != 0) return std::nullopt;
  const std::string_view item = rest.substr(0, at);
  rest.remove_prefix(std::min(rest.size(), at + 1));
  return item;
}

}  // namespace

Result<ExportSpec> parse_export(std::string_view text) {
  const auto bad = [](std::string_view item) {
    return fail(ErrorCode::InvalidArgument, fmt::format("Improperly formed environment variable ({})", shown(item)));
  };
  ExportSpec spec;
  if (equal_ignoring_case(text, "ALL")) return spec;
  spec.all = false;
  if (equal_ignoring_case(text, "NIL")) return spec;
  spec.wants_login_environment = true;
  if (equal_ignoring_case(text, "NONE")) return spec;
  for (std::string_view rest = text; !rest.empty();) {
    const auto item = take_item(rest);
    if (!item) return bad(rest);
    if (item->empty()) continue;
    if (equal_ignoring_case(*item, "ALL")) {
      spec.all = true;
      continue;
    }
    const auto equals = item->find('=');
    if (equals == 0 || item->find('\0') != std::string_view::npos) return bad(*item);
    std::optional<std::string> value;
    if (equals != std::string_view::npos) value = std::string(item->substr(equals + 1));
    spec.variables.emplace_back(std::string(item->substr(0, equals)), std::move(value));
  }
  return spec;
}

std::vector<std::string> apply_export(const ExportSpec& spec, const std::vector<std::string>& environment) {
  std::unordered_map<std::string_view, const std::optional<std::string>*> listed;  // looked up, never iterated
  for (const auto& [name, value] : spec.variables) listed[name] = &value;
  std::unordered_map<std::string_view, bool> done;
  std::vector<std::string> kept;
  for (const std::string& entry : environment) {
    const std::string_view name = name_of_entry(entry);
    if (name.empty() || name.size() == entry.size()) continue;  // no '=': nothing a program could use
    const auto it = listed.find(name);
    const bool mine = it != listed.end();
    if (!spec.all && !mine && !always_passed(name)) continue;
    const bool replace = mine && it->second->has_value() && (spec.all || !always_passed(name));
    kept.push_back(replace ? fmt::format("{}={}", name, **it->second) : entry);
    if (mine) done[it->first] = true;
  }
  for (const auto& [name, value] : spec.variables)
    if (listed[name] == &value && value && !done[name]) kept.push_back(fmt::format("{}={}", name, *value));
  return kept;
}

std::string join_environment(const std::vector<std::string>& entries) {
  std::string block;
  for (const std::string& entry : entries) {
    block += entry;
    block += '\0';
  }
  return block;
}

std::vector<std::string> split_environment(std::string_view block) {
  std::vector<std::string> entries;
  while (!block.empty()) {
    const auto end = block.find('\0');
    entries.emplace_back(block.substr(0, end));
    if (end == std::string_view::npos) break;
    block.remove_prefix(end + 1);
  }
  return entries;
}

}  // namespace spur::text
