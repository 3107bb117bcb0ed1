// SPDX-License-Identifier: Apache-2.0
// For tests: a fresh private directory that goes away with the object. In memory where there is plenty of it: the
// tests sync thousands of times, and none of them cuts the power.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/check.h"

namespace spur::os {

class TestDirectory {
 public:
  TestDirectory() {
    std::string name = base() + "/spur-test.XXXXXX";
    SPUR_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  static std::string base() {
    std::error_code none;
    const auto memory = std::filesystem::space("/dev/shm", none);
    const bool plenty = !none && memory.available > (std::uintmax_t{1} << 30) && ::access("/dev/shm", W_OK) == 0;
    return plenty ? "/dev/shm" : std::filesystem::temp_directory_path().string();
  }
  std::string path_;
};

}  // namespace spur::os
