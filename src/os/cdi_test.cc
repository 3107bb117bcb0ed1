// SPDX-License-Identifier: Apache-2.0
#include "os/cdi.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "os/test_directory.h"

namespace spur::os {
namespace {

constexpr const char* kSpec = R"({
  "cdiVersion": "0.5.0", "kind": "nvidia.com/gpu",
  "devices": [
    {"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}, {"path": "/x", "hostPath": "/dev/dri/card0"}],
                                     "env": ["A=1"]}},
    {"name": "all"}],
  "containerEdits": {"deviceNodes": [{"path": "/dev/nvidiactl"}],
                     "mounts": [{"hostPath": "/usr/lib/libcuda.so", "containerPath": "/lib/libcuda.so"}]}
})";

TEST(Cdi, IsRead) {
  const auto devices = parse_cdi(kSpec);
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_EQ(devices->size(), 2u);
  EXPECT_EQ((*devices)[0].kind, "nvidia.com/gpu");
  EXPECT_EQ((*devices)[0].files, (std::vector<std::string>{"/dev/nvidia0", "/dev/dri/card0", "/dev/nvidiactl"}));
  EXPECT_EQ((*devices)[0].environment, std::vector<std::string>{"A=1"});
  EXPECT_EQ((*devices)[1].mounts, std::vector<std::string>{"/usr/lib/libcuda.so:/lib/libcuda.so"});
}

TEST(Cdi, WhatIsNoSpecificationIsRefused) {
  for (const char* bad :
       {"", "[]", "{", R"({"kind": "a/b", "devices": []})", R"({"cdiVersion": "1", "kind": "ab", "devices": []})",
        R"({"cdiVersion": "1", "kind": "a/b"})", R"({"cdiVersion": "1", "kind": "a/b", "devices": [{}]})",
        R"({"cdiVersion": 1, "kind": "a/b", "devices": []})"})
    EXPECT_FALSE(parse_cdi(bad)) << bad;
}

TEST(Cdi, DirectoriesOneAfterTheOther) {
  const TestDirectory dir;
  std::filesystem::create_directories(dir / "a");
  std::filesystem::create_directories(dir / "b");
  std::ofstream(dir / "a/x.json") << kSpec;
  std::ofstream(dir / "a/broken.json") << "{";
  std::ofstream(dir / "a/notes.txt") << "{";
  std::ofstream(dir / "b/x.json")
      << R"({"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [{"name": "0"}]})";
  std::ofstream(dir / "b/y.yaml") << "cdiVersion: 0.5.0\nkind: amd.com/gpu\ndevices:\n- name: \"1\"\n";
  std::vector<std::string> problems;
  const auto devices = read_cdi({dir / "a", dir / "none", dir / "b"}, &problems);
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[2].kind, "amd.com/gpu");
  EXPECT_EQ(devices[0].name, "all");
  EXPECT_TRUE(devices[1].files.empty());  // the later one counts
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_TRUE(problems[0].starts_with(dir / "a/broken.json"));
}

TEST(Cdi, IsWrittenSoThatItCanBeRead) {
  std::vector<Gpu> gpus(3);
  gpus[0].vendor = gpus[2].vendor = "amd";
  gpus[1].vendor = "nvidia";
  gpus[0].files = {"/dev/dri/renderD128", "/dev/dri/card0"};
  gpus[2].files = {"/dev/dri/renderD129"};
  const auto devices = parse_cdi(write_cdi("amd", gpus));
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_EQ(devices->size(), 2u);
  EXPECT_EQ((*devices)[1].kind, "amd.com/gpu");
  EXPECT_EQ((*devices)[1].name, "1");
  EXPECT_EQ((*devices)[0].files, (std::vector<std::string>{"/dev/dri/renderD128", "/dev/dri/card0", "/dev/kfd"}));
}

}  // namespace
}  // namespace spur::os
