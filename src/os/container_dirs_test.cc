// SPDX-License-Identifier: Apache-2.0
#include "os/container_dirs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "os/test_directory.h"

namespace spur::os {
namespace {

namespace fs = std::filesystem;

model::JobRun run(std::uint32_t job) {
  return {JobId(job), Epoch{1}};
}

TEST(ContainerDirs, SettingsTravelAsText) {
  for (const ContainerSettings& settings : {ContainerSettings{"/images", 5, 6, true, {"/etc/cdi", "/run/cdi"}},
                                            ContainerSettings{"/i", 0, 0, false, {}}}) {
    const auto back = decode_container_settings(encode_container_settings(settings));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, settings);
  }
  EXPECT_EQ(decode_container_settings("").error().code, ErrorCode::NotSupported);
  EXPECT_FALSE(decode_container_settings("/i\nx\n0\n0\n"));
}

TEST(ContainerDirs, AreTheUsersOwn) {
  const TestDirectory directory;
  const bool root = ::geteuid() == 0;
  const Identity user{Uid{root ? 65534 : ::getuid()}, Gid{root ? 65534 : ::getgid()}, "somebody", {}};
  const std::string images = directory / "deep/images";
  const auto dirs = make_container_dirs(images, "t", run(1), user);
  ASSERT_TRUE(dirs) << dirs.error().message;
  for (const auto& path : {dirs->scratch, dirs->cache}) {
    struct stat info{};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, user.uid.value);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
  }
  EXPECT_TRUE(make_container_dirs(images, "t", run(1), user));  // again
  // Somebody who can write there could put anything in others' way.
  ::chmod((images + "/users").c_str(), 0777);
  EXPECT_EQ(make_container_dirs(images, "t", run(2), user).error().code, ErrorCode::PermissionDenied);
}

TEST(ContainerDirs, StaleOnesAreKnown) {
  const TestDirectory directory;
  for (const char* name : {"t.1.1", "t.2.1", "other.3.1"})
    fs::create_directories(directory / ("run/" + std::string(name)));
  EXPECT_EQ(stale_scratch(directory.path(), "t", {run(1)}), std::vector<std::string>{directory / "run/t.2.1"});
}

}  // namespace
}  // namespace spur::os
