// SPDX-License-Identifier: Apache-2.0
#include "container/scoped_path.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "os/files.h"
#include "os/remove_tree.h"
#include "text/printable.h"

namespace spur::container {
namespace {

constexpr int kAttempts = 100;  // EAGAIN: something was renamed meanwhile

int open_scoped(int root, const std::string& path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<__u64>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  for (int i = 0;; ++i) {
    const auto fd = static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
    if (fd >= 0 || errno != EAGAIN || i == kAttempts) return fd;
  }
}

}  // namespace

Result<os::UniqueFd> open_in(int root, std::string_view path, int flags, mode_t mode) {
  os::UniqueFd fd(open_scoped(root, path.empty() ? "." : std::string(path), flags, mode));
  if (!fd) return os::fail_errno("cannot open " + text::shown(path) + " in the image", errno);
  return fd;
}

Result<os::UniqueFd> make_dirs_in(int root, std::string_view path) {
  os::UniqueFd whole(open_scoped(root, path.empty() ? "." : std::string(path), O_RDONLY | O_DIRECTORY, 0));
  if (whole) return whole;
  if (errno != ENOENT) return os::fail_errno("cannot open directory " + text::shown(path) + " in the image", errno);
  const auto slash = path.find_last_of('/');
  const std::string name(path.substr(slash == std::string_view::npos ? 0 : slash + 1));
  SPUR_ASSIGN(const auto parent,
              make_dirs_in(root, slash == std::string_view::npos ? std::string_view() : path.substr(0, slash)));
  if (!name.empty() && name != "." && ::mkdirat(parent.get(), name.c_str(), 0755) != 0 && errno != EEXIST)
    return os::fail_errno("cannot make directory " + text::shown(path) + " in the image", errno);
  return open_in(root, path, O_RDONLY | O_DIRECTORY);
}

Status remove_at(int directory, const std::string& name) {
  return os::remove_tree(directory, name);
}

}  // namespace spur::container
