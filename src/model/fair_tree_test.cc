// SPDX-License-Identifier: Apache-2.0
#include "model/fair_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace spur::model {
namespace {

// Accounts and users by name; usage in billed seconds, added up towards the root.
struct Tree {
  std::vector<AssociationPtr> rows;
  std::map<std::string, std::uint32_t> ids;
  std::map<std::uint32_t, std::uint64_t> usage;

  std::uint32_t add(const std::string& parent, const std::string& account, const std::string& user,
                    std::uint32_t shares, std::uint64_t used = 0) {
    Association row;
    row.id = static_cast<std::uint32_t>(rows.size()) + 1;
    row.parent = parent.empty() ? 0 : ids.at(parent);
    row.account = account;
    row.user = user;
    row.shares = shares;
    if (!user.empty()) row.uid = 1000 + row.id;
    ids[user.empty() ? account : account + "/" + user] = row.id;
    for (std::uint32_t at = row.id; at != 0;) {
      usage[at] += used;
      at = at == row.id ? row.parent : rows[at - 1]->parent;
    }
    rows.push_back(std::make_shared<const Association>(row));
    return row.id;
  }

  View view() const {
    View view;
    view.config = std::make_shared<const ClusterConfig>();
    view.accounts = *AccountBook::make(1, rows, {});
    for (const auto& [id, used] : usage) {
      Tally tally;
      tally.widen(TresTable::kFixed + 1);
      tally.past[TresTable::kBilling] = (Wide{used} * 1000) << kFadedBits;
      view.tallies.associations.set(id, std::make_shared<const Tally>(tally));
    }
    return view;
  }
  std::map<std::string, double> factors(const View& from) const {
    std::map<std::string, double> out;
    for (const Standing& row : standings(from, Time{}))
      for (const auto& [name, id] : ids)
        if (id == row.association) out[name] = row.factor;
    return out;
  }
};

TEST(FairTree, RanksUsersByTheirAccountsFirst) {
  Tree tree;
  tree.add("", "root", "", 1);
  tree.add("root", "rich", "", 1);
  tree.add("root", "poor", "", 1);
  tree.add("rich", "rich", "a", 1, 10);
  tree.add("rich", "rich", "b", 1, 990);
  tree.add("poor", "poor", "c", 1, 1);
  tree.add("poor", "poor", "d", 1, 2);
  const auto factors = tree.factors(tree.view());
  EXPECT_DOUBLE_EQ(factors.at("poor/c"), 1.0);
  EXPECT_DOUBLE_EQ(factors.at("poor/d"), 0.75);
  EXPECT_DOUBLE_EQ(factors.at("rich/a"), 0.5);  // less than d ever used, but its account comes behind
  EXPECT_DOUBLE_EQ(factors.at("rich/b"), 0.25);
}

TEST(FairTree, EqualAccountsComeOneAfterTheOther) {
  Tree tree;
  tree.add("", "root", "", 1);
  tree.add("root", "x", "", 1);
  tree.add("root", "y", "", 1);
  tree.add("x", "x", "a", 1, 100);
  tree.add("x", "x", "b", 1, 100);
  tree.add("y", "y", "c", 1, 150);
  tree.add("y", "y", "d", 1, 50);
  const auto factors = tree.factors(tree.view());
  EXPECT_DOUBLE_EQ(factors.at("y/d"), 1.0);
  EXPECT_DOUBLE_EQ(factors.at("y/c"), 0.75);
  EXPECT_DOUBLE_EQ(factors.at("x/a"), 0.75);  // as its account is equal to the one before
  EXPECT_DOUBLE_EQ(factors.at("x/b"), 0.75);  // the same as a, and ranked alike
}

TEST(FairTree, WhoHasUsedNothingComesFirstAndWhoHasNoSharesLast) {
  Tree tree;
  tree.add("", "root", "", 1);
  tree.add("root", "x", "", 1);
  tree.add("x", "x", "fresh", 1, 0);
  tree.add("x", "x", "busy", 100, 100);
  tree.add("x", "x", "none", 0, 0);
  const auto factors = tree.factors(tree.view());
  EXPECT_DOUBLE_EQ(factors.at("x/fresh"), 1.0);
  EXPECT_NEAR(factors.at("x/busy"), 2.0 / 3, 1e-9);
  EXPECT_NEAR(factors.at("x/none"), 1.0 / 3, 1e-9);
}

// The random runs of state/ found it: the account above had used nothing, and was divided by.
TEST(FairTree, AnAccountMovedBelowOneThatUsedNothingCountsAsUnused) {
  Tree tree;
  tree.add("", "root", "", 1);
  tree.add("root", "fresh", "", 1);
  tree.add("fresh", "moved", "", 1);
  tree.add("moved", "moved", "ada", 1, 100);
  tree.add("root", "busy", "", 1);
  tree.add("busy", "busy", "bob", 1, 100);
  tree.usage[tree.ids.at("fresh")] = 0;
  const auto factors = tree.factors(tree.view());
  EXPECT_DOUBLE_EQ(factors.at("moved/ada"), 1.0);
  EXPECT_DOUBLE_EQ(factors.at("busy/bob"), 0.5);
}

TEST(FairTree, StandingsAreWhatPeopleRead) {
  Tree tree;
  tree.add("", "root", "", 1);
  tree.add("root", "x", "", 3);
  tree.add("root", "y", "", 1);
  tree.add("x", "x", "a", 1, 300);
  tree.add("y", "y", "b", 1, 100);
  const auto rows = standings(tree.view(), Time{});
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[1].association, tree.ids.at("x"));
  EXPECT_EQ(rows[1].raw_usage, 300u);
  EXPECT_DOUBLE_EQ(rows[1].norm_shares, 0.75);
  EXPECT_DOUBLE_EQ(rows[1].effective_usage, 0.75);
  EXPECT_NEAR(rows[1].level_fs, 1.0, 1e-9);
  EXPECT_EQ(rows[2].depth, 2u);
}

