// SPDX-License-Identifier: Apache-2.0
#include "agent/step_ledger.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace spur::agent {
namespace {

using Per = model::GresRequest::Per;

model::LaunchPart part(std::uint32_t cpus, std::uint64_t memory = 0, std::uint32_t gpus = 0,
                       std::uint32_t threads = 1) {
  model::LaunchPart out;
  for (std::uint32_t i = 0; i < cpus; ++i) out.cpus.push_back(i);
  out.memory_mib = memory;
  out.threads_per_core = threads;
  if (gpus > 0) {
    out.devices.push_back({"gpu", "", {}, {}});
    for (std::uint32_t i = 0; i < gpus; ++i) out.devices[0].indices.push_back(i);
  }
  return out;
}

StepAsk ask(std::uint32_t tasks, std::vector<std::size_t> nodes = {0}) {
  StepAsk out;
  out.node_count = nodes.size();
  out.nodes = std::move(nodes);
  out.tasks = tasks;
  return out;
}
StepAsk exact(std::uint32_t tasks, std::vector<std::size_t> nodes = {0}) {
  auto out = ask(tasks, std::move(nodes));
  out.exact = true;
  return out;
}
StepAsk with(StepAsk base, model::GresRequest wish) {
  base.gres = {std::move(wish)};
  return base;
}
// "0:2/0,1 1:1/0": node, tasks, CPUs, then devices behind a '+'; or the error.
std::string text(const Result<std::vector<StepShare>>& shares) {
  if (!shares) return shares.error().code == ErrorCode::NodesBusy ? "busy" : shares.error().message;
  std::string out;
  for (const auto& share : *shares) {
    out += (out.empty() ? "" : " ") + std::to_string(share.node) + ":" + std::to_string(share.tasks) + "/";
    for (std::size_t i = 0; i < share.cpus.size(); ++i) out += (i ? "," : "") + std::to_string(share.cpus[i]);
    for (const auto& grant : share.devices)
      for (const auto index : grant.indices) out += "+" + std::to_string(index);
  }
  return out;
}

TEST(StepLedger, AStepTakesItsNodesWholeUnlessItIsExact) {
  StepLedger ledger({part(4)});
  EXPECT_EQ(text(ledger.grant(0, ask(1))), "0:1/0,1,2,3");
  EXPECT_EQ(text(ledger.grant(1, exact(1))), "busy");
  ledger.give_back(0);
  EXPECT_EQ(text(ledger.grant(1, exact(1))), "0:1/0");
  EXPECT_EQ(text(ledger.grant(2, exact(2))), "0:2/1,2");
  EXPECT_EQ(text(ledger.grant(3, exact(2))), "busy");
  EXPECT_EQ(text(ledger.grant(3, ask(1))), "busy");
  ledger.give_back(1);
  EXPECT_EQ(text(ledger.grant(3, exact(2))), "0:2/0,3");
}

TEST(StepLedger, OverlappingStepsAreNotCounted) {
  StepLedger ledger({part(2)});
  auto overlap = ask(2);
  overlap.overlap = true;
  EXPECT_EQ(text(ledger.grant(0, overlap)), "0:2/0,1");
  EXPECT_TRUE(ledger.idle());
  EXPECT_EQ(text(ledger.grant(1, ask(1))), "0:1/0,1");
  EXPECT_EQ(text(ledger.grant(2, overlap)), "0:2/0,1");
  ledger.give_back(2);
  EXPECT_EQ(text(ledger.grant(3, ask(1))), "busy");
}

TEST(StepLedger, CoresAreNotShared) {
  StepLedger ledger({part(8, 0, 0, 2)});
  EXPECT_EQ(text(ledger.grant(0, exact(1))), "0:1/0,1");
  EXPECT_EQ(text(ledger.grant(1, exact(3))), "0:3/2,3,4,5");
  EXPECT_EQ(text(ledger.grant(2, exact(2))), "0:2/6,7");
  EXPECT_EQ(text(ledger.grant(3, exact(1))), "busy");
}

TEST(StepLedger, WhatNeverFitsIsRefused) {
  StepLedger ledger({part(4, 1000, 2)});
  EXPECT_EQ(text(ledger.grant(0, ask(5))), "More processors requested than permitted");
  auto wide = exact(1);
  wide.cpus_per_task = 9;
  EXPECT_EQ(text(ledger.grant(0, wide)), "More processors requested than permitted");
  auto hungry = ask(1);
  hungry.memory_per_node_mib = 1001;
  EXPECT_EQ(text(ledger.grant(0, hungry)), "Memory required by task is not available");
  EXPECT_EQ(text(ledger.grant(0, with(exact(1), {"gpu", "", 3, Per::Node}))),
            "Invalid generic resource (gres) specification");
  EXPECT_EQ(text(ledger.grant(0, with(exact(3), {"gpu", "", 1, Per::Task}))),
            "Invalid generic resource (gres) specification");
  EXPECT_EQ(text(ledger.grant(0, with(exact(1), {"fpga", "", 1, Per::Node}))),
            "Invalid generic resource (gres) specification");
  auto many = ask(5);
  many.overcommit = true;
  EXPECT_EQ(text(ledger.grant(0, many)), "0:5/0,1,2,3+0+1");
}

TEST(StepLedger, MemoryIsSharedOut) {
  StepLedger ledger({part(4, 1000)});
  auto big = exact(1);
  big.memory_per_node_mib = 600;
  EXPECT_EQ(text(ledger.grant(0, big)), "0:1/0");
  EXPECT_EQ(text(ledger.grant(1, big)), "busy");
  auto small = exact(1);
  small.memory_per_cpu_mib = 400;
  EXPECT_EQ(text(ledger.grant(1, small)), "0:1/1");
  EXPECT_EQ(text(ledger.grant(2, small)), "busy");
  EXPECT_EQ(text(ledger.grant(2, exact(1))), "0:1/2");  // asks for none
  ledger.give_back(0);
  EXPECT_EQ(text(ledger.grant(3, big)), "0:1/0");
}

TEST(StepLedger, DevicesGoByNumber) {
  StepLedger ledger({part(8, 0, 4)});
  EXPECT_EQ(text(ledger.grant(0, with(exact(1), {"gpu", "", 1, Per::Node}))), "0:1/0+0");
  EXPECT_EQ(text(ledger.grant(1, with(exact(2), {"gpu", "", 1, Per::Task}))), "0:2/1,2+1+2");
  EXPECT_EQ(text(ledger.grant(2, with(exact(1), {"gpu", "", 2, Per::Job}))), "busy");
  auto none = exact(1);
  none.gres.emplace();
  EXPECT_EQ(text(ledger.grant(2, none)), "0:1/3");
  EXPECT_EQ(text(ledger.grant(3, exact(1))), "busy");  // all devices that the job has
  ledger.give_back(0);
  EXPECT_EQ(text(ledger.grant(3, with(exact(1), {"gpu", "", 2, Per::Job}))), "0:1/0+0+3");
  auto per_gpu = with(exact(1), {"gpu", "", 2, Per::Node});
  per_gpu.cpus_per_gpu = 2;
  ledger.give_back(1);
  EXPECT_EQ(text(ledger.grant(4, per_gpu)), "0:1/1,2,4,5+1+2");
}

TEST(StepLedger, SharesOfDevices) {
  auto shared = part(4);
  shared.devices.push_back({"shard", "", {0, 1}, {3, 2}});
  StepLedger ledger({shared});
  const auto two = with(exact(1), {"shard", "", 2, Per::Node});
  auto first = ledger.grant(0, two);
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)[0].devices, (std::vector<model::DeviceGrant>{{"shard", "", {0}, {2}}}));
  auto second = ledger.grant(1, two);
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)[0].devices, (std::vector<model::DeviceGrant>{{"shard", "", {0, 1}, {1, 1}}}));
  EXPECT_EQ(text(ledger.grant(2, two)), "busy");
}

