// SPDX-License-Identifier: Apache-2.0
#include "container/copy_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include "os/files.h"
#include "os/unique_fd.h"
#include "text/printable.h"

namespace spur::container {
namespace {

constexpr int kDeepest = 256;

std::unexpected<Error> failed(const char* name) {
  return os::fail_errno("cannot copy " + text::shown(name) + " of the image", errno);
}

Status copy_content(int in, int out, const char* name) {
  for (;;) {
    const ssize_t sent = ::copy_file_range(in, nullptr, out, nullptr, std::size_t{1} << 30, 0);
    if (sent == 0) return {};
    if (sent > 0 || errno == EINTR) continue;
    break;
  }
  char buffer[65536];  // between file systems that cannot
  for (ssize_t got; (got = ::read(in, buffer, sizeof buffer)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(name);
    SPUR_TRY(os::write_all(out, {buffer, static_cast<std::size_t>(got)}, name));
  }
  return {};
}

Status copy_file(int from, int to, const char* name, const struct stat& info) {
  const os::UniqueFd in(::openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!in) return errno == EACCES ? Status{} : Status(failed(name));
  const os::UniqueFd out(::openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out) return failed(name);
  SPUR_TRY(copy_content(in.get(), out.get(), name));
  ::fchmod(out.get(), (info.st_mode & 0777) | 0400);
  const timespec times[2] = {{0, UTIME_OMIT}, info.st_mtim};
  ::futimens(out.get(), times);
  return {};
}

Status copy_link(int from, int to, const char* name) {
  char target[PATH_MAX];
  const ssize_t size = ::readlinkat(from, name, target, sizeof target - 1);
  if (size < 0) return failed(name);
  target[size] = '\0';
  if (::symlinkat(target, to, name) != 0) return failed(name);
  return {};
}

Status copy_below(int from, int to, int depth);

Status copy_directory(int from, int to, const char* name, const struct stat& info, int depth) {
  if (::mkdirat(to, name, 0700) != 0) return failed(name);
  const os::UniqueFd out(::openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const os::UniqueFd in(::openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!out) return failed(name);
  if (in) SPUR_TRY(copy_below(in.get(), out.get(), depth + 1));
  ::fchmod(out.get(), (info.st_mode & 01777) | 0700);
  return {};
}

Status copy_below(int from, int to, int depth) {
  if (depth > kDeepest) return fail(ErrorCode::InvalidArgument, "the image's directories are too deep to be copied");
  DIR* stream = ::fdopendir(::fcntl(from, F_DUPFD_CLOEXEC, 3));
  if (stream == nullptr) return failed("a directory");
  Status done;
  while (const dirent* entry = done ? ::readdir(stream) : nullptr) {
    const char* name = entry->d_name;
    struct stat info{};
    if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
    if (::fstatat(from, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
      done = failed(name);
    else if (S_ISDIR(info.st_mode))
      done = copy_directory(from, to, name, info, depth);
    else if (S_ISREG(info.st_mode))
      done = copy_file(from, to, name, info);
    else if (S_ISLNK(info.st_mode))
      done = copy_link(from, to, name);
  }
  ::closedir(stream);
  return done;
}

}  // namespace

Status copy_tree(int from, int to) {
  return copy_below(from, to, 0);
}

}  // namespace spur::container
