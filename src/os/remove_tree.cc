// SPDX-License-Identifier: Apache-2.0
#include "os/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "os/files.h"
#include "os/unique_fd.h"

namespace spur::os {
namespace {

constexpr int kDeepest = 100;

UniqueFd open_directory(int at, const char* name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd(::openat(at, name, kFlags));
  if (fd || errno != EACCES) return fd;
  // Not followed: a name that is a link now fails to be a directory below.
  struct stat info{};
  if (::fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode)) return {};
  const UniqueFd path(::openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const std::string self = "/proc/self/fd/" + std::to_string(path.get());
  if (path) (void)::chmod(self.c_str(), 0700);
  return UniqueFd(::openat(at, name, kFlags));
}

std::vector<std::string> names_in(const UniqueFd& directory) {
  std::vector<std::string> out;
  DIR* stream = ::fdopendir(::fcntl(directory.get(), F_DUPFD_CLOEXEC, 3));
  if (stream == nullptr) return out;
  ::rewinddir(stream);
  while (const dirent* entry = ::readdir(stream))
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      out.emplace_back(entry->d_name);
  ::closedir(stream);
  return out;
}

class Removal {
 public:
  explicit Removal(int top) : top_(top) {}

  Status remove(int at, const std::string& name, dev_t device, int depth) {
    if (::unlinkat(at, name.c_str(), 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR && errno != EPERM && errno != EACCES) return fail_errno("cannot remove " + name, errno);
    if (::unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    const int why = errno;
    const UniqueFd directory = open_directory(at, name.c_str());
    struct stat info{};
    if (!directory || ::fstat(directory.get(), &info) != 0) return fail_errno("cannot remove " + name, why);
    if (device != 0 && info.st_dev != device)
      return fail(ErrorCode::PermissionDenied, "cannot remove " + name + ": something is mounted there");
    if ((info.st_mode & 0700) != 0700) (void)::fchmod(directory.get(), 0700);
    // Every level holds a descriptor: what is too deep is hung up at the top and comes later.
    if (depth > kDeepest && ::renameat(at, name.c_str(), top_, (".deep-" + std::to_string(++moved_)).c_str()) == 0)
      return {};
    for (const std::string& inner : names_in(directory))
      SPUR_TRY(remove(directory.get(), inner, info.st_dev, depth + 1));
    if (::unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    return fail_errno("cannot remove " + name, errno);
  }
  std::size_t moved() const { return moved_; }

 private:
  int top_;
  std::size_t moved_ = 0;
};

}  // namespace

Status remove_tree(int directory, const std::string& name) {
  if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  const UniqueFd top = open_directory(directory, name.c_str());
  struct stat info{};
  if (!top || ::fstat(top.get(), &info) != 0) return fail_errno("cannot remove " + name, errno);
  if ((info.st_mode & 0700) != 0700) (void)::fchmod(top.get(), 0700);
  Removal removal(top.get());
  for (std::size_t before = 1, moved = 0; moved != before; moved = removal.moved()) {
    before = removal.moved();
    for (const std::string& inner : names_in(top)) SPUR_TRY(removal.remove(top.get(), inner, info.st_dev, 1));
  }
  if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return fail_errno("cannot remove " + name, errno);
}

}  // namespace spur::os
