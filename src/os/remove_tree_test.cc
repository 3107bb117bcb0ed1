// SPDX-License-Identifier: Apache-2.0
#include "os/remove_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "os/test_directory.h"
#include "os/unique_fd.h"

namespace spur::os {
namespace {

namespace fs = std::filesystem;

TEST(RemoveTree, FollowsNoLinks) {
  const TestDirectory directory;
  fs::create_directories(directory / "kept/inner");
  fs::create_directories(directory / "gone/a/b");
  std::ofstream(directory / "gone/a/b/file") << "x";
  fs::create_directory_symlink(directory / "kept", directory / "gone/a/link");
  ASSERT_TRUE(remove_tree(AT_FDCWD, directory / "gone"));
  EXPECT_FALSE(fs::exists(directory / "gone"));
  EXPECT_TRUE(fs::exists(directory / "kept/inner"));
  fs::create_directory_symlink(directory / "kept", directory / "link");
  ASSERT_TRUE(remove_tree(AT_FDCWD, directory / "link"));
  EXPECT_TRUE(fs::exists(directory / "kept/inner"));
  EXPECT_TRUE(remove_tree(AT_FDCWD, directory / "nothing"));
}

TEST(RemoveTree, WhatCannotBeRead) {
  const TestDirectory directory;
  fs::create_directories(directory / "gone/closed/inner");
  ::chmod((directory / "gone/closed/inner").c_str(), 0);
  ::chmod((directory / "gone/closed").c_str(), 0500);
  ASSERT_TRUE(remove_tree(AT_FDCWD, directory / "gone"));
  EXPECT_FALSE(fs::exists(directory / "gone"));
}

TEST(RemoveTree, HoweverDeep) {
  const TestDirectory directory;
  UniqueFd at(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::mkdirat(at.get(), "gone", 0755), 0);
  at = UniqueFd(::openat(at.get(), "gone", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 3000; ++i) {  // deeper than there are descriptors
    ASSERT_EQ(::mkdirat(at.get(), "d", 0755), 0);
    at = UniqueFd(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  at.reset();
  const auto removed = remove_tree(AT_FDCWD, directory / "gone");
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(fs::exists(directory / "gone"));
}

}  // namespace
}  // namespace spur::os
