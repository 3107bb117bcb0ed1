// SPDX-License-Identifier: Apache-2.0
#include "text/mount_spec.h"

#include <gtest/gtest.h>

namespace spur::text {
namespace {

TEST(MountSpec, TakesWhatUsersType) {
  const struct {
    const char *in, *out;
  } table[] = {
      {"/data:/mnt", "/data:/mnt:rw+rbind"},
      {"/data", "/data:/data:rw+rbind"},
      {"/data:/mnt:ro", "/data:/mnt:ro+rbind"},
      {"/data:/mnt:ro+bind+noexec+nodev+nosuid", "/data:/mnt:ro+bind+noexec+nodev+nosuid"},
      {"/data:/mnt:ro+rw", "/data:/mnt:rw+rbind"},
      {"data/x:/mnt", "/home/u/data/x:/mnt:rw+rbind"},
      {"./data", "/home/u/data:/home/u/data:rw+rbind"},
      {"../data", "/home/data:/home/data:rw+rbind"},
      {"tmpfs:/scratch", "tmpfs:/scratch:rw+rbind"},
      {"/a//b/./c/../d/:/x/../../y", "/a/b/d:/y:rw+rbind"},
  };
  for (const auto& row : table) {
    const auto mount = parse_mount(row.in, "/home/u");
    ASSERT_TRUE(mount) << row.in;
    EXPECT_EQ(mount_text(*mount), row.out) << row.in;
    const auto again = parse_mount(row.out, "");
    ASSERT_TRUE(again) << row.out;
    EXPECT_EQ(*again, *mount);
  }
}

TEST(MountSpec, SaysWhatIsWrong) {
  const struct {
    const char *in, *why;
  } table[] = {
      {"", "the source is missing"},
      {":/mnt", "the source is missing"},
      {"/data:", "the target is missing"},
      {"/data:mnt", "the target must be an absolute path"},
      {"/data:/", "the root of the container cannot be mounted over"},
      {"/data:/x/..", "the root of the container cannot be mounted over"},
      {"/data:/mnt:", "no such option: "},
      {"/data:/mnt:ro,rw", "no such option: ro,rw"},
      {"/data:/mnt:shared", "no such option: shared"},
      {"/a:/b:ro:rw", "expected SOURCE:TARGET[:OPTIONS]"},
      {"tmpfs", "the target is missing"},
  };
  for (const auto& row : table) {
    const auto mount = parse_mount(row.in, "/home/u");
    ASSERT_FALSE(mount) << row.in;
    EXPECT_EQ(mount.error().message, std::string("invalid container mount \"") + row.in + "\": " + row.why);
  }
  EXPECT_FALSE(parse_mount("data:/mnt", ""));
}

TEST(MountSpec, ListsAreSeparatedByCommas) {
  const auto mounts = parse_mounts("/a:/b:ro,/c", "/");
  ASSERT_TRUE(mounts);
  ASSERT_EQ(mounts->size(), 2u);
  EXPECT_EQ((*mounts)[1].target, "/c");
  EXPECT_FALSE(parse_mounts("/a:/b,", "/"));
  EXPECT_FALSE(parse_mounts("", "/"));
}

}  // namespace
}  // namespace spur::text
