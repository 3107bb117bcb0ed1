// SPDX-License-Identifier: Apache-2.0
// Fair Tree against Slurm's own: trees with shares and usage as Slurm's sshare told them (testdata/fair_trees.txt, made by
// tests/differential/fair_trees.py; `make differential` makes new ones and names their file in SPUR_FAIR_TREES). We take the tree, the
// raw shares and the raw usage from it, and must come to the same normalized shares, effective usage, level and factor.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "model/fair_tree.h"

namespace spur::model {
namespace {

struct SlurmRow {
  std::string account, user;
  std::size_t depth = 0;
  std::uint32_t shares = 1;
  std::uint64_t usage = 0;
  std::string norm_shares, effective, factor, level;
};

SlurmRow parse_row(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, '|');) cells.push_back(cell);
  cells.resize(9);
  SlurmRow row;
  row.depth = cells[0].find_first_not_of(' ');
  row.account = cells[0].substr(row.depth);
  row.user = cells[1];
  row.shares = cells[2] == "parent" ? kShareOfParent : static_cast<std::uint32_t>(std::atoll(cells[2].c_str()));
  row.norm_shares = cells[3];
  row.usage = static_cast<std::uint64_t>(std::atoll(cells[4].c_str()));
  row.effective = cells[6];
  row.factor = cells[7];
  row.level = cells[8];
  return row;
}

View view_of(const std::vector<SlurmRow>& tree) {
  std::vector<AssociationPtr> rows;
  std::vector<std::uint32_t> above;  // ids, by depth
  View view;
  for (const SlurmRow& from : tree) {
    Association row;
    row.id = static_cast<std::uint32_t>(rows.size()) + 1;
    row.account = from.account;
    row.user = from.user;
    row.shares = from.depth == 0 ? 1 : from.shares;
    if (!row.user.empty()) row.uid = 1000 + row.id;
    row.parent = from.depth == 0 ? 0 : above[from.depth - 1];
    above.resize(from.depth);
    above.push_back(row.id);
    rows.push_back(std::make_shared<const Association>(row));
    Tally tally;
    tally.widen(TresTable::kFixed + 1);
    tally.past[TresTable::kBilling] = (Wide{from.usage} * 1000) << kFadedBits;
    view.tallies.associations.set(row.id, std::make_shared<const Tally>(tally));
  }
  view.config = std::make_shared<const ClusterConfig>();
  view.accounts = *AccountBook::make(1, rows, {});
  return view;
}

// Six digits behind the point are what Slurm prints. Where it prints nothing there is nothing to compare.
bool same(const std::string& theirs, double ours) {
  if (theirs.empty()) return true;
  const double expected = std::strtod(theirs.c_str(), nullptr);
  if (std::isinf(expected) || std::isinf(ours)) return std::isinf(expected) == std::isinf(ours);
  return std::abs(expected - ours) <= 1e-6 + 1e-6 * std::abs(expected);
}

int differences(const std::string& name, const std::vector<SlurmRow>& tree) {
  const View view = view_of(tree);
  int found = 0;
  for (const Standing& ours : standings(view, Time{})) {
    const SlurmRow& theirs = tree[ours.association - 1];
    const bool equal = same(theirs.norm_shares, ours.norm_shares) && same(theirs.effective, ours.effective_usage) &&
                       same(theirs.level, ours.level_fs) && same(theirs.user.empty() ? "" : theirs.factor, ours.factor);
    if (equal) continue;
    ++found;
    std::cout << name << " differs at " << theirs.account << "/" << theirs.user << ": Slurm " << theirs.norm_shares << " "
              << theirs.effective << " " << theirs.factor << " " << theirs.level << ", here " << ours.norm_shares << " "
              << ours.effective_usage << " " << ours.factor << " " << ours.level_fs << "\n";
  }
  return found;
}

TEST(FairTreeOfSlurm, ComesToTheSameFactors) {
  const char* given = std::getenv("SPUR_FAIR_TREES");
  std::ifstream in(given ? given : SPUR_SOURCE_DIR "/src/model/testdata/fair_trees.txt");
  ASSERT_TRUE(in.is_open());
  std::string line, name;
  std::vector<SlurmRow> tree;
  int trees = 0, wrong = 0;
  const auto finish = [&] {
    if (tree.empty()) return;
    ++trees;
    if (differences(name, tree) > 0) ++wrong;
    tree.clear();
  };
  while (std::getline(in, line)) {
    if (line.starts_with("tree ")) {
      finish();
      name = line;
    } else if (!line.empty()) {
      tree.push_back(parse_row(line));
    }
  }
  finish();
  EXPECT_GE(trees, 20);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace spur::model