TEST(ClassicFairShare, HalvesWithEveryShareUsed) {
  Tree tree;
  tree.add("", "root", "", 1);
  tree.add("root", "root", "a", 1, 500);
  tree.add("root", "root", "b", 1, 500);
  tree.add("root", "root", "c", 2, 0);
  View view = tree.view();
  ClusterConfig config;
  config.priority.flags = {"NO_FAIR_TREE"};
  view.config = std::make_shared<const ClusterConfig>(config);
  const auto factors = tree.factors(view);
  // Effective usage of a: 0.5 + (1 - 0.5) * 1/4; over a share of 1/4.
  EXPECT_NEAR(factors.at("root/a"), std::exp2(-0.625 / 0.25), 1e-6);
  EXPECT_NEAR(factors.at("root/c"), std::exp2(-0.5 / 0.5), 1e-6);
}

TEST(ClassicFairShare, IsDampened) {
  Tree tree;
  tree.add("", "root", "", 1);
  tree.add("root", "root", "a", 1, 500);
  tree.add("root", "root", "b", 1, 500);
  View view = tree.view();
  ClusterConfig config;
  config.priority.flags = {"NO_FAIR_TREE"};
  config.priority.dampening = 5;
  view.config = std::make_shared<const ClusterConfig>(config);
  // Effective usage of a: 0.5 + 0.5 * 1/2; over a share of 1/2; a fifth of that.
  EXPECT_NEAR(tree.factors(view).at("root/a"), std::exp2(-0.75 / 0.5 / 5), 1e-6);
}

// Numbers that sshare of 22.05 showed for such a tree.
TEST(ObliviousFairShare, IsWhatSlurmShows) {
  Tree tree;
  tree.add("", "root", "", 1);
  tree.add("root", "aa", "", 30);
  tree.add("root", "idle", "", 51);
  tree.add("aa", "b2", "", 1);
  tree.add("b2", "b2", "games", 1, 29);
  tree.add("aa", "b3", "", 5);
  tree.add("b3", "b3", "games", 1, 83);
  tree.add("b3", "b3", "none", 1);
  tree.add("aa", "b8", "", 1);
  tree.add("b8", "b8", "games", 1, 4);
  tree.add("aa", "bb", "", 3);
  tree.add("bb", "bb", "games", 1, 472);
  tree.add("aa", "rest", "", 6);
  tree.add("rest", "rest", "games", 1, 33);
  View view = tree.view();
  ClusterConfig config;
  config.priority.flags = {"DEPTH_OBLIVIOUS"};
  view.config = std::make_shared<const ClusterConfig>(config);
  EXPECT_FALSE(is_fair_tree(config.priority));
  const auto factors = tree.factors(view);
  EXPECT_NEAR(factors.at("root"), 0.5, 1e-6);
  EXPECT_NEAR(factors.at("aa"), 0.153893, 1e-6);
  EXPECT_NEAR(factors.at("b2/games"), 0.157180, 1e-5);
  EXPECT_NEAR(factors.at("b2"), factors.at("b2/games"), 1e-9) << "one level more changes nothing";
  EXPECT_NEAR(factors.at("b3"), 0.163559, 1e-5);
  EXPECT_NEAR(factors.at("b8"), 0.180340, 1e-5);
  EXPECT_NEAR(factors.at("bb/games"), 0.000507, 1e-6);
  EXPECT_EQ(factors.at("b3/none"), 1);
  EXPECT_EQ(factors.at("idle"), 1);
  for (const Standing& row : standings(view, Time{})) {
    if (row.association == tree.ids.at("b3")) {
      EXPECT_NEAR(row.norm_shares, 0.115741, 1e-6);
      EXPECT_NEAR(row.effective_usage, 0.302328, 1e-5);
    }
    if (row.association == tree.ids.at("root")) {
      EXPECT_EQ(row.norm_shares, 1);
    }
  }
}

// As sshare shows them: parts of the whole cluster.
TEST(ClassicFairShare, ShowsSharesOfTheWholeTree) {
  Tree tree;
  tree.add("", "root", "", 1);
  tree.add("root", "aa", "", 30);
  tree.add("root", "idle", "", 51);
  tree.add("aa", "b2", "", 1);
  tree.add("b2", "b2", "games", 1, 29);
  tree.add("aa", "rest", "", 15);
  tree.add("rest", "rest", "games", 1, 592);
  View view = tree.view();
  ClusterConfig config;
  config.priority.flags = {"NO_FAIR_TREE"};
  view.config = std::make_shared<const ClusterConfig>(config);
  for (const Standing& row : standings(view, Time{})) {
    if (row.association != tree.ids.at("b2/games")) continue;
    EXPECT_NEAR(row.norm_shares, 0.023148, 1e-6);
    EXPECT_NEAR(row.effective_usage, 0.106280, 1e-6);
    EXPECT_NEAR(row.factor, 0.041484, 1e-6);
  }
}

}  // namespace
}  // namespace spur::model
