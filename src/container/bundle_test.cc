// SPDX-License-Identifier: Apache-2.0
#include "container/bundle.h"

#include <gtest/gtest.h>

namespace spur::container {
namespace {

TEST(Bundle, TakesWhatRuncMakes) {
  const auto bundle = parse_bundle(R"({"ociVersion":"1.0.2","process":{"terminal":true,"user":{"uid":0},"args":["sh"],
    "env":["PATH=/bin"],"cwd":"/w"},"root":{"path":"rootfs","readonly":true},"hostname":"box",
    "mounts":[{"destination":"/proc","type":"proc","source":"proc"},
              {"destination":"/dev","type":"tmpfs","source":"tmpfs","options":["nosuid","mode=755","size=65536k"]},
              {"destination":"/data","type":"bind","source":"data","options":["rbind","ro","rprivate"]},
              {"destination":"/scratch","type":"tmpfs","options":["noexec","size=1m"]}],
    "linux":{"namespaces":[{"type":"pid"}],"maskedPaths":["/proc/kcore"],"readonlyPaths":["/proc/sys"]}})",
                                   "/b");
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(bundle->root, "rootfs");
  EXPECT_TRUE(bundle->readonly);
  EXPECT_EQ(bundle->hostname, "box");
  EXPECT_EQ(bundle->workdir, "/w");
  ASSERT_EQ(bundle->mounts.size(), 2u);
  EXPECT_EQ(text::mount_text(bundle->mounts[0]), "/b/data:/data:ro+rbind");
  EXPECT_EQ(text::mount_text(bundle->mounts[1]), "tmpfs:/scratch:rw+rbind+noexec");
  EXPECT_EQ(bundle->masked, std::vector<std::string>{"/proc/kcore"});
}

TEST(Bundle, SaysWhatItCannotDo) {
  const struct {
    const char *in, *why;
  } table[] = {
      {"", "config.json is not valid: it is no JSON object"},
      {"{}", "config.json is not valid: ociVersion is missing"},
      {R"({"ociVersion":"1"})", "config.json is not valid: root.path is missing"},
      {R"({"ociVersion":"1","root":{"path":"r"},"hooks":{"prestart":[{"path":"/x"}]}})",
       "config.json: the hook prestart is not supported"},
      {R"({"ociVersion":"1","root":{"path":"r"},"mounts":[{"destination":"/x","type":"nfs"}]})",
       "config.json: a mount of type nfs is not supported"},
      {R"({"ociVersion":"1","root":{"path":"r"},"mounts":[{"destination":"x","type":"bind"}]})",
       "config.json is not valid: a mount's destination is not absolute: x"},
      {R"({"ociVersion":"1","root":{"path":"r"},"mounts":[{"destination":"/x","type":"bind","source":"/","options":["idmap"]}]})",
       "config.json: the mount option idmap is not supported"},
      {R"({"ociVersion":"1","root":{"path":"r"},"linux":{"devices":[{"path":"/dev/sda"}]}})",
       "config.json: linux.devices is not supported"},
  };
  for (const auto& row : table) {
    const auto bundle = parse_bundle(row.in, "/b");
    ASSERT_FALSE(bundle) << row.in;
    EXPECT_EQ(bundle.error().message, row.why);
  }
}

}  // namespace
}  // namespace spur::container
