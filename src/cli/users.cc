// SPDX-License-Identifier: Apache-2.0
#include "cli/users.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "cli/name_service.h"

namespace spur::cli {
namespace {

using Database = NameService::Database;

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string name_of(Database database, std::uint32_t id) {
  const std::string digits = std::to_string(id);
  const auto found = NameService().find(database, digits, true);
  return found ? found->front() : digits;
}

std::optional<std::uint32_t> id_of(Database database, std::string_view text) {
  const auto found = NameService().find(database, text, false);
  return number(found ? std::string_view((*found)[2]) : text);
}

}  // namespace

const std::string& user_name(Uid uid) {
  static std::map<std::uint32_t, std::string> known;
  const auto [entry, added] = known.try_emplace(uid.value);
  if (added) entry->second = name_of(Database::Passwd, uid.value);
  return entry->second;
}

const std::string& group_name(Gid gid) {
  static std::map<std::uint32_t, std::string> known;
  const auto [entry, added] = known.try_emplace(gid.value);
  if (added) entry->second = name_of(Database::Group, gid.value);
  return entry->second;
}

std::optional<Uid> find_user(std::string_view text) {
  const auto id = id_of(Database::Passwd, text);
  return id ? std::optional(Uid(*id)) : std::nullopt;
}

std::optional<Gid> find_group(std::string_view text) {
  const auto id = id_of(Database::Group, text);
  return id ? std::optional(Gid(*id)) : std::nullopt;
}

std::optional<Gid> group_of(Uid uid) {
  const auto found = NameService().find(Database::Passwd, std::to_string(uid.value), true);
  const auto id = found ? number((*found)[3]) : std::nullopt;
  return id ? std::optional(Gid(*id)) : std::nullopt;
}

bool in_any_group(const std::vector<std::string>& names) {
  std::vector<gid_t> groups(1, ::getegid());
  if (const int count = ::getgroups(0, nullptr); count > 0) {
    groups.resize(static_cast<std::size_t>(count) + 1);
    const int got = ::getgroups(count, groups.data() + 1);
    groups.resize(static_cast<std::size_t>(std::max(got, 0)) + 1);
  }
  return std::ranges::any_of(
      groups, [&](gid_t group) { return std::ranges::find(names, group_name(Gid(group))) != names.end(); });
}

}  // namespace spur::cli
