// SPDX-License-Identifier: Apache-2.0
#include "os/daemon_user.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/files.h"
#include "os/name_lookup.h"
#include "os/privileges.h"
#include "os/unique_fd.h"
#include "os/user_lookup.h"

namespace spur::os {
namespace {

// The user with his first group and all others, as initgroups() would set them.
Result<Identity> identity_of(std::string_view key, const std::string& user) {
  SPUR_ASSIGN(const Uid uid, configured_user(key, user));
  const passwd* entry = ::getpwuid(uid.value);
  if (!entry) return fail(ErrorCode::ConfigInvalid, fmt::format("Failed to determine gid of {}({})", key, uid.value));
  SPUR_ASSIGN(Identity out, look_up_user(uid, Gid{entry->pw_gid}));
  if (uid == kRootUid) out.groups.clear();  // root needs none
  return out;
}

// Whether nobody but root has a say in where the path leads: each directory on the way, or link to one, is root's.
bool leads_where_root_says(const std::string& path) {
  struct stat info{};
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    if (::lstat(path.substr(0, slash).c_str(), &info) != 0 || info.st_uid != 0) return false;
  return path.starts_with('/');
}

// Elsewhere than in root's own directories the user can make the file himself, and could make root give away another one. Only
// a plain file of root's with no other name is given away.
void hand_over(const DaemonFile& file, const Identity& to) {
  if (!leads_where_root_says(file.path)) return;
  const UniqueFd fd(::open(file.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, file.mode));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0) return;  // who opens it next says why not
  if (!S_ISREG(info.st_mode) || info.st_nlink != 1 || info.st_uid != 0) return;
  static_cast<void>(::fchown(fd.get(), to.uid.value, to.gid.value));
}

}  // namespace

Result<Uid> configured_user(std::string_view key, const std::string& user) {
  auto uid = user_by_name(user);
  if (!uid) return fail(ErrorCode::ConfigInvalid, fmt::format("Invalid user for {} {}", key, user));
  return uid;
}

Status become_daemon_user(const std::string& user, const std::vector<DaemonFile>& files) {
  if (user.empty()) return {};
  SPUR_ASSIGN(const Identity wanted, identity_of("SlurmUser", user));
  if (::geteuid() != 0) {
    if (::getegid() != wanted.gid.value)
      return fail(ErrorCode::PermissionDenied, fmt::format("Failed to set GID to {}", wanted.gid.value));
    if (::getuid() != wanted.uid.value)
      return fail_errno(fmt::format("Can not set uid to SlurmUser({})", wanted.uid.value), EPERM);
    return {};
  }
  for (const DaemonFile& file : files)
    if (!file.path.empty() && wanted.uid != kRootUid) hand_over(file, wanted);
  SPUR_TRY(become(wanted));
  // Else the kernel takes us for somebody with secrets of root: no core file, and nobody may look into /proc/PID.
  ::prctl(PR_SET_DUMPABLE, 1);
  return {};
}

Status check_agent_user(const std::string& user) {
  if (user.empty()) return {};
  SPUR_ASSIGN(const Uid uid, configured_user("SlurmdUser", user));
  if (uid.value == ::getuid()) return {};
  std::string me = name_of_user(Uid{::getuid()});
  if (me.empty()) me = std::to_string(::getuid());
  return fail(ErrorCode::ConfigInvalid,
              fmt::format("You are running slurmd as something other than user {}({}). If you want to run as this user add "
                          "SlurmdUser={} to the slurm.conf file.",
                          user, uid.value, me));
}

Status make_directory_for(const std::string& user, const std::string& path) {
  struct stat info{};
  if (user.empty() || ::geteuid() != 0 || ::lstat(path.c_str(), &info) == 0) return {};
  SPUR_ASSIGN(const Identity owner, identity_of("SlurmUser", user));
  SPUR_TRY(make_private_dir(path));
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd || ::fstat(fd.get(), &info) != 0) return fail_errno("cannot open " + path, errno);
  if (info.st_uid == 0 && ::fchown(fd.get(), owner.uid.value, owner.gid.value) != 0)
    return fail_errno("cannot give away " + path, errno);
  return {};
}

Status check_state_location(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) {
    if (!S_ISDIR(info.st_mode)) return fail(ErrorCode::ConfigInvalid, fmt::format("State save loc: {}: Not a directory!", path));
    if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0)
      return fail(ErrorCode::PermissionDenied, "Incorrect permissions on state save loc: " + path);
    return {};
  }
  if (errno != ENOENT) return fail_errno("Unable to stat state save loc: " + path, errno);
  Status made = make_private_dir(path);
  if (!made && made.error().code == ErrorCode::PermissionDenied) return fail_errno(fmt::format("mkdir({})", path), EACCES);
  return made;
}

}  // namespace spur::os
