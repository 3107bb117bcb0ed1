// SPDX-License-Identifier: Apache-2.0
#include "sched/turns.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace spur::sched {
namespace {

TEST(Turns, Empty) {
  Turns turns;
  EXPECT_TRUE(turns.empty());
  EXPECT_EQ(turns.begin(), turns.end());
  EXPECT_EQ(turns.lower_bound([](const Turn&) { return true; }), turns.end());
  turns.insert({5, JobId(1), 7});
  EXPECT_EQ(turns.begin()->slot, 7u);
  turns.erase({5, JobId(1), 7});
  EXPECT_EQ(turns.begin(), turns.end());
}

// Large enough for many blocks: filled mostly at the end, emptied mostly at the front, as a queue is.
TEST(Turns, IsAnOrderedSet) {
  std::mt19937 random(5);
  Turns turns;
  std::set<Turn> model;
  const auto check = [&] {
    ASSERT_TRUE(std::ranges::equal(turns, model));
    for (int i = 0; i < 20; ++i) {
      const Turn from{static_cast<std::int64_t>(random() % 6000), JobId(random() % 9), 0};
      const auto found = turns.lower_bound([&](const Turn& turn) { return turn < from; });
      const auto wanted = model.lower_bound(from);
      ASSERT_EQ(found == turns.end(), wanted == model.end());
      if (wanted == model.end()) continue;
      ASSERT_EQ(*found, *wanted);
    }
  };
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 300; ++i) {
      const bool anywhere = random() % 4 == 0;
      const auto order =
          static_cast<std::int64_t>(anywhere ? random() % 6000 : static_cast<unsigned>(round * 100 + i / 3));
      if (const Turn turn{order, JobId(random() % 9), static_cast<std::uint32_t>(random() % 100)};
          model.insert(turn).second)
        turns.insert(turn);
    }
    for (int i = 0; i < (round < 20 ? 100 : 500) && !model.empty(); ++i) {
      auto at = random() % 4 == 0 ? model.lower_bound({static_cast<std::int64_t>(random() % 6000), JobId(0), 0})
                                  : model.begin();
      if (at == model.end()) at = model.begin();
      turns.erase(*at);
      model.erase(at);
    }
    ASSERT_NO_FATAL_FAILURE(check());
  }
  while (!model.empty()) {
    turns.erase(*model.rbegin());
    model.erase(std::prev(model.end()));
  }
  check();
}

}  // namespace
}  // namespace spur::sched
