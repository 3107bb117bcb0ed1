// SPDX-License-Identifier: Apache-2.0
#include "base/cow_map.h"

#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace spur {
namespace {

using Map = CowMap<std::string>;
using Model = std::map<std::uint32_t, std::string>;

void expect_same(const Map& map, const Model& model) {
  ASSERT_EQ(map.size(), model.size());
  ASSERT_EQ(map.empty(), model.empty());
  auto expected = model.begin();
  map.for_each([&](std::uint32_t key, const std::string& value) {
    ASSERT_NE(expected, model.end());
    ASSERT_EQ(key, expected->first);
    ASSERT_EQ(value, expected->second);
    ++expected;
  });
  ASSERT_EQ(expected, model.end());
  for (const auto& [key, value] : model) {
    ASSERT_NE(map.find(key), nullptr) << key;
    ASSERT_EQ(*map.find(key), value);
  }
}

TEST(CowMap, FindsWhatWasSetAndOnlyThat) {
  Map map;
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_FALSE(map.erase(0));
  for (const std::uint32_t key : {0u, 1u, 63u, 64u, 4095u, 4096u, 0x7fffffffu, 0x80000000u, 0xffffffffu})
    map.set(key, std::to_string(key));
  EXPECT_EQ(map.size(), 9u);
  EXPECT_EQ(*map.find(0xffffffffu), "4294967295");
  EXPECT_EQ(map.find(2), nullptr);
  EXPECT_EQ(map.find(0xfffffffeu), nullptr);
  map.set(64, "again");
  EXPECT_EQ(map.size(), 9u);
  EXPECT_EQ(*map.find(64), "again");
  EXPECT_TRUE(map.erase(64));
  EXPECT_FALSE(map.contains(64));
  map.clear();
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.find(0), nullptr);
}

TEST(CowMap, DiffTellsWhatChangedAndNothingElse) {
  std::mt19937 random(7);
  Map map;
  Model model;
  for (int round = 0; round < 2000; ++round) {
    if (round % 20 == 0) map.clear(), model.clear();  // so that trees of all heights meet
    const Map before = map;
    const Model model_before = model;
    for (std::uint32_t i = 0, count = random() % 8; i < count; ++i) {
      const std::uint32_t key = random() % 3 ? random() % 300 : static_cast<std::uint32_t>(random()) >> random() % 32;
      if (random() % 3 == 0) {
        map.erase(key);
        model.erase(key);
      } else {
        const std::string value = std::to_string(random() % 3);
        map.set(key, value);
        model[key] = value;
      }
    }
    const auto text = [](const Model& in, std::uint32_t key) {
      const auto at = in.find(key);
      return at == in.end() ? std::string("-") : at->second;
    };
    std::vector<std::string> expected, found;
    Model all = model_before;
    all.insert(model.begin(), model.end());
    for (const auto& [key, value] : all)
      if (text(model_before, key) != text(model, key))
        expected.push_back(std::to_string(key) + ' ' + text(model_before, key) + ' ' + text(model, key));
    Map::diff(before, map, [&](std::uint32_t key, const std::string* a, const std::string* b) {
      found.push_back(std::to_string(key) + ' ' + (a ? *a : "-") + ' ' + (b ? *b : "-"));
    });
    ASSERT_EQ(found, expected);
    ASSERT_NO_FATAL_FAILURE(expect_same(map, model));
    ASSERT_NO_FATAL_FAILURE(expect_same(before, model_before));
  }
}

// A value that counts comparisons: shared parts must not be looked at.
struct Counted {
  int value = 0;
  static inline int compared = 0;
  friend bool operator==(const Counted& a, const Counted& b) { return ++compared, a.value == b.value; }
};

TEST(CowMap, DiffSkipsWhatIsShared) {
  CowMap<Counted> map;
  for (std::uint32_t key = 0; key < 100'000; ++key) map.set(key, {1});
  const CowMap<Counted> before = map;
  map.set(5000, {2});
  Counted::compared = 0;
  int calls = 0;
  CowMap<Counted>::diff(before, map, [&](std::uint32_t key, const Counted*, const Counted*) {
    ++calls;
    EXPECT_EQ(key, 5000u);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_LE(Counted::compared, 64);
  CowMap<Counted>::diff({}, {}, [](auto...) { FAIL(); });
}

TEST(CowMap, AWalkMayStopEarly) {
  Map map;
  for (std::uint32_t key = 0; key < 1000; ++key) map.set(key, "x");
  std::vector<std::uint32_t> seen;
  map.for_each([&](std::uint32_t key, const std::string&) {
    seen.push_back(key);
    return seen.size() < 3;
  });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 1, 2}));
}

