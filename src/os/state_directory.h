// SPDX-License-Identifier: Apache-2.0
// A daemon's state directory, held by one process at a time. The lock is the kernel's (flock), so it never outlives
// its holder; the file's text only tells others who that is.
#pragma once

#include <string>

#include "base/result.h"
#include "os/unique_fd.h"

namespace spur::os {

class StateDirectory {
 public:
  // Creates the directory if it is missing (mode 0700). Refused: it belongs to another user, others may write to it,
  // it is not writable, another process holds `lock_name` in it (ErrorCode::Busy; the message names the process).
  static Result<StateDirectory> open(const std::string& path, const std::string& lock_name);

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  StateDirectory(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;
};

}  // namespace spur::os
