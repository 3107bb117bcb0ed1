// SPDX-License-Identifier: Apache-2.0
#include "os/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "os/unique_fd.h"

namespace spur::os {
namespace {

ErrorCode code_of(int errno_value) {
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::OutOfSpace;
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::NotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::PermissionDenied;
    case EEXIST:
      return ErrorCode::AlreadyExists;
    case ETIMEDOUT:
      return ErrorCode::TimedOut;
    default:
      return ErrorCode::Internal;
  }
}

Status write_and_sync(int fd, std::string_view content, mode_t mode, const std::string& path) {
  // The mode given to open() is cut by the umask.
  if (::fchmod(fd, mode) != 0) return fail_errno(fmt::format("cannot set the mode of {}", path), errno);
  SPUR_TRY(write_all(fd, content, path));
  if (::fsync(fd) != 0) return fail_errno(fmt::format("cannot sync {}", path), errno);
  return {};
}

}  // namespace

Error errno_error(std::string_view what, int errno_value) {
  return {code_of(errno_value), fmt::format("{}: {}", what, std::strerror(errno_value))};
}

std::string parent_directory(const std::string& path) {
  const auto end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "." : "/";
  const auto slash = path.find_last_of('/', end);
  if (slash == std::string::npos) return ".";
  const auto last = path.find_last_not_of('/', slash);
  return last == std::string::npos ? "/" : path.substr(0, last + 1);
}

Status write_all(int fd, std::string_view bytes, std::string_view path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail_errno(fmt::format("cannot write {}", path), errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status sync_directory(const std::string& directory) {
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(fmt::format("cannot open directory {}", directory), errno);
  if (::fsync(fd.get()) != 0) return fail_errno(fmt::format("cannot sync directory {}", directory), errno);
  return {};
}

Status write_file_durably(const std::string& path, std::string_view content, mode_t mode) {
  // Threads and processes that write the same path must not share a temporary file.
  static std::atomic<unsigned> counter{0};
  const std::string temporary = fmt::format("{}.tmp.{}.{}", path, ::getpid(), counter.fetch_add(1));
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(fmt::format("cannot create {}", temporary), errno);
  Status written = write_and_sync(fd.get(), content, mode, temporary);
  fd.reset();
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = fail_errno(fmt::format("cannot rename {} to {}", temporary, path), errno);
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  return sync_directory(parent_directory(path));
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  // O_NONBLOCK: a FIFO in the file's place must not hang us before fstat sees it.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path), errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return fail_errno(fmt::format("cannot examine {}", path), errno);
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::InvalidArgument, fmt::format("{} is not a regular file", path));
  std::string content;
  // One byte more than the limit tells "just fits" from "too large". The size stat gives is only a hint: it is 0 in
  // /proc, where moreover some files give all or nothing in one read, and may change while we read.
  std::size_t room = std::min(std::max<std::size_t>(static_cast<std::size_t>(info.st_size), 4095), limit) + 1;
  for (;;) {
    const std::size_t have = content.size();
    content.resize(have + room);
    ssize_t n = 0;
    do n = ::read(fd.get(), content.data() + have, room);
    while (n < 0 && errno == EINTR);
    if (n < 0) return fail_errno(fmt::format("cannot read {}", path), errno);
    content.resize(have + static_cast<std::size_t>(n));
    if (content.size() > limit)
      return fail(ErrorCode::ResourceLimit, fmt::format("{} is larger than {} bytes", path, limit));
    if (n == 0) return content;
    room = std::min<std::size_t>(64 * 1024, limit + 1 - content.size());
  }
}

Status check_private_dir(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return fail_errno(fmt::format("cannot use directory {}", path), errno);
  if (!S_ISDIR(info.st_mode)) return fail(ErrorCode::InvalidArgument, fmt::format("{} is not a directory", path));
  if (info.st_uid != ::geteuid())
    return fail(ErrorCode::PermissionDenied,
                fmt::format("directory {} belongs to {}, but this process runs as {}", path,
                            describe_user(info.st_uid), describe_user(::geteuid())));
  if (info.st_mode & (S_IWGRP | S_IWOTH))
    return fail(
        ErrorCode::PermissionDenied,
        fmt::format("directory {} is writable by others (mode {:04o}): chmod go-w it", path, info.st_mode & 07777));
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0)
    return fail_errno(fmt::format("directory {} is not writable for {}", path, describe_user(::geteuid())), errno);
  return {};
}

Status make_private_dir(const std::string& path) {
  if (path.empty()) return fail(ErrorCode::InvalidArgument, "directory name is empty");
  struct stat info{};
  std::vector<std::string> missing;
  for (std::string at = path; ::stat(at.c_str(), &info) != 0; at = parent_directory(at)) {
    if (errno != ENOENT) return fail_errno(fmt::format("cannot use directory {}", at), errno);
    missing.push_back(at);
  }
  while (!missing.empty()) {
    const std::string& next = missing.back();
    const mode_t mode = missing.size() == 1 ? 0700 : 0755;
    if (::mkdir(next.c_str(), mode) != 0 && errno != EEXIST)
      return fail_errno(fmt::format("cannot create directory {}", next), errno);
    SPUR_TRY(sync_directory(parent_directory(next)));
    missing.pop_back();
  }
  return check_private_dir(path);
}

Status check_secret_file(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return fail_errno(fmt::format("cannot use {}", path), errno);
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::PermissionDenied, fmt::format("{} is not a regular file", path));
  if (info.st_uid != ::geteuid())
    return fail(ErrorCode::PermissionDenied, fmt::format("{} belongs to {}, but this process runs as {}", path,
                                                         describe_user(info.st_uid), describe_user(::geteuid())));
  if (info.st_mode & 077)
    return fail(ErrorCode::PermissionDenied, fmt::format("{} is accessible by others (mode {:04o}): chmod it to 0600",
                                                         path, info.st_mode & 07777));
  return {};
}

std::string describe_user(uid_t uid) {
  struct passwd entry{};
  struct passwd* found = nullptr;
  std::vector<char> buffer(16 * 1024);
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found)
    return fmt::format("{} (uid {})", found->pw_name, uid);
  return fmt::format("uid {}", uid);
}

}  // namespace spur::os
