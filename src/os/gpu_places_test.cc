// SPDX-License-Identifier: Apache-2.0
#include "os/gpu_places.h"

#include <gtest/gtest.h>

namespace spur::os {
namespace {

model::NodeGres row(std::string name, std::uint64_t count, std::string cores) {
  model::NodeGres out;
  out.name = std::move(name);
  out.count = count;
  out.cores = std::move(cores);
  return out;
}
using Lists = std::vector<std::vector<std::uint32_t>>;

TEST(GpuPlaces, ThereAndBack) {
  const auto text =
      encode_gpu_cores({row("gpu", 2, "0-1"), row("nic", 1, "3"), row("gpu", 1, ""), row("gpu", 1, "1,2")});
  EXPECT_EQ(text, "0-1;0-1;;1,2");
  // Two sockets of two cores of two threads, whose second threads the kernel counts last.
  CpuMap map;
  for (std::uint32_t core = 0; core < 4; ++core)
    for (std::uint32_t thread = 0; thread < 2; ++thread)
      map.cpus.push_back({.os = core + 4 * thread, .socket = core / 2, .core = core % 2, .numa = core / 2});
  EXPECT_EQ(decode_gpu_cpus(text, map), (Lists{{0, 1, 4, 5}, {0, 1, 4, 5}, {}, {1, 2, 5, 6}}));
  EXPECT_EQ(decode_gpu_cpus("9;x;3", map), (Lists{{}, {}, {3, 7}}));
  EXPECT_TRUE(decode_gpu_cpus("", map).empty());
  EXPECT_EQ(encode_gpu_cores({row("gpu", 3, "")}), "");
}

}  // namespace
}  // namespace spur::os
