// SPDX-License-Identifier: Apache-2.0
// Starts on cores that others have, and what the books of the node say meanwhile.
#include "model/core_sharing.h"

#include <gtest/gtest.h>

#include "state/test_world.h"

namespace spur::state {
namespace {

using model::OverSubscribe;

struct SharingWorld : World {
  SharingWorld(OverSubscribe how, std::uint32_t count) : World(1) {
    auto config = *view().config;
    config.partitions[0].oversubscribe = how;
    config.partitions[0].oversubscribe_count = count;
    auto other = config.partitions[0];
    other.name = "other";
    other.is_default = false;
    config.partitions.push_back(other);
    must(SetConfig{config});
  }
  std::uint32_t submitted(bool asks, model::Exclusive exclusive = model::Exclusive::No) {
    auto wish = spec();
    wish.oversubscribe = asks;
    wish.exclusive = exclusive;
    return submit(wish);
  }
  bool starts(std::uint32_t job, std::vector<model::CpuNumber> cpus, const char* partition = "main") {
    auto allocation = std::make_shared<model::Allocation>(*on(0, std::move(cpus)));
    allocation->partition = partition;
    return run(StartJob{JobId{job}, {}, allocation}).status.has_value();
  }
  std::uint32_t cpus_allocated() { return node("n1").cpus_allocated; }
};

TEST(CoreSharing, ForceLetsSoManyJobsHaveACore) {
  SharingWorld w(OverSubscribe::Force, 2);
  const auto a = w.submitted(false), b = w.submitted(false), c = w.submitted(false);
  EXPECT_TRUE(w.starts(a, {0, 1}));
  EXPECT_TRUE(w.starts(b, {1, 2}));
  EXPECT_EQ(w.cpus_allocated(), 3u);
  EXPECT_FALSE(w.starts(c, {1}));
  EXPECT_TRUE(w.job(b).flags & model::kSharesCores);
  w.done(a, "n1");
  EXPECT_EQ(w.cpus_allocated(), 2u);
  EXPECT_TRUE(w.starts(c, {0, 1}));
  EXPECT_EQ(w.cpus_allocated(), 3u);
  w.done(b, "n1");
  w.done(c, "n1");
  EXPECT_EQ(w.cpus_allocated(), 0u);
}

TEST(CoreSharing, WhoSharesWithWhom) {
  struct Row {
    OverSubscribe how;
    std::uint32_t count;
    bool first_asks, second_asks;
    model::Exclusive second;
    const char* partition;
    bool together;
  };
  using model::Exclusive;
  const Row rows[] = {
      {OverSubscribe::No, 1, true, true, Exclusive::No, "main", false},
      {OverSubscribe::Yes, 4, true, true, Exclusive::No, "main", true},
      {OverSubscribe::Yes, 4, true, false, Exclusive::No, "main", false},
      {OverSubscribe::Yes, 4, false, true, Exclusive::No, "main", false},
      {OverSubscribe::Yes, 1, true, true, Exclusive::No, "main", false},
      {OverSubscribe::Force, 4, false, true, Exclusive::No, "main", true},
      {OverSubscribe::Force, 1, false, false, Exclusive::No, "main", false},
      {OverSubscribe::Force, 4, false, false, Exclusive::Node, "main", false},
      {OverSubscribe::Force, 4, false, false, Exclusive::User, "main", true},
      {OverSubscribe::Force, 4, false, false, Exclusive::No, "other", false},
  };
  for (const Row& row : rows) {
    SharingWorld w(row.how, row.count);
    const auto a = w.submitted(row.first_asks), b = w.submitted(row.second_asks, row.second);
    EXPECT_TRUE(w.starts(a, {0}));
    EXPECT_EQ(w.starts(b, {0}, row.partition), row.together) << static_cast<int>(row.how) << row.partition;
  }
}

TEST(CoreSharing, MemoryIsNotShared) {
  SharingWorld w(OverSubscribe::Force, 4);
  auto config = *w.view().config;
  config.memory_as = model::MemoryAs::Consumable;
  w.must(SetConfig{config});
  const auto memory = w.node("n1").hardware.memory_mib;
  const auto start = [&](std::uint32_t job, std::uint64_t mib) {
    auto allocation = std::make_shared<model::Allocation>(*World::on(0, {0}));
    allocation->nodes[0].memory_mib = mib;
    return w.run(StartJob{JobId{job}, {}, allocation}).status.has_value();
  };
  EXPECT_TRUE(start(w.submitted(false), memory - 1));
  const auto second = w.submitted(false);
  EXPECT_FALSE(start(second, 2));
  EXPECT_TRUE(start(second, 1));
}

TEST(CoreSharing, ASuspendedOneRunsOnBesideWhoeverCame) {
  SharingWorld w(OverSubscribe::Force, 2);
  const auto a = w.submitted(false), b = w.submitted(false), c = w.submitted(false);
  EXPECT_TRUE(w.starts(a, {0}));
  EXPECT_TRUE(w.starts(b, {0}));
  w.must(SuspendJob{target(a)});
  EXPECT_EQ(w.cpus_allocated(), 1u);
  EXPECT_TRUE(w.starts(c, {0}));
  w.refusal(ResumeJob{target(a)});
  w.done(b, "n1");
  w.must(ResumeJob{target(a)});
  EXPECT_EQ(w.cpus_allocated(), 1u);
}

TEST(CoreSharing, WhoRunsGoesOnSharingWhenThePartitionDoesNoLonger) {
  SharingWorld w(OverSubscribe::Force, 3);
  const auto a = w.submitted(false), b = w.submitted(false), c = w.submitted(false);
  EXPECT_TRUE(w.starts(a, {0}));
  EXPECT_TRUE(w.starts(b, {0}));
  auto config = *w.view().config;
  for (auto& partition : config.partitions) partition.oversubscribe = OverSubscribe::No;
  w.must(SetConfig{config});
  EXPECT_FALSE(w.starts(c, {0}));
  w.done(a, "n1");
  EXPECT_FALSE(w.starts(c, {0}));
  w.done(b, "n1");
  EXPECT_TRUE(w.starts(c, {0}));
  EXPECT_FALSE(w.job(c).flags & model::kSharesCores);
}

}  // namespace
}  // namespace spur::state
