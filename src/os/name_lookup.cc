// SPDX-License-Identifier: Apache-2.0
#include "os/name_lookup.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <mutex>

#include "os/files.h"
#include "os/user_lookup.h"

namespace spur::os {
namespace {

// Calls one of the *_r functions with a buffer that grows until the entry fits; null: no such entry.
template <class Entry, class Call>
Result<Entry*> look_up(Entry& entry, std::vector<char>& buffer, const std::string& what, Call call) {
  Entry* found = nullptr;
  buffer.resize(4096);
  int rc;
  while ((rc = call(&entry, buffer.data(), buffer.size(), &found)) == ERANGE) buffer.resize(buffer.size() * 2);
  // glibc may say one of these for "no such entry".
  if (rc == ENOENT || rc == ESRCH) return nullptr;
  if (rc != 0) return fail_errno("cannot look up " + what, rc);
  return found;
}

}  // namespace

Result<Uid> user_by_name(const std::string& name) {
  passwd entry{};
  std::vector<char> buffer;
  SPUR_ASSIGN(const passwd* found, look_up(entry, buffer, "user " + name,
                                           [&](auto... rest) { return ::getpwnam_r(name.c_str(), rest...); }));
  if (found) return Uid{found->pw_uid};
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size()) return Uid{number};
  return fail(ErrorCode::InvalidUser, fmt::format("there is no user {}", name));
}

Result<std::vector<Uid>> members_of_group(const std::string& name) {
  group entry{};
  std::vector<char> buffer;
  SPUR_ASSIGN(const group* found, look_up(entry, buffer, "group " + name,
                                          [&](auto... rest) { return ::getgrnam_r(name.c_str(), rest...); }));
  if (!found) return fail(ErrorCode::InvalidGroup, fmt::format("there is no group {}", name));
  std::vector<Uid> out;
  for (char** member = found->gr_mem; *member; ++member)
    if (const auto uid = user_by_name(*member)) out.push_back(*uid);
  static std::mutex one_at_a_time;  // the walk over all users has one place for the whole process
  const std::lock_guard lock(one_at_a_time);
  passwd user{};
  passwd* at = nullptr;
  std::vector<char> text(65536);
  ::setpwent();
  while (::getpwent_r(&user, text.data(), text.size(), &at) == 0)
    if (at->pw_gid == found->gr_gid) out.push_back(Uid{at->pw_uid});
  ::endpwent();
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::string> group_names_of(Uid uid, Gid gid) {
  std::vector<std::string> out;
  const auto identity = look_up_user(uid, gid);
  if (!identity) return out;
  for (const Gid one : identity->groups) {
    group entry{};
    std::vector<char> buffer;
    const auto found = look_up(entry, buffer, fmt::format("gid {}", one.value),
                               [&](auto... rest) { return ::getgrgid_r(one.value, rest...); });
    if (found && *found) out.emplace_back((*found)->gr_name);
  }
  return out;
}

std::string name_of_user(Uid uid) {
  passwd entry{};
  std::vector<char> buffer;
  const auto found = look_up(entry, buffer, "a user", [&](auto... rest) { return ::getpwuid_r(uid.value, rest...); });
  return found && *found ? (*found)->pw_name : "";
}

std::string name_of_group(Gid gid) {
  group entry{};
  std::vector<char> buffer;
  const auto found =
      look_up(entry, buffer, "a group", [&](auto... rest) { return ::getgrgid_r(gid.value, rest...); });
  return found && *found ? (*found)->gr_name : "";
}

}  // namespace spur::os
