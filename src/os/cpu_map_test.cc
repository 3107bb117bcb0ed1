// SPDX-License-Identifier: Apache-2.0
#include "os/cpu_map.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "os/test_directory.h"

namespace spur::os {
namespace {

// Two sockets of two cores of two threads, numbered as usual: the second threads come last.
TEST(CpuMap, OrdersBySocketCoreAndThread) {
  TestDirectory dir;
  const auto write = [&](const std::string& path, const std::string& text) {
    const std::filesystem::path file = dir / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  };
  write("cpu/online", "0-7");
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string place = "cpu/cpu" + std::to_string(cpu) + "/topology/";
    write(place + "physical_package_id", std::to_string(cpu % 4 / 2));
    write(place + "core_id", std::to_string(cpu % 2));
  }
  write("node/online", "0-1");
  write("node/node0/cpulist", "0-1,4-5");
  write("node/node1/cpulist", "2-3,6-7");
  std::vector<std::uint32_t> order, numa;
  for (const CpuPlace& cpu : read_cpu_map(dir.path()).cpus) {
    order.push_back(cpu.os);
    numa.push_back(cpu.numa);
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(numa, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(CpuMap, OfThisMachine) {
  EXPECT_FALSE(read_cpu_map().cpus.empty());
  EXPECT_TRUE(read_cpu_map("/nonexistent").cpus.empty());
}

}  // namespace
}  // namespace spur::os
