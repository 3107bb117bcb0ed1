// SPDX-License-Identifier: Apache-2.0
#include "text/tres.h"

#include <algorithm>

#include <fmt/format.h>

#include "text/decimal.h"
#include "text/printable.h"
#include "text/words.h"

namespace spur::text {
namespace {

constexpr std::string_view kTypes[] = {"cpu",  "mem",   "energy", "node", "billing", "fs",
                                       "vmem", "pages", "bb",     "gres", "license", "ic"};

std::unexpected<Error> bad_tres(std::string_view item) {
  return fail(ErrorCode::InvalidArgument,
              fmt::format("Invalid Trackable RESource (TRES) specification \"{}\"", shown(item)));
}

bool needs_name(std::string_view type) {
  return type == "gres" || type == "license" || type == "bb" || type == "fs" || type == "ic";
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 512 && std::all_of(name.begin(), name.end(), [](char c) {
    return is_alpha(c) || is_digit(c) || std::string_view("_-.+:@/").find(c) != std::string_view::npos;
  });
}

Result<Tres> parse_item(std::string_view item) {
  std::string_view key = item, value;
  if (const auto equals = item.find('='); equals != std::string_view::npos) {
    key = item.substr(0, equals);
    value = item.substr(equals + 1);
  } else if (const auto colon = item.rfind(':'); colon != std::string_view::npos) {
    key = item.substr(0, colon);
    value = item.substr(colon + 1);
  }
  Tres tres;
  const auto slash = key.find('/');
  tres.type = lower(key.substr(0, slash));
  if (slash != std::string_view::npos) tres.name = key.substr(slash + 1);
  if (std::find(std::begin(kTypes), std::end(kTypes), tres.type) == std::end(kTypes)) return bad_tres(item);
  if (needs_name(tres.type) ? !is_name(tres.name) : slash != std::string_view::npos) return bad_tres(item);
  const auto count = counts_mib(tres.type) ? parse_memory_mib(value) : parse_count(value);
  if (!count) return bad_tres(item);
  tres.count = *count;
  return tres;
}

}  // namespace

bool counts_mib(std::string_view type) {
  return type == "mem" || type == "vmem" || type == "bb" || type == "fs";
}

Result<std::vector<Tres>> parse_tres(std::string_view text) {
  std::vector<Tres> items;
  if (text.empty()) return items;
  for (const auto part : split(text, ',')) {
    SPUR_ASSIGN(Tres tres, parse_item(part));
    const bool twice = std::any_of(items.begin(), items.end(), [&](const Tres& other) {
      return other.type == tres.type && other.name == tres.name;
    });
    if (twice) return bad_tres(text);
    items.push_back(std::move(tres));
  }
  return items;
}

std::string format_tres(const std::vector<Tres>& items, UnitStyle style) {
  std::string out;
  for (const Tres& tres : items) {
    if (!out.empty()) out += ',';
    out += tres.type;
    if (!tres.name.empty()) out.append("/").append(tres.name);
    out += '=';
    out += counts_mib(tres.type) ? format_mib(tres.count, style) : fmt::format("{}", tres.count);
  }
  return out;
}

}  // namespace spur::text
