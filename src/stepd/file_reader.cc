// SPDX-License-Identifier: Apache-2.0
#include "stepd/file_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

namespace spur::stepd {
namespace {

constexpr std::size_t kPiece = std::size_t{512} << 10;
constexpr int kOpenDirectories = 16;

FileFailure failure(int number) {
  return {number, std::strerror(number)};
}

std::int64_t ns_of(const timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

struct Walk {
  const v1::FileFetch& fetch;
  const FileSink& sink;
  std::unique_ptr<char[]> buffer = std::make_unique_for_overwrite<char[]>(kPiece);

  FileFailure content(const std::string& path, std::uint64_t size) const {
    const os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
    if (!fd) return failure(errno);
    for (std::uint64_t left = size; left > 0;) {
      const ssize_t n = ::read(fd.get(), buffer.get(), std::min<std::uint64_t>(kPiece, left));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failure(errno);
      if (n == 0) return {EIO, "the file has become shorter"};
      if (!sink.data(std::string_view(buffer.get(), static_cast<std::size_t>(n)))) return failure(ECANCELED);
      left -= static_cast<std::uint64_t>(n);
    }
    return {};
  }

  FileFailure below(const std::string& path, const std::string& name) const {
    std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
    if (!directory) return failure(errno);
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(directory.get()))
      if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
        names.emplace_back(entry->d_name);
    directory.reset();
    std::ranges::sort(names);
    for (const auto& one : names)
      if (auto failed = visit(path + "/" + one, name.empty() ? one : name + "/" + one)) return failed;
    return {};
  }

  FileFailure visit(const std::string& path, const std::string& name) const {
    struct stat info{};
    if ((name.empty() ? ::stat(path.c_str(), &info) : ::lstat(path.c_str(), &info)) != 0) return failure(errno);
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode) && !S_ISLNK(info.st_mode))
      return name.empty() ? failure(EINVAL) : FileFailure{};
    if (S_ISDIR(info.st_mode) && !fetch.recursive()) return failure(EISDIR);
    v1::FileEntry entry;
    entry.set_path(name);
    entry.set_mode(info.st_mode);
    if (S_ISREG(info.st_mode)) entry.set_size(static_cast<std::uint64_t>(info.st_size));
    entry.set_accessed_ns(ns_of(info.st_atim));
    entry.set_modified_ns(ns_of(info.st_mtim));
    if (S_ISLNK(info.st_mode)) {
      char target[4096];
      const ssize_t n = ::readlink(path.c_str(), target, sizeof target);
      if (n < 0) return failure(errno);
      entry.set_link(target, static_cast<std::size_t>(n));
    }
    if (!sink.entry(entry)) return failure(ECANCELED);
    if (S_ISDIR(info.st_mode)) return below(path, name);
    return S_ISREG(info.st_mode) ? content(path, entry.size()) : FileFailure{};
  }
};

int remove_one(const char* path, const struct stat*, int, FTW*) {
  return std::remove(path);
}

}  // namespace

FileFailure read_files(const v1::FileFetch& fetch, const FileSink& sink) {
  if (!fetch.path().starts_with('/') || fetch.path().find('\0') != std::string::npos) return failure(EINVAL);
  return Walk{.fetch = fetch, .sink = sink}.visit(fetch.path(), {});
}

FileFailure remove_files(const std::string& path) {
  if (::nftw(path.c_str(), remove_one, kOpenDirectories, FTW_DEPTH | FTW_PHYS) == 0) return {};
  return failure(errno);
}

}  // namespace spur::stepd
