// SPDX-License-Identifier: Apache-2.0
#include "os/privileges.h"

#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "os/files.h"

namespace spur::os {
namespace {

// Raw system calls: glibc's wrappers bring every thread of the process along, which a process cloned without
// pthreads' knowledge must not trigger.
int set_groups(const std::vector<gid_t>& groups) {
  return static_cast<int>(::syscall(SYS_setgroups, groups.size(), groups.data()));
}
int set_gids(gid_t gid) {
  return static_cast<int>(::syscall(SYS_setresgid, gid, gid, gid));
}
int set_uids(uid_t uid) {
  return static_cast<int>(::syscall(SYS_setresuid, uid, uid, uid));
}

Status drop_capabilities() {
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
    return fail_errno("cannot clear the ambient capabilities", errno);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct none[2]{}, left[2]{};
  if (::syscall(SYS_capset, &header, none) != 0) return fail_errno("cannot drop capabilities", errno);
  if (::syscall(SYS_capget, &header, left) != 0) return fail_errno("cannot read capabilities", errno);
  for (const auto& word : left)
    if (word.effective != 0 || word.permitted != 0 || word.inheritable != 0)
      return fail(ErrorCode::PermissionDenied, "capabilities are still there after dropping them");
  return {};
}

Status verify(uid_t uid, gid_t gid, std::vector<gid_t> groups) {
  uid_t ruid, euid, suid;
  gid_t rgid, egid, sgid;
  if (::getresuid(&ruid, &euid, &suid) != 0 || ::getresgid(&rgid, &egid, &sgid) != 0)
    return fail_errno("cannot read the process's ids", errno);
  const auto fsuid = static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1)));
  const auto fsgid = static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1)));
  if (ruid != uid || euid != uid || suid != uid || fsuid != uid)
    return fail(ErrorCode::PermissionDenied, fmt::format("the user id is not {} after changing to it", uid));
  if (rgid != gid || egid != gid || sgid != gid || fsgid != gid)
    return fail(ErrorCode::PermissionDenied, fmt::format("the group id is not {} after changing to it", gid));
  const int count = ::getgroups(0, nullptr);
  if (count < 0) return fail_errno("cannot read the groups", errno);
  std::vector<gid_t> now(static_cast<std::size_t>(count));
  if (count > 0 && ::getgroups(count, now.data()) != count) return fail_errno("cannot read the groups", errno);
  std::ranges::sort(now);
  std::ranges::sort(groups);
  if (now != groups) return fail(ErrorCode::PermissionDenied, "the groups are not the user's after setting them");
  if (uid != 0 && (set_uids(0) == 0 || ::geteuid() == 0))
    return fail(ErrorCode::PermissionDenied, "root can be had back after dropping it");
  return {};
}

template <class Number>
bool parse_number(std::string_view text, Number* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Status become(const Identity& identity) {
  const uid_t uid = identity.uid.value;
  const gid_t gid = identity.gid.value;
  if (uid == static_cast<uid_t>(-1) || gid == static_cast<gid_t>(-1))
    return fail(ErrorCode::InvalidUser, "the job has no valid user or group id");
  if (::geteuid() != 0) {
    if (::getuid() != uid)
      return fail(ErrorCode::InvalidUser,
                  fmt::format("this node's agent runs as uid {} and cannot start a job of uid {}", ::getuid(), uid));
    return {};
  }
  std::vector<gid_t> groups;
  for (const Gid g : identity.groups) groups.push_back(g.value);
  if (set_groups(groups) != 0) return fail_errno(fmt::format("cannot set the groups of {}", identity.name), errno);
  if (set_gids(gid) != 0) return fail_errno(fmt::format("cannot change to group id {}", gid), errno);
  if (set_uids(uid) != 0) return fail_errno(fmt::format("cannot change to user id {}", uid), errno);
  if (uid != 0) SPUR_TRY(drop_capabilities());
  return verify(uid, gid, std::move(groups));
}

std::string encode_identity(const Identity& identity) {
  std::string groups;
  for (const Gid g : identity.groups) groups += fmt::format("{}{}", groups.empty() ? "" : ",", g.value);
  return fmt::format("{}:{}:{}:{}", identity.uid.value, identity.gid.value, identity.name, groups);
}

Result<Identity> decode_identity(std::string_view text) {
  const auto bad = fail(ErrorCode::Corrupt, "the identity handed to spurstepd is malformed");
  std::string_view parts[4];
  for (int i = 0; i < 4; ++i) {
    const auto colon = i < 3 ? text.find(':') : text.size();
    if (colon == std::string_view::npos) return bad;
    parts[i] = text.substr(0, colon);
    text.remove_prefix(i < 3 ? colon + 1 : colon);
  }
  Identity out;
  if (!parse_number(parts[0], &out.uid.value) || !parse_number(parts[1], &out.gid.value) || parts[2].empty())
    return bad;
  out.name = parts[2];
  for (std::string_view rest = parts[3]; !rest.empty();) {
    const auto comma = rest.find(',');
    Gid gid;
    if (!parse_number(rest.substr(0, comma), &gid.value) || comma == rest.size() - 1) return bad;
    out.groups.push_back(gid);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return out;
}

}  // namespace spur::os
