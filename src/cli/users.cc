// SPDX-License-Identifier: Apache-2.0
#include "cli/users.h"

#include <grp.h>
#include <pwd.h>

#include <charconv>
#include <map>

namespace spur::cli {
namespace {

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

const std::string& user_name(Uid uid) {
  static std::map<std::uint32_t, std::string> known;
  const auto [entry, added] = known.try_emplace(uid.value);
  if (added) {
    const passwd* found = getpwuid(uid.value);
    entry->second = found != nullptr ? std::string(found->pw_name) : std::to_string(uid.value);
  }
  return entry->second;
}

const std::string& group_name(Gid gid) {
  static std::map<std::uint32_t, std::string> known;
  const auto [entry, added] = known.try_emplace(gid.value);
  if (added) {
    const group* found = getgrgid(gid.value);
    entry->second = found != nullptr ? std::string(found->gr_name) : std::to_string(gid.value);
  }
  return entry->second;
}

std::optional<Uid> find_user(std::string_view text) {
  if (const passwd* found = getpwnam(std::string(text).c_str())) return Uid(found->pw_uid);
  if (const auto value = number(text)) return Uid(*value);
  return std::nullopt;
}

std::optional<Gid> find_group(std::string_view text) {
  if (const group* found = getgrnam(std::string(text).c_str())) return Gid(found->gr_gid);
  if (const auto value = number(text)) return Gid(*value);
  return std::nullopt;
}

std::optional<Gid> group_of(Uid uid) {
  const passwd* found = getpwuid(uid.value);
  if (found == nullptr) return std::nullopt;
  return Gid(found->pw_gid);
}

}  // namespace spur::cli
