// SPDX-License-Identifier: Apache-2.0
#include "sched/end_index.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace spur::sched {
namespace {

using End = EndIndex::End;

std::vector<End> walk(const EndIndex& index, std::int32_t cpus) {
  std::vector<End> found;
  EndIndex::Cursor cursor(index);
  for (cursor.skip_below(cpus); const End* end = cursor.get(); cursor.skip_below(cpus)) {
    found.push_back(*end);
    cursor.next();
  }
  return found;
}

TEST(EndIndex, Empty) {
  EndIndex index;
  EXPECT_TRUE(walk(index, 0).empty());
  index.add({from_unix_seconds(5), 1, 2});
  EXPECT_EQ(walk(index, 0).size(), 1u);
  EXPECT_TRUE(walk(index, 3).empty());
  index.remove(from_unix_seconds(5), 1);
  EXPECT_EQ(index.size(), 0u);
  EXPECT_TRUE(walk(index, 0).empty());
}

// Large enough for many blocks, which grow, split and vanish.
TEST(EndIndex, IsAnOrderedSet) {
  std::mt19937 random(3);
  EndIndex index;
  std::set<End> model;
  const auto any = [&] {
    return End{from_unix_seconds(random() % 2000), static_cast<NodeNumber>(random() % 50),
               static_cast<std::int32_t>(random() % 8)};
  };
  std::vector<End> first;
  while (model.size() < 3000)
    if (const End end = any(); model.insert(end).second) first.push_back(end);
  index.assign(first);
  const auto check = [&] {
    ASSERT_EQ(index.size(), model.size());
    ASSERT_EQ(walk(index, 0), std::vector<End>(model.begin(), model.end()));
    std::vector<End> some;
    for (const End& end : model)
      if (end.cpus >= 6) some.push_back(end);
    ASSERT_EQ(walk(index, 6), some);
  };
  for (int round = 0; round < 20; ++round) {
    ASSERT_NO_FATAL_FAILURE(check());
    const auto node = static_cast<NodeNumber>(random() % 50);
    std::vector<Time> times;
    for (const End& end : model)
      if (end.node == node) times.push_back(end.at);
    std::vector<std::int32_t> cpus(times.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
      cpus[i] = static_cast<std::int32_t>(random() % 8);
      model.erase({times[i], node, 0});
      model.insert({times[i], node, cpus[i]});
    }
    index.set_cpus(node, times, [&](std::size_t i) { return cpus[i]; });
    ASSERT_NO_FATAL_FAILURE(check());
    for (int i = 0; i < 1000; ++i) {
      const bool shrink = round >= 10;
      if (!model.empty() && random() % 4 < (shrink ? 3u : 1u)) {
        auto at = model.lower_bound(any());
        if (at == model.end()) at = model.begin();
        index.remove(at->at, at->node);
        model.erase(at);
      } else if (const End end = any(); model.insert(end).second) {
        index.add(end);
      }
    }
  }
  while (!model.empty()) {
    index.remove(model.begin()->at, model.begin()->node);
    model.erase(model.begin());
  }
  check();
}

}  // namespace
}  // namespace spur::sched
