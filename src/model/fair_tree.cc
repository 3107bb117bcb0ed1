// SPDX-License-Identifier: Apache-2.0
#include "model/fair_tree.h"

#include <algorithm>
#include <cmath>

#include "model/counting.h"
#include "model/rounded.h"

namespace spur::model {
namespace {

constexpr std::uint32_t kNobody = ~std::uint32_t{0};

struct Row {
  const Association* of = nullptr;
  std::uint32_t above = kNobody;   // the account of which it is a part: the next one that has shares of its own
  Wide usage = 0;                  // thousandths of billed seconds
  std::uint64_t level_shares = 0;  // of all parts of that account
  Rounded level;                   // shares over usage, each relative to that account's
  std::uint64_t factor = 0;        // 2^-32
};

class Tree {
 public:
  Tree(const View& view, Time now)
      : book_(*view.accounts),
        rows_(book_.associations().size()),
        dampening_(std::max(1u, view.config->priority.dampening)) {
    const std::int64_t at = whole_seconds(now);
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      rows_[i].of = book_.associations()[i].get();
      if (rows_[i].of->is_user()) ++users_;
      if (const TallyPtr* tally = view.tallies.associations.find(rows_[i].of->id))
        rows_[i].usage = (*tally)->used_finely(TresTable::kBilling, at) >> kFadedBits;
      if (rows_[i].of->parent == 0) roots_.push_back(i);
    }
    for (const std::uint32_t root : roots_) level_below(root);
    const auto& flags = view.config->priority.flags;
    if (std::ranges::find(flags, "NO_FAIR_TREE") != flags.end()) {
      for (const std::uint32_t root : roots_) classic(root, 0, std::uint64_t{1} << 32);
    } else {
      std::uint32_t rank = users_, shown = users_;
      for (const std::uint32_t root : roots_) rank_below(children_of(root), rank, shown, false);
    }
  }

  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<std::uint32_t>& roots() const { return roots_; }
  bool of_parent(const Row& row) const { return row.of->shares == kShareOfParent; }
  Wide usage_above(const Row& row) const { return row.above == kNobody ? row.usage : rows_[row.above].usage; }
  double norm_shares(const Row& row) const {
    if (row.above == kNobody) return 0;
    if (of_parent(row)) return norm_shares(rows_[row.above]);
    if (row.level_shares == 0) return 0;
    return static_cast<double>(row.of->shares) / static_cast<double>(row.level_shares);
  }

 private:
  // An account without shares of its own stands for its children: they are parts of the account above it, as it is. The
  // youngest come first, which decides between accounts that are equal.
  void collect(std::uint32_t account, std::vector<std::uint32_t>& parts) const {
    std::vector<std::uint32_t> children = book_.children()[account];
    std::ranges::sort(children, std::ranges::greater(), [&](std::uint32_t child) { return rows_[child].of->id; });
    for (const std::uint32_t child : children) {
      parts.push_back(child);
      if (of_parent(rows_[child]) && !rows_[child].of->is_user()) collect(child, parts);
    }
  }

  void level_below(std::uint32_t account) {
    std::vector<std::uint32_t> parts;
    collect(account, parts);
    std::uint64_t sum = 0;
    for (const std::uint32_t i : parts)
      if (!of_parent(rows_[i])) sum += rows_[i].of->shares;
    for (const std::uint32_t i : parts) {
      Row& row = rows_[i];
      row.above = account;
      row.level_shares = sum;
      // A user without shares of his own is not held against his account: he comes first in it, as in Slurm.
      if (of_parent(row))
        row.level = Rounded::endless();
      else if (row.of->shares > 0)
        row.level = level_of(row);
      if (!row.of->is_user() && !of_parent(row)) level_below(i);
    }
  }

  // An account that was moved may have used more than the one above it, which may have used nothing.
  Rounded level_of(const Row& row) const {
    const Wide all = usage_above(row);
    if (row.usage == 0 || all == 0) return Rounded::endless();
    return Rounded::of(row.of->shares, row.level_shares, 53) / Rounded::of(row.usage, all, 64);
  }

  // Those that are ranked below an account.
  std::vector<std::uint32_t> children_of(std::uint32_t account) const {
    std::vector<std::uint32_t> out;
    collect(account, out);
    std::erase_if(out, [&](std::uint32_t i) { return of_parent(rows_[i]) && !rows_[i].of->is_user(); });
    return out;
  }

