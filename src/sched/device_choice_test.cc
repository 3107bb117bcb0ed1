// SPDX-License-Identifier: Apache-2.0
#include "sched/device_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include "sched/capacity.h"
#include "sched/test_cluster.h"

namespace spur::sched {
namespace {

struct Machine {
  std::vector<std::vector<int>> links;  // between two devices
  std::vector<int> socket;
  std::vector<std::string> type;
};

DeviceGroup group_of(const Machine& machine) {
  TestCluster cluster;
  auto& node = cluster.add_node("n1", 16);
  node.hardware.sockets = 2;
  node.hardware.cores_per_socket = 8;
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    model::NodeGres gpu{"gpu", machine.type[i], 1, ""};
    for (std::size_t k = 0; k < machine.links.size(); ++k)
      gpu.links += (k ? "," : "") + std::to_string(i == k ? -1 : machine.links[i][k]);
    gpu.cores = machine.socket[i] == 0 ? "0-7" : "8-15";
    node.hardware.gres.push_back(gpu);
  }
  cluster.add_partition("p");
  const model::View view = cluster.view();
  return Capacity(view).layout(0).groups.at(0);
}

int links_of(const Machine& machine, std::uint64_t mask) {
  int sum = 0;
  for (std::size_t a = 0; a < machine.links.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if ((mask >> a & 1) && (mask >> b & 1)) sum += machine.links[a][b];
  return sum;
}

Machine random_machine(std::mt19937_64& dice, std::size_t devices, unsigned weights) {
  Machine machine;
  machine.links.assign(devices, std::vector<int>(devices));
  for (std::size_t a = 0; a < devices; ++a) {
    for (std::size_t b = 0; b < a; ++b)
      machine.links[a][b] = machine.links[b][a] = static_cast<int>(dice() % weights);
    machine.socket.push_back(static_cast<int>(dice() % 2));
    machine.type.push_back(dice() % 3 == 0 ? "b" : "a");
  }
  return machine;
}

// On every machine, for every set of free devices and every count: nothing is linked better.
TEST(DeviceChoice, IsTheBestOfAll) {
  std::mt19937_64 dice(1);
  std::size_t choices = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t devices = 1 + dice() % 8;
    const Machine machine = random_machine(dice, devices, round % 2 ? 3 : 100);
    const DeviceGroup group = group_of(machine);
    for (int draw = 0; draw < 20; ++draw) {
      const std::uint64_t free = dice() & ((std::uint64_t{1} << devices) - 1);
      std::uint64_t of_a = 0;
      for (std::size_t d = 0; d < devices; ++d)
        if (machine.type[d] == "a") of_a |= std::uint64_t{1} << d;
      std::vector<DeviceWish> wishes{{~std::uint64_t{0}, 1 + static_cast<std::uint32_t>(dice() % devices)}};
      if (draw % 3 == 0)
        wishes = {{of_a, static_cast<std::uint32_t>(dice() % 3)}, {~of_a, static_cast<std::uint32_t>(dice() % 3)}};

      const std::uint64_t rails = draw % 2 ? kAllRails : dice();
      using Score = std::tuple<int, std::size_t, int, int, std::vector<std::size_t>>;
      std::optional<std::pair<Score, std::uint64_t>> best;
      for (std::uint64_t mask = 1; mask < std::uint64_t{1} << devices; ++mask) {
        bool right = (mask & ~free) == 0;
        std::uint64_t allowed = 0;
        for (const auto& wish : wishes) {
          right = right && std::popcount(mask & wish.allowed) == static_cast<int>(wish.count);
          if (wish.count > 0) allowed |= wish.allowed;
        }
        if (!right || (mask & ~allowed)) continue;
        std::set<int> sockets;
        std::vector<std::size_t> numbers;
        for (std::size_t d = 0; d < devices; ++d)
          if (mask >> d & 1) sockets.insert(machine.socket[d]), numbers.push_back(d);
        const Score score{-links_of(machine, mask), sockets.size(), -std::popcount(mask & rails),
                          -links_of(machine, free & ~mask), numbers};
        if (!best || score < best->first) best = {score, mask};
      }
      ASSERT_EQ(choose_devices(group, free, wishes, rails), best ? best->second : 0) << "round " << round;
      choices += best.has_value();
    }
  }
  EXPECT_GT(choices, 2000u);
}

// Two islands of four: a pair comes from one of them, and from the one that is broken already.
TEST(DeviceChoice, KeepsIslandsWhole) {
  Machine machine;
  machine.links.assign(8, std::vector<int>(8));
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = 0; b < 8; ++b) machine.links[a][b] = a / 4 == b / 4 ? 16 : 1;
    machine.socket.push_back(a < 4 ? 0 : 1);
    machine.type.push_back("");
  }
  const DeviceGroup group = group_of(machine);
  const auto pick = [&](std::uint64_t free, std::uint32_t count) {
    const DeviceWish wish{0xff, count};
    return choose_devices(group, free, {&wish, 1});
  };
  EXPECT_EQ(pick(0b1111'1111, 2), 0b0000'0011u);
  EXPECT_EQ(pick(0b1100'1111, 2), 0b1100'0000u);
  EXPECT_EQ(pick(0b1000'1111, 1), 0b1000'0000u);
  EXPECT_EQ(pick(0b1111'1110, 4), 0b1111'0000u);
  EXPECT_EQ(pick(0b1111'1111, 8), 0b1111'1111u);
  EXPECT_EQ(pick(0b0000'0111, 4), 0u);
}

// More than can be enumerated: islands are still found.
TEST(DeviceChoice, ManyDevices) {
  std::mt19937_64 dice(7);
  for (int round = 0; round < 50; ++round) {
    Machine machine;
    std::vector<int> island;
    for (int d = 0; d < 16; ++d) island.push_back(d / 4);
    std::shuffle(island.begin(), island.end(), dice);
    machine.links.assign(16, std::vector<int>(16));
    for (std::size_t a = 0; a < 16; ++a) {
      for (std::size_t b = 0; b < 16; ++b) machine.links[a][b] = island[a] == island[b] ? 16 : 1;
      machine.socket.push_back(0);
      machine.type.push_back("");
    }
    const DeviceGroup group = group_of(machine);
    const DeviceWish wish{0xffff, 4};
    EXPECT_EQ(links_of(machine, choose_devices(group, 0xffff, {&wish, 1})), 6 * 16);
  }
}

}  // namespace
}  // namespace spur::sched
