// SPDX-License-Identifier: Apache-2.0
#include "os/state_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "os/files.h"

namespace spur::os {
namespace {

// "process 123 (spurctld)", from what the holder wrote into the lock file.
std::string describe_holder(int fd) {
  char text[32] = {};
  const ssize_t n = ::pread(fd, text, sizeof text - 1, 0);
  std::string pid(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  if (pid.empty() || !std::all_of(pid.begin(), pid.end(), [](unsigned char c) { return std::isdigit(c); }))
    return "another process";
  Result<std::string> name = read_file(fmt::format("/proc/{}/comm", pid), 64);
  if (name && !name->empty() && name->back() == '\n') name->pop_back();
  return name ? fmt::format("process {} ({})", pid, *name) : fmt::format("process {}", pid);
}

}  // namespace

Result<StateDirectory> StateDirectory::open(const std::string& path, const std::string& lock_name) {
  SPUR_TRY(make_private_dir(path));
  const std::string lock_path = path + "/" + lock_name;
  UniqueFd fd(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(fmt::format("cannot open {}", lock_path), errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return fail(ErrorCode::Busy,
                  fmt::format("state directory {} is in use by {}", path, describe_holder(fd.get())));
    return fail_errno(fmt::format("cannot lock {}", lock_path), errno);
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd.get(), 0) != 0) return fail_errno(fmt::format("cannot write {}", lock_path), errno);
  SPUR_TRY(write_all(fd.get(), pid, lock_path));
  return StateDirectory(path, std::move(fd));
}

}  // namespace spur::os
