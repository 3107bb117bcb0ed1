// SPDX-License-Identifier: Apache-2.0
#include "sched/fragmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

namespace spur::sched {
namespace {

GpuShape shape(std::int64_t cpu, std::uint32_t gpus, std::uint32_t share, std::uint64_t weight = 1) {
  return {cpu, 0, gpus, share, ~0ull, weight};
}

// The definition, word by word: copies of the shape come one after another, each on the devices with most left that
// no other copy has.
std::int64_t by_definition(const GpuNode& node, const GpuShape& m, Measure measure) {
  std::int64_t idle = 0;
  for (const auto free : node.free) idle += free;
  if (m.gpus == 0) return idle;
  GpuNode left = node;
  std::vector<bool> of_use(node.free.size(), false);
  const auto devices_for = [&] {
    std::vector<std::size_t> enough;
    for (std::size_t g = 0; g < node.free.size(); ++g)
      if (!of_use[g] && node.free[g] >= m.share) enough.push_back(g);
    std::ranges::stable_sort(enough, std::greater<>(), [&](std::size_t g) { return node.free[g]; });
    return enough;
  };
  const bool model_will_do = m.models >> node.model & 1;
  if (!model_will_do || left.cpu < m.cpu || left.memory < m.memory || devices_for().size() < m.gpus) return idle;
  if (measure == Measure::OneCopy) {
    for (const auto g : devices_for()) of_use[g] = true;
  } else {
    while (left.cpu >= m.cpu && left.memory >= m.memory && devices_for().size() >= m.gpus) {
      left.cpu -= m.cpu;
      left.memory -= m.memory;
      const auto devices = devices_for();
      for (std::uint32_t i = 0; i < m.gpus; ++i) of_use[devices[i]] = true;
    }
  }
  for (std::size_t g = 0; g < node.free.size(); ++g)
    if (of_use[g]) idle -= node.free[g];
  return idle;
}

class Instances {
 public:
  explicit Instances(unsigned seed) : random_(seed) {}
  std::uint32_t upto(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % (n + 1)); }
  GpuNode node() {
    GpuNode node{upto(40), upto(40), upto(2), {}};
    for (std::uint32_t g = upto(8); g > 0; --g) node.free.push_back(upto(3) == 0 ? kWholeGpu : upto(10) * 100);
    return node;
  }
  GpuShape shape() {
    GpuShape s{upto(12), upto(12), upto(3), kWholeGpu, ~0ull, 1 + upto(9)};
    if (s.gpus < 2 && upto(1)) s.share = 100 + upto(9) * 100;
    if (upto(3) == 0) s.models = upto(7);
    return s;
  }
  std::vector<GpuShape> shapes() {
    std::vector<GpuShape> all(1 + upto(5));
    for (auto& s : all) s = shape();
    return all;
  }

 private:
  std::mt19937 random_;
};

TEST(Fragmentation, IsWhatTheDefinitionSays) {
  Instances random(1);
  for (int round = 0; round < 20'000; ++round) {
    const GpuNode node = random.node();
    const auto popular = random.shapes();
    for (const Measure measure : {Measure::OneCopy, Measure::AllCopies}) {
      std::int64_t expected = 0;
      for (const auto& m : popular) expected += static_cast<std::int64_t>(m.weight) * by_definition(node, m, measure);
      ASSERT_EQ(fragmentation(node, popular, measure), expected) << round;
    }
  }
}

TEST(Fragmentation, ChoosesTheDevicesThatGrowItLeast) {
  Instances random(2);
  for (int round = 0; round < 5'000; ++round) {
    const GpuNode node = random.node();
    const auto popular = random.shapes();
    const GpuShape wish = random.shape();
    const auto choice = choose_devices(node, wish, popular);
    ASSERT_EQ(choice.has_value(), fits(node, wish));
    if (!choice) continue;
    const std::int64_t before = fragmentation(node, popular);
    GpuNode after = node;
    take(after, wish, choice->devices);
    ASSERT_EQ(std::popcount(choice->devices), static_cast<int>(wish.gpus));
    ASSERT_EQ(choice->growth, fragmentation(after, popular) - before);
    give_back(after, wish, choice->devices);
    ASSERT_EQ(after.free, node.free);
    // One device: none is better. (Several are whole ones, which are all alike.)
    if (wish.gpus != 1) continue;
    for (std::size_t g = 0; g < node.free.size(); ++g) {
      if (node.free[g] < wish.share) continue;
      GpuNode other = node;
      take(other, wish, std::uint64_t{1} << g);
      ASSERT_GE(fragmentation(other, popular) - before, choice->growth);
    }
  }
}

TEST(Fragmentation, SeesCpusRunOut) {
  // Four whole GPUs, but CPUs for one more job only.
  const GpuNode node{10, 100, 0, {1000, 1000, 1000, 1000}};
  const std::vector<GpuShape> popular = {shape(8, 1, 1000)};
  EXPECT_EQ(fragmentation(node, popular, Measure::OneCopy), 0);
  EXPECT_EQ(fragmentation(node, popular, Measure::AllCopies), 3000);
}

TEST(Fragmentation, AShareGoesBesideAnother) {
  const GpuNode node{64, 100, 0, {1000, 700, 1000}};
  const auto choice = choose_devices(node, shape(1, 1, 300), std::vector<GpuShape>{shape(1, 1, 1000)});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->devices, 0b010u);
  EXPECT_EQ(choice->growth, -300);
}

TEST(Fragmentation, AnotherModelWillNotDo) {
  const GpuNode node{64, 100, 3, {1000}};
  GpuShape wish = shape(1, 1, 1000);
  wish.models = 1u << 2;
  EXPECT_FALSE(choose_devices(node, wish, {}));
  EXPECT_EQ(fragmentation(node, std::vector<GpuShape>{wish}), 1000);
  wish.models |= 1u << 3;
  EXPECT_TRUE(choose_devices(node, wish, {}));
}

TEST(Fragmentation, PopularShapesCoverTheirPart) {
  std::vector<GpuShape> requests(90, shape(1, 1, 500));
  requests.insert(requests.end(), 6, shape(2, 1, 1000));
  requests.insert(requests.begin(), 4, shape(3, 8, 1000));
  const auto popular = popular_shapes(requests);
  ASSERT_EQ(popular.size(), 2u);
  EXPECT_EQ(popular[0].weight, 90u);
  EXPECT_EQ(popular[1].weight, 6u);
  EXPECT_EQ(popular_shapes(requests, 100).size(), 3u);
  std::ranges::reverse(requests);
  EXPECT_EQ(popular_shapes(requests)[1].cpu, 2);
  EXPECT_TRUE(popular_shapes({}).empty());
}

TEST(Fragmentation, ScorerRemembersStatesNotNodes) {
  GpuScorer scorer({shape(4, 1, 1000)});
  const GpuNode idle{64, 100, 0, {1000, 1000}};
  for (int node = 0; node < 1000; ++node) {
    const auto choice = scorer.choose(idle, shape(4, 1, 500));
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->devices, 1u);
  }
  EXPECT_EQ(scorer.worked_out(), 1u);
  Instances random(3);
  for (int round = 0; round < 2'000; ++round) {
    const GpuNode node = random.node();
    const GpuShape wish = random.shape();
    const auto remembered = scorer.choose(node, wish), anew = choose_devices(node, wish, scorer.popular());
    ASSERT_EQ(remembered.has_value(), anew.has_value());
    if (!anew) continue;
    ASSERT_EQ(remembered->devices, anew->devices);
    ASSERT_EQ(remembered->growth, anew->growth);
  }
}

}  // namespace
}  // namespace spur::sched