  // `rank` counts down over all users; `shown` is what those get who are equal to the one before. Of accounts that are equal
  // one comes after the other, and the first below the second counts as equal to the last below the first: so does Slurm.
  void rank_below(std::vector<std::uint32_t> siblings, std::uint32_t& rank, std::uint32_t& shown, bool tied_above) {
    std::ranges::stable_sort(siblings, [&](std::uint32_t a, std::uint32_t b) {
      if (rows_[a].level != rows_[b].level) return rows_[a].level > rows_[b].level;
      return rows_[a].of->is_user() && !rows_[b].of->is_user();
    });
    for (std::size_t i = 0; i < siblings.size(); ++i) {
      Row& row = rows_[siblings[i]];
      const bool tied = i == 0 ? tied_above : rows_[siblings[i - 1]].level == row.level;
      if (row.of->is_user()) {
        if (!tied) shown = rank;
        row.factor = (std::uint64_t{shown} << 32) / users_;
        --rank;
        continue;
      }
      rank_below(children_of(siblings[i]), rank, shown, tied);
    }
  }

  // Effective usage and shares of the whole tree, in 2^-32.
  void classic(std::uint32_t at, std::uint64_t usage_of_parent, std::uint64_t shares_of_parent) {
    Row& row = rows_[at];
    const Wide all = rows_[roots_.front()].usage;
    const auto actual = static_cast<std::uint64_t>(all == 0 ? 0 : (row.usage << 32) / all);
    std::uint64_t usage = actual, shares = shares_of_parent;
    if (row.of->parent != 0 && of_parent(row)) {
      usage = usage_of_parent;
    } else if (row.of->parent != 0 && row.level_shares > 0) {
      shares = static_cast<std::uint64_t>(Wide{shares_of_parent} * row.of->shares / row.level_shares);
      const std::uint64_t more = usage_of_parent > actual ? usage_of_parent - actual : 0;
      usage = actual + static_cast<std::uint64_t>(Wide{more} * row.of->shares / row.level_shares);
    }
    if (shares > 0) {
      const Wide exponent = (Wide{usage} << 32) / shares / dampening_;  // 2^-32
      row.factor = exponent >> 32 >= 64
                       ? 0
                       : fade_factor(seconds(static_cast<std::int64_t>(exponent)), seconds(std::int64_t{1} << 32));
    }
    for (const std::uint32_t child : book_.children()[at]) classic(child, usage, shares);
  }

  const AccountBook& book_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> roots_;
  std::uint32_t users_ = 0;
  std::uint32_t dampening_;
};

double ratio(Wide a, Wide b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

}  // namespace

std::vector<FairShare> fair_shares(const View& view, Time now) {
  const Tree tree(view, now);
  std::vector<FairShare> out;
  for (const Row& row : tree.rows()) {
    if (!row.of->is_user() || !row.of->uid) continue;
    const auto factor = static_cast<std::uint32_t>((Wide{row.factor} * kFullShare + (Wide{1} << 31)) >> 32);
    out.push_back({row.of->account, Uid(*row.of->uid), row.of->partition, factor, row.of->priority.value_or(0)});
  }
  std::ranges::stable_sort(out, before);
  return out;
}

std::vector<Standing> standings(const View& view, Time now) {
  const Tree tree(view, now);
  const Wide all = tree.roots().empty() ? 0 : tree.rows()[tree.roots().front()].usage;
  std::vector<Standing> out;
  const auto visit = [&](const auto& self, std::uint32_t at, std::uint32_t depth) -> void {
    const Row& row = tree.rows()[at];
    Standing one;
    one.association = row.of->id;
    one.depth = depth;
    one.raw_usage = static_cast<std::uint64_t>(row.usage / 1000);
    one.norm_shares = tree.norm_shares(row);
    one.norm_usage = ratio(row.usage, all);
    one.effective_usage = row.above == kNobody ? 1 : ratio(row.usage, tree.usage_above(row));
    one.level_fs = row.level.as_double();
    one.factor = std::ldexp(static_cast<double>(row.factor), -32);
    out.push_back(one);
    for (const std::uint32_t child : view.accounts->children()[at]) self(self, child, depth + 1);
  };
  for (const std::uint32_t root : tree.roots()) visit(visit, root, 0);
  return out;
}

}  // namespace spur::model
