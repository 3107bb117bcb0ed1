// SPDX-License-Identifier: Apache-2.0
#include "os/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "os/test_directory.h"

namespace spur::os {
namespace {

TEST(Files, ParentDirectory) {
  const std::pair<const char*, const char*> cases[] = {
      {"/a/b", "/a"}, {"/a", "/"}, {"/", "/"}, {"a", "."}, {"a/b/", "a"}, {"/a//b", "/a"}, {"", "."}, {"//a", "/"},
  };
  for (const auto& [path, parent] : cases) EXPECT_EQ(parent_directory(path), parent) << path;
}

TEST(Files, DurableWriteReplacesAndSetsMode) {
  TestDirectory dir;
  const std::string path = dir / "x";
  ASSERT_TRUE(write_file_durably(path, "one", 0644));
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);
  ASSERT_TRUE(write_file_durably(path, "two"));
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(*read_file(path, 3), "two");
  std::size_t names = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) names += entry.exists();
  EXPECT_EQ(names, 1u);
}

TEST(Files, FailedWriteKeepsTheOldFile) {
  TestDirectory dir;
  const std::string path = dir / "x";
  ASSERT_TRUE(write_file_durably(path, "old"));
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1024, 1024};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Status written = write_file_durably(path, std::string(8192, 'n'));
    ::_exit(!written && written.error().code == ErrorCode::OutOfSpace ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*read_file(path, 100), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(Files, ReadLimits) {
  TestDirectory dir;
  ASSERT_TRUE(write_file_durably(dir / "x", "12345"));
  EXPECT_EQ(*read_file(dir / "x", 5), "12345");
  EXPECT_EQ(read_file(dir / "x", 4).error().code, ErrorCode::ResourceLimit);
  EXPECT_EQ(read_file(dir / "none", 4).error().code, ErrorCode::NotFound);
  EXPECT_FALSE(read_file(dir.path(), 100));
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(read_file(dir / "fifo", 100));
  EXPECT_FALSE(read_file("/dev/zero", 100));
  EXPECT_GT(read_file("/proc/self/status", 100'000)->size(), 100u);   // its stat size is 0
  EXPECT_GE(read_file("/proc/sys/kernel/pid_max", 100)->size(), 4u);  // and this one wants one large read
}

TEST(Files, PrivateDirectory) {
  TestDirectory dir;
  const std::string deep = dir / "a/b/c";
  ASSERT_TRUE(make_private_dir(deep));
  struct stat info{};
  ASSERT_EQ(::stat(deep.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_TRUE(make_private_dir(deep));
  ASSERT_EQ(::chmod(deep.c_str(), 0770), 0);
  EXPECT_EQ(make_private_dir(deep).error().code, ErrorCode::PermissionDenied);
  std::ofstream(dir / "file") << "x";
  EXPECT_FALSE(make_private_dir(dir / "file"));
  EXPECT_FALSE(make_private_dir(dir / "file/below"));
  EXPECT_FALSE(make_private_dir(""));
}

TEST(Files, PrivateDirectoryOfSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  TestDirectory dir;
  const std::string theirs = dir / "theirs";
  ASSERT_TRUE(make_private_dir(theirs));
  ASSERT_EQ(::chown(theirs.c_str(), 65534, 65534), 0);
  const Status status = check_private_dir(theirs);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("65534"), std::string::npos) << status.error().message;
}

TEST(Files, SecretFile) {
  TestDirectory dir;
  const std::string path = dir / "key";
  ASSERT_TRUE(write_file_durably(path, "k", 0600));
  EXPECT_TRUE(check_secret_file(path));
  for (const mode_t mode : {0640, 0604, 0620, 0601}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_FALSE(check_secret_file(path)) << mode;
  }
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(::symlink(path.c_str(), (dir / "link").c_str()), 0);
  EXPECT_FALSE(check_secret_file(dir / "link"));
  EXPECT_FALSE(check_secret_file(dir / "none"));
}

TEST(Files, ErrorCodes) {
  const std::pair<int, ErrorCode> cases[] = {
      {ENOSPC, ErrorCode::OutOfSpace}, {EDQUOT, ErrorCode::OutOfSpace},       {EFBIG, ErrorCode::OutOfSpace},
      {ENOENT, ErrorCode::NotFound},   {EACCES, ErrorCode::PermissionDenied}, {EEXIST, ErrorCode::AlreadyExists},
      {EIO, ErrorCode::Internal}};
  for (const auto& [value, code] : cases) EXPECT_EQ(errno_error("cannot x", value).code, code) << value;
  EXPECT_EQ(errno_error("cannot open /x", ENOENT).message, "cannot open /x: No such file or directory");
}

}  // namespace
}  // namespace spur::os
