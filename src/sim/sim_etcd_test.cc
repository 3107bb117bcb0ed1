// SPDX-License-Identifier: Apache-2.0
// That the fake keeps etcd's rules. os/etcd_journal_test.cc has the real one.
#include "sim/sim_etcd.h"

#include <gtest/gtest.h>

namespace spur::sim {
namespace {

struct SimEtcdTest : testing::Test {
  // Runs a client's code at a member, to its end.
  void at(std::size_t member, const std::function<void(io::KvStore&)>& body) {
    const auto store = etcd.client(member, fibers);
    const auto fiber = fibers.start([&] { body(*store); });
    while (events.step()) {
    }
  }
  EventQueue events;
  Process process{events};
  Fibers fibers{process};
  SimEtcd etcd{events, Random(1), 3, seconds(1)};
};

TEST_F(SimEtcdTest, ComparesRevisions) {
  at(0, [](io::KvStore& store) {
    const auto first = store.commit({.unchanged = {{"a", 0}}, .puts = {{"a", "1"}, {"b", "1"}}, .deletes = {}});
    ASSERT_TRUE(first && first->done);
    const auto again = store.commit({.unchanged = {{"a", 0}}, .puts = {{"a", "2"}}, .deletes = {}});
    ASSERT_TRUE(again);
    EXPECT_FALSE(again->done);
    const auto right = store.commit({.unchanged = {{"a", first->revision}}, .puts = {{"a", "3"}}, .deletes = {{"b", "c"}}});
    ASSERT_TRUE(right && right->done);
    const auto range = store.range("a", "z", 0, false);
    ASSERT_TRUE(range);
    ASSERT_EQ(range->values.size(), 1u);
    EXPECT_EQ(range->values[0].value, "3");
    EXPECT_EQ(range->values[0].created, first->revision);
    EXPECT_EQ(range->values[0].changed, right->revision);
  });
}

TEST_F(SimEtcdTest, RangesAreLimitedAndSaySo) {
  at(0, [](io::KvStore& store) {
    static_cast<void>(store.commit({.unchanged = {}, .puts = {{"a", ""}, {"b", ""}, {"c", ""}}, .deletes = {}}));
    const auto two = store.range("a", "c", 2, false);
    EXPECT_EQ(two->values.size(), 2u);
    EXPECT_FALSE(two->more);
    EXPECT_TRUE(store.range("a", "z", 2, false)->more);
    EXPECT_EQ(store.range("b", "", 0, false)->values.size(), 1u);
  });
}

TEST_F(SimEtcdTest, AMinorityKnowsWhatItKnewAndChangesNothing) {
  at(1, [](io::KvStore& store) { static_cast<void>(store.commit({.unchanged = {}, .puts = {{"a", "old"}}, .deletes = {}})); });
  at(2, [](io::KvStore& store) { EXPECT_EQ(store.range("a", "", 0, true)->values.at(0).value, "old"); });
  etcd.set_cut(2, 0, true);
  etcd.set_cut(2, 1, true);
  at(1, [](io::KvStore& store) {
    EXPECT_TRUE(store.commit({.unchanged = {}, .puts = {{"a", "new"}}, .deletes = {}})->done);
  });
  at(2, [](io::KvStore& store) {
    EXPECT_EQ(store.range("a", "", 0, true)->values.at(0).value, "old");
    EXPECT_EQ(store.range("a", "", 0, false).error().code, ErrorCode::TimedOut);
    EXPECT_EQ(store.commit({.unchanged = {}, .puts = {{"a", "mine"}}, .deletes = {}}).error().code, ErrorCode::TimedOut);
  });
  etcd.set_cut(2, 0, false);
  at(2, [](io::KvStore& store) { EXPECT_EQ(store.range("a", "", 0, true)->values.at(0).value, "new"); });
}

TEST_F(SimEtcdTest, WhatTimedOutMayHaveHappened) {
  etcd.set_trouble({.lost_answers = 1000, .late = 0});
  at(0, [](io::KvStore& store) {
    EXPECT_EQ(store.commit({.unchanged = {}, .puts = {{"a", "1"}}, .deletes = {}}).error().code, ErrorCode::TimedOut);
  });
  EXPECT_EQ(etcd.keys().at("a").value, "1");
  // ... or may still happen.
  etcd.set_trouble({.lost_answers = 0, .late = 1000});
  bool seen_before = true;
  at(0, [&](io::KvStore& store) {
    EXPECT_FALSE(store.commit({.unchanged = {}, .puts = {{"b", "1"}}, .deletes = {}}));
    seen_before = etcd.keys().contains("b");
  });
  EXPECT_FALSE(seen_before);
  EXPECT_TRUE(etcd.keys().contains("b"));
}

TEST_F(SimEtcdTest, WithoutSpaceNothingHappens) {
  etcd.set_full(true);
  at(0, [](io::KvStore& store) {
    EXPECT_EQ(store.commit({.unchanged = {}, .puts = {{"a", "1"}}, .deletes = {}}).error().code, ErrorCode::OutOfSpace);
  });
  EXPECT_TRUE(etcd.keys().empty());
}

}  // namespace
}  // namespace spur::sim
