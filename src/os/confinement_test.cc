// SPDX-License-Identifier: Apache-2.0
#include "os/confinement.h"

#include <gtest/gtest.h>

namespace spur::os {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

ConfinedNode node(ConfinementPolicy policy) {
  return {.policy = std::move(policy),
          .memory_mib = 1000,
          .cpu_numbers = {0, 8, 1, 9, 2, 10},
          .devices = {{"gpu", 0, {{'c', 195, 0}, {'c', 226, 128}}},
                      {"gpu", 1, {{'c', 195, 1}, {'c', 226, 129}}, {"/dev/nvidia1", "/dev/dri/renderD129"}},
                      {"nic", 0, {{'c', 231, 0}, {'c', 10, 99}}},
                      {"nic", 1, {{'c', 231, 1}, {'c', 10, 99}}}}};
}
model::LaunchPart part(std::uint64_t memory_mib) {
  model::LaunchPart out;
  out.cpus = {0, 1, 2, 3};
  out.memory_mib = memory_mib;
  out.devices = {{"gpu", "", {1}}, {"nic", "", {0}}};
  return out;
}

TEST(Confinement, WithoutAPolicyNothingIsLimited) {
  auto limits = limits_of(node({}), part(100));
  EXPECT_EQ(limits.granted.size(), 2u);  // a container still gets their files
  limits.granted.clear();
  EXPECT_EQ(limits, CgroupLimits{});
}

TEST(Confinement, MemoryAsInSlurm) {
  struct Row {
    ConfinementPolicy policy;
    std::uint64_t granted;
    std::optional<std::uint64_t> max, high, swap;  // MiB
  };
  const Row rows[] = {
      {{.ram = true}, 100, 100, {}, {}},
      {{.ram = true, .allowed_ram = 101'500}, 200, 203, 200, {}},
      {{.ram = true, .allowed_ram = 50'000}, 100, 50, {}, {}},
      {{.ram = true}, 10, 30, {}, {}},                       // not below MinRAMSpace
      {{.ram = true, .max_ram = 50'000}, 900, 500, {}, {}},  // nor above MaxRAMPercent
      {{.ram = true, .max_ram = 50'000}, 0, 500, {}, {}},    // without memory of its own
      {{.ram = true, .swap = true}, 100, 100, {}, 0},
      {{.ram = true, .swap = true, .allowed_swap = 50'000}, 100, 100, {}, 50},
      {{.swap = true, .allowed_swap = 50'000}, 100, 150, {}, 0},  // the sum limits both
      {{.swap = true}, 100, 100, {}, 0},
  };
  for (const Row& row : rows) {
    const auto limits = limits_of(node(row.policy), part(row.granted));
    const auto mib = [](auto bytes) { return bytes ? std::optional(*bytes / kMiB) : std::nullopt; };
    const auto at = &row - rows;
    EXPECT_EQ(mib(limits.memory_max), row.max) << at;
    EXPECT_EQ(mib(limits.memory_high), row.high) << at;
    EXPECT_EQ(mib(limits.swap_max), row.swap) << at;
  }
}

TEST(Confinement, CpusInTheKernelsNumbers) {
  EXPECT_EQ(limits_of(node({.cores = true}), part(0)).cpus, "0-1,8-9");
  auto more = part(0);
  more.cpus.push_back(77);  // declared, not there
  EXPECT_EQ(limits_of(node({.cores = true}), more).cpus, "");
  EXPECT_EQ(number_list({3, 1, 2, 7}), "1-3,7");
  EXPECT_EQ(number_list({}), "");
}

TEST(Confinement, DevicesOfOthersAreDenied) {
  const auto limits = limits_of(node({.devices = true}), part(0));
  // What is shared (10:99) is open to whoever has one of its devices.
  EXPECT_EQ(limits.denied, (std::vector<DeviceNumber>{{'c', 195, 0}, {'c', 226, 128}, {'c', 231, 1}}));
  ASSERT_EQ(limits.granted.size(), 2u);
  EXPECT_EQ(limits.granted[0].index, 1u);
  // A step with the GPU alone.
  const auto step = limits_of_step(limits, 0, 0, {{"gpu", "", {1}}});
  EXPECT_EQ(step.denied,
            (std::vector<DeviceNumber>{{'c', 10, 99}, {'c', 231, 0}, {'c', 195, 0}, {'c', 226, 128}, {'c', 231, 1}}));
  EXPECT_EQ(limits_of_step(limits, 0, 0, part(0).devices).denied, limits.denied);
}

TEST(Confinement, AStepHasItsShareOfTheMemory) {
  const auto job = limits_of(node({.ram = true, .swap = true, .allowed_swap = 10'000}), part(400));
  const auto step = limits_of_step(job, 400, 100, {});
  EXPECT_EQ(step.memory_max, 100 * kMiB);
  EXPECT_EQ(step.swap_max, 10 * kMiB);
  EXPECT_EQ(limits_of_step(job, 400, 0, {}).memory_max, std::nullopt);
  EXPECT_EQ(limits_of_step(job, 400, 800, {}).memory_max, std::nullopt);  // the job's holds
}

TEST(Confinement, TravelsAsText) {
  auto full = node({.cores = true, .ram = true, .swap = true, .devices = true, .allowed_ram = 110'000});
  full.policy.max_processes = 500;
  full.policy.io_max = {"8:0 wbps=1048576", "8:16 riops=10"};
  for (const auto& limits : {limits_of(full, part(100)), limits_of(node({.devices = true}), {}), CgroupLimits{}}) {
    const auto back = decode_limits(encode_limits(limits));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, limits) << encode_limits(limits);
  }
  for (const char* bad : {"x", "max=", "max=1x", "deny=d1:2", "deny=c1", "own=gpu=c1:2", "own=gpu/x=c1:2", "what=1"})
    EXPECT_FALSE(decode_limits(bad)) << bad;
}

TEST(Confinement, CpusOfAStep) {
  const CpuMap map{.cpus = {{.os = 0}, {.os = 4}, {.os = 1}, {.os = 5}}};
  EXPECT_EQ(cpuset_of(map, {0, 2}), "0-1");
  EXPECT_EQ(cpuset_of(map, {1, 3}), "4-5");
  EXPECT_EQ(cpuset_of(map, {}), "");
  EXPECT_EQ(cpuset_of(map, {3, 4}), "") << "a node that is declared larger than its machine";
}

}  // namespace
}  // namespace spur::os
