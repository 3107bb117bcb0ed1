// SPDX-License-Identifier: Apache-2.0
#include "stepd/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace spur::stepd {
namespace {

FileFailure write_failure(int number) {
  return {number, std::strerror(number)};
}

timespec time_of(std::int64_t ns) {
  return {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

FileWriter::~FileWriter() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

FileFailure FileWriter::make_directory() {
  if (::mkdir(path_.c_str(), 0700) == 0) return {};
  struct stat info{};
  const int error = errno;
  if (error == EEXIST && file_.replace() && ::stat(path_.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
  return write_failure(error);
}

FileFailure FileWriter::begin(const v1::FileSend& file) {
  file_ = file;
  path_ = file.path();
  if (!path_.starts_with('/') || path_.ends_with('/') || path_.find('\0') != std::string::npos)
    return write_failure(EINVAL);
  if (file.directory()) return make_directory();
  struct stat info{};
  if (::stat(path_.c_str(), &info) != 0) return open_new();
  if (!file.replace()) return write_failure(EEXIST);
  if (S_ISDIR(info.st_mode)) return write_failure(EISDIR);
  if (!S_ISREG(info.st_mode)) {
    in_place_ = true;
    fd_.reset(::open(path_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    return fd_ ? FileFailure{} : write_failure(errno);
  }
  // Who may not write to the file must not replace it, even where the directory would let him.
  if (::access(path_.c_str(), W_OK) != 0) return write_failure(errno);
  if (char* real = ::realpath(path_.c_str(), nullptr)) {
    path_ = real;
    std::free(real);
  }
  return open_new();
}

FileFailure FileWriter::open_new() {
  const std::string directory = directory_of(path_);
  fd_.reset(::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (fd_) return {};
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return write_failure(errno);
  std::string name = fmt::format("{}/.{}.XXXXXX", directory, path_.substr(path_.rfind('/') + 1));
  fd_.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd_) return write_failure(errno);
  temporary_ = std::move(name);
  return {};
}

FileFailure FileWriter::write(std::string_view data) {
  if (written_ + data.size() > file_.size()) return write_failure(EFBIG);
  written_ += data.size();
  while (!data.empty()) {
    const ssize_t n = ::write(fd_.get(), data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return write_failure(errno);
    data.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

FileFailure FileWriter::finish() {
  if (file_.directory() || in_place_) return {};
  if (written_ != file_.size()) return {EIO, "the file that was read has become shorter"};
  if (::fchmod(fd_.get(), file_.mode() & 0777) != 0) return write_failure(errno);
  if (file_.has_accessed_ns() && file_.has_modified_ns()) {
    const timespec times[] = {time_of(file_.accessed_ns()), time_of(file_.modified_ns())};
    if (::futimens(fd_.get(), times) != 0) return write_failure(errno);
  }
  return give_name();
}

FileFailure FileWriter::give_name() {
  const std::string unnamed = fmt::format("/proc/self/fd/{}", fd_.get());
  const bool has_name = !temporary_.empty();
  const char* from = has_name ? temporary_.c_str() : unnamed.c_str();
  if (!file_.replace()) {
    if (::linkat(AT_FDCWD, from, AT_FDCWD, path_.c_str(), has_name ? 0 : AT_SYMLINK_FOLLOW) != 0)
      return write_failure(errno);
    return {};  // the destructor takes the temporary name away
  }
  if (!has_name) {
    // A name is needed that can be moved over the old one; nobody else may have taken it.
    for (int i = 0; temporary_.empty(); ++i) {
      const std::string name =
          fmt::format("{}/.{}.{}-{}", directory_of(path_), path_.substr(path_.rfind('/') + 1), ::getpid(), i);
      if (::linkat(AT_FDCWD, from, AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) temporary_ = name;
      if (temporary_.empty() && (errno != EEXIST || i == 100)) return write_failure(errno);
    }
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return write_failure(errno);
  temporary_.clear();
  return {};
}

}  // namespace spur::stepd
