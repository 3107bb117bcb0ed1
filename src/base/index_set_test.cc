// SPDX-License-Identifier: Apache-2.0
#include "base/index_set.h"

#include <cstdint>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace spur {
namespace {

IndexSet of(std::initializer_list<IndexSet::Range> ranges) {
  IndexSet set;
  for (const auto& r : ranges) set.insert_range(r.first, r.last);
  return set;
}

TEST(IndexSet, ADenseMillionIsOneRange) {
  IndexSet set;
  set.insert_range(0, 999'999);
  EXPECT_EQ(set.ranges().size(), 1u);
  EXPECT_EQ(set.size(), 1'000'000u);
  EXPECT_EQ(set.lowest(), 0u);
  EXPECT_EQ(set.highest(), 999'999u);
  for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_TRUE(set.erase(i));
  EXPECT_EQ(set.ranges().size(), 1u);
  EXPECT_EQ(set.to_string(), "1000-999999");
}

TEST(IndexSet, NeighboursMelt) {
  EXPECT_EQ(of({{1, 2}, {4, 5}, {3, 3}}), of({{1, 5}}));
  EXPECT_EQ(of({{5, 9}, {1, 4}}), of({{1, 9}}));
  EXPECT_EQ(of({{1, 9}, {3, 4}}), of({{1, 9}}));
  EXPECT_EQ(of({{1, 1}, {3, 3}, {5, 5}, {0, 10}}), of({{0, 10}}));
}

TEST(IndexSet, TheLastNumberIsAMemberLikeAnyOther) {
  const std::uint32_t top = 0xffffffffu;
  IndexSet set;
  set.insert_range(0, top);
  EXPECT_EQ(set.size(), std::uint64_t{1} << 32);
  EXPECT_TRUE(set.erase(top));
  EXPECT_FALSE(set.contains(top));
  EXPECT_FALSE(set.next_after(top).has_value());
  EXPECT_FALSE(set.next_after(top - 1).has_value());
  set.insert(top);
  EXPECT_EQ(set.ranges().size(), 1u);
  IndexSet all = set;
  set.erase_all(all);
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.size(), 0u);
}

TEST(IndexSet, PrintsAsSlurmDoes) {
  const struct {
    IndexSet set;
    const char* text;
  } rows[] = {
      {of({}), ""},
      {of({{5, 5}}), "5"},
      {of({{0, 1}}), "0-1"},
      {of({{0, 5}, {7, 7}, {9, 11}}), "0-5,7,9-11"},
      {of({{1, 1}, {3, 3}, {5, 5}}), "1,3,5"},                                   // too few for a stride
      {of({{1, 1}, {3, 3}, {5, 5}, {7, 7}, {9, 9}, {11, 11}}), "1,3,5,7,9,11"},  // spans only ten
      {of({{1, 1}, {3, 3}, {5, 5}, {7, 7}, {9, 9}, {11, 11}, {13, 13}}), "1-13:2"},
      {of({{0, 0}, {10, 10}, {20, 20}, {30, 30}, {40, 40}, {50, 50}}), "0-50:10"},
      {of({{1, 1}, {3, 3}, {5, 5}, {7, 7}, {9, 9}, {11, 12}}), "1,3,5,7,9,11-12"},
      {of({{1, 1}, {3, 3}, {5, 5}, {7, 7}, {9, 9}, {11, 11}, {20, 20}}), "1,3,5,7,9,11,20"},
  };
  for (const auto& row : rows) EXPECT_EQ(row.set.to_string(), row.text);
}

// Against std::set, which is plainly right.
TEST(IndexSet, AgreesWithAPlainSet) {
  std::mt19937 random(7);
  constexpr std::uint32_t kTop = 120;
  auto draw = [&](std::uint32_t below) { return std::uniform_int_distribution<std::uint32_t>(0, below - 1)(random); };
  auto random_set = [&](std::set<std::uint32_t>& model) {
    IndexSet set;
    for (std::uint32_t n = draw(8); n > 0; --n) {
      const std::uint32_t first = draw(kTop), last = std::min(kTop - 1, first + draw(20));
      set.insert_range(first, last);
      for (std::uint32_t i = first; i <= last; ++i) model.insert(i);
    }
    return set;
  };
  auto expect_same = [&](const IndexSet& set, const std::set<std::uint32_t>& model) {
    ASSERT_EQ(set.size(), model.size());
    ASSERT_EQ(set.empty(), model.empty());
    for (std::uint32_t i = 0; i < kTop; ++i) {
      ASSERT_EQ(set.contains(i), model.contains(i)) << i << " in " << set.to_string();
      const auto next = model.upper_bound(i);
      ASSERT_EQ(set.next_after(i), next == model.end() ? std::nullopt : std::optional(*next));
    }
    for (std::size_t i = 1; i < set.ranges().size(); ++i)
      ASSERT_GT(set.ranges()[i].first, set.ranges()[i - 1].last + 1) << set.to_string();
  };
  for (int round = 0; round < 2000; ++round) {
    std::set<std::uint32_t> model, other_model;
    IndexSet set = random_set(model), other = random_set(other_model);
    expect_same(set, model);

    std::set<std::uint32_t> both;
    for (const auto i : model)
      if (other_model.contains(i)) both.insert(i);
    expect_same(set.intersect(other), both);

    IndexSet rest = set;
    rest.erase_all(other);
    std::set<std::uint32_t> rest_model;
    for (const auto i : model)
      if (!other_model.contains(i)) rest_model.insert(i);
    expect_same(rest, rest_model);

    for (int n = 0; n < 10; ++n) {
      const std::uint32_t i = draw(kTop);
      ASSERT_EQ(set.erase(i), model.erase(i) == 1);
      if (draw(3) == 0) set.insert(i), model.insert(i);
    }
    expect_same(set, model);
  }
}

}  // namespace
}  // namespace spur