// Random writes on several copies, each beside a std::map; no write may be seen in any other copy.
TEST(CowMap, AgreesWithStdMapAndOldCopiesNeverChange) {
  std::mt19937 random(11);
  auto draw = [&](std::uint32_t below) { return std::uniform_int_distribution<std::uint32_t>(0, below - 1)(random); };
  // Keys that share nodes and keys that do not.
  auto draw_key = [&] {
    switch (draw(3)) {
      case 0:
        return draw(200);
      case 1:
        return draw(100) * 64;
      default:
        return static_cast<std::uint32_t>(random());
    }
  };
  struct Pair {
    Map map;
    Model model;
  };
  std::vector<Pair> copies(1);
  for (int step = 0; step < 40'000; ++step) {
    Pair& pair = copies[draw(static_cast<std::uint32_t>(copies.size()))];
    const std::uint32_t key = draw_key();
    switch (draw(10)) {
      case 0:
      case 1:
      case 2: {
        // Erase something that is there, most of the time.
        std::uint32_t victim = key;
        if (const auto it = pair.model.lower_bound(key); it != pair.model.end()) victim = it->first;
        ASSERT_EQ(pair.map.erase(victim), pair.model.erase(victim) == 1);
        break;
      }
      default: {
        const std::string value = std::to_string(step);
        pair.map.set(key, value);
        pair.model[key] = value;
      }
    }
    if (step % 500 == 0) {
      const Pair copy = copies[draw(static_cast<std::uint32_t>(copies.size()))];
      if (copies.size() < 12) {
        copies.push_back(copy);
      } else {
        copies[draw(12)] = copy;
      }
      for (const Pair& each : copies) expect_same(each.map, each.model);
    }
  }
  for (const Pair& each : copies) expect_same(each.map, each.model);
}

TEST(CowMap, AMovedFromMapCanBeUsedAgain) {
  Map map;
  map.set(1, "one");
  Map other = std::move(map);
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.find(1), nullptr);
  map.set(2, "two");
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(*other.find(1), "one");
  map = std::move(other);
  EXPECT_TRUE(other.empty());
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(*map.find(1), "one");
  Map& same = map;
  map = std::move(same);
  EXPECT_EQ(map.size(), 1u);
}

TEST(CowMap, AWalkCanBeTakenUpAnywhere) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    Map map;
    Model model;
    const std::uint32_t most = std::uint32_t{1} << (1 + random() % 31);
    for (std::uint32_t k = random() % 300; k > 0; --k) {
      const std::uint32_t key = random() % 4 == 0 ? k : static_cast<std::uint32_t>(random() % most);
      map.set(key, "x");
      model[key] = "x";
    }
    for (const std::uint32_t from : {0u, 1u, static_cast<std::uint32_t>(random() % most), most - 1, most, 0xffffffffu}) {
      std::vector<std::uint32_t> seen, expected;
      const std::size_t pause = random() % 5;  // false ends the walk, in the middle of a leaf too
      map.for_each_from(from, [&](std::uint32_t key, const std::string&) {
        seen.push_back(key);
        return seen.size() != pause;
      });
      for (auto at = model.lower_bound(from); at != model.end() && (pause == 0 || expected.size() < pause); ++at)
        expected.push_back(at->first);
      ASSERT_EQ(seen, expected) << from << " of " << model.size();
    }
  }
}

// One writer publishes copies, readers walk them: what the core thread and the query threads do.
TEST(CowMap, ReadersOfCopiesDoNotDisturbTheWriter) {
  CowMap<std::uint32_t> map;
  for (std::uint32_t key = 0; key < 5000; ++key) map.set(key, 0);
  for (std::uint32_t round = 1; round <= 20; ++round) {
    std::vector<std::jthread> readers;
    for (int n = 0; n < 3; ++n) {
      readers.emplace_back([copy = map, round] {
        std::size_t seen = 0;
        copy.for_each([&](std::uint32_t, std::uint32_t value) {
          EXPECT_EQ(value, round - 1);
          ++seen;
        });
        EXPECT_EQ(seen, 5000u);
      });
    }
    for (std::uint32_t key = 0; key < 5000; ++key) map.set(key, round);
  }
}

}  // namespace
}  // namespace spur