TEST(StepLedger, NodesWithRoomAreChosen) {
  StepLedger ledger({part(2), part(2), part(4)});
  auto one = exact(2, {0, 1, 2});
  one.node_count = 1;
  EXPECT_EQ(text(ledger.grant(0, one)), "0:2/0,1");
  EXPECT_EQ(text(ledger.grant(1, one)), "1:2/0,1");
  auto three = exact(3, {0, 1, 2});
  three.node_count = 1;
  EXPECT_EQ(text(ledger.grant(2, three)), "2:3/0,1,2");
  EXPECT_EQ(text(ledger.grant(3, one)), "busy");
  auto named = exact(1, {1, 0, 2});
  named.required = named.node_count = 1;
  EXPECT_EQ(text(ledger.grant(3, named)), "busy");
  ledger.give_back(1);
  EXPECT_EQ(text(ledger.grant(3, named)), "1:1/0");
  ledger.give_back(3);
  auto fixed = exact(3, {0, 1});
  fixed.tasks_per_node = {1, 2};
  EXPECT_EQ(text(ledger.grant(4, fixed)), "busy");
  ledger.give_back(0);
  EXPECT_EQ(text(ledger.grant(4, fixed)), "0:1/0 1:2/0,1");
}

// Steps of all kinds come and go: nothing is ever held twice, and when all have gone everything is back.
TEST(StepLedger, NeverGrantsTwiceAlwaysReturns) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](std::uint32_t from, std::uint32_t to) {
      return std::uniform_int_distribution(from, to)(random);
    };
    std::vector<model::LaunchPart> parts;
    for (std::uint32_t n = pick(1, 4); n > 0; --n)
      parts.push_back(part(2 * pick(1, 6), pick(0, 1) * 1000, pick(0, 4), pick(1, 2)));
    StepLedger ledger(parts);
    std::map<std::uint32_t, std::vector<StepShare>> running;
    std::uint32_t next = 0, granted = 0;
    for (int turn = 0; turn < 100; ++turn) {
      if (!running.empty() && pick(0, 2) == 0) {
        const auto it = std::next(running.begin(), pick(0, static_cast<std::uint32_t>(running.size()) - 1));
        ledger.give_back(it->first);
        running.erase(it);
        continue;
      }
      StepAsk wish;
      for (std::size_t n = 0; n < parts.size(); ++n) wish.nodes.push_back(n);
      wish.node_count = pick(1, static_cast<std::uint32_t>(parts.size()));
      wish.required = pick(0, static_cast<std::uint32_t>(wish.node_count));
      wish.tasks = static_cast<std::uint32_t>(wish.node_count) + pick(0, 3);
      wish.cpus_per_task = pick(1, 2);
      wish.exact = pick(0, 4) > 0;
      wish.overlap = pick(0, 5) == 0;
      wish.overcommit = pick(0, 5) == 0;
      if (pick(0, 1)) wish.memory_per_node_mib = pick(0, 300);
      if (pick(0, 3) == 0) wish.memory_per_cpu_mib = pick(1, 100);
      if (pick(0, 3)) wish.gres.emplace();
      if (wish.gres && pick(0, 1)) wish.gres->push_back({"gpu", "", pick(1, 2), static_cast<Per>(pick(0, 2))});
      const std::uint32_t step = next++;
      const auto got = ledger.grant(step, wish);
      if (!got) continue;
      ++granted;
      ASSERT_EQ(got->size(), wish.node_count);
      std::uint32_t tasks = 0;
      for (const auto& share : *got) tasks += share.tasks;
      ASSERT_EQ(tasks, wish.tasks);
      if (wish.overlap) continue;
      running.emplace(step, *got);
      std::map<std::size_t, std::uint64_t> memory;
      std::set<std::pair<std::size_t, std::uint32_t>> cpus, devices;
      for (const auto& [id, shares] : running)
        for (const auto& share : shares) {
          memory[share.node] += share.memory_mib;
          for (const auto cpu : share.cpus) ASSERT_TRUE(cpus.emplace(share.node, cpu).second) << "seed " << seed;
          for (const auto& grant : share.devices)
            for (const auto index : grant.indices)
              ASSERT_TRUE(devices.emplace(share.node, index).second) << "seed " << seed;
        }
      for (const auto& [node, sum] : memory)
        if (parts[node].memory_mib > 0) {
          ASSERT_LE(sum, parts[node].memory_mib) << "seed " << seed;
        }
    }
    EXPECT_GT(granted, 0u);
    for (const auto& [step, shares] : running) ledger.give_back(step);
    std::vector<std::size_t> all;
    for (std::size_t n = 0; n < parts.size(); ++n) all.push_back(n);
    const auto whole = ledger.grant(next, ask(static_cast<std::uint32_t>(all.size()), all));
    ASSERT_TRUE(whole) << "seed " << seed;
    for (const auto& share : *whole) EXPECT_EQ(share.cpus.size(), parts[share.node].cpus.size());
  }
}

}  // namespace
}  // namespace spur::agent
