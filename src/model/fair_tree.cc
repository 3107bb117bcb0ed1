// SPDX-License-Identifier: Apache-2.0
#include "model/fair_tree.h"

#include <algorithm>
#include <cmath>

#include "model/counting.h"
#include "model/fixed_power.h"
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
  // Without Fair Tree, of the whole tree, in 2^-32.
  std::uint64_t shares = 0, effective = 0;
};

constexpr std::uint64_t kOne = std::uint64_t{1} << 32;

std::uint64_t saturated(Wide value) {
  return value >> 63 ? ~std::uint64_t{0} >> 1 : static_cast<std::uint64_t>(value);
}

// What usage that is `times` its share, in 2^-32, is worth.
std::uint64_t worth(std::uint64_t times, std::uint32_t dampening) {
  const std::uint64_t exponent = times / dampening;
  return exponent >> 32 >= 64 ? 0 : fade_factor(seconds(static_cast<std::int64_t>(exponent)), seconds(kOne));
}

// Depth-oblivious: how often an association has used its share, from how often the account above it has and from its
// part among its siblings. If one of the two has used more than its share and the other less, the siblings' part
// counts the less the further the account is off. All in 2^-32.
std::uint64_t oblivious_ratio(std::uint64_t above, std::uint64_t among_siblings) {
  if (above == 0 || among_siblings == 0) return 0;
  const std::int64_t log_above = fixed_log2(above), log_here = fixed_log2(among_siblings);
  const bool alike = log_above == 0 || log_here == 0 || (log_above > 0) == (log_here > 0);
  if (alike) return saturated((Wide{above} * among_siblings) >> 32);
  constexpr std::uint64_t kLn2 = 2'977'044'472;  // 2^-32
  const std::uint64_t off = saturated((Wide{static_cast<std::uint64_t>(std::abs(log_above))} * 5 * kLn2) >> 32);
  const Wide square = (Wide{off} * off) >> 32;
  const auto exponent = static_cast<std::uint64_t>((Wide{kOne} << 32) / (kOne + square));
  const auto part = static_cast<std::int64_t>((Wide{static_cast<std::uint64_t>(std::abs(log_here))} * exponent) >> 32);
  return saturated(fixed_exp2(log_above + (log_here < 0 ? -part : part)));
}

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
    const PriorityConfig& rules = view.config->priority;
    fair_tree_ = is_fair_tree(rules);
    if (std::ranges::find(rules.flags, "DEPTH_OBLIVIOUS") != rules.flags.end()) {
      for (const std::uint32_t root : roots_) oblivious(root, kOne, kOne);
    } else if (!fair_tree_) {
      for (const std::uint32_t root : roots_) classic(root, 0, kOne);
    } else {
      std::uint32_t rank = users_, shown = users_;
      for (const std::uint32_t root : roots_) rank_below(children_of(root), rank, shown, false);
    }
  }

  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<std::uint32_t>& roots() const { return roots_; }
  bool of_parent(const Row& row) const { return row.of->shares == kShareOfParent; }
  double effective_usage(const Row& row) const {
    if (row.above == kNobody) return 1;
    if (!fair_tree_) return std::ldexp(static_cast<double>(row.effective), -32);
    const Wide all = usage_above(row);
    return all == 0 ? 0 : static_cast<double>(row.usage) / static_cast<double>(all);
  }
  Wide usage_above(const Row& row) const { return row.above == kNobody ? row.usage : rows_[row.above].usage; }
  double norm_shares(const Row& row) const {
    if (!fair_tree_) return std::ldexp(static_cast<double>(row.shares), -32);
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
    row.shares = shares;
    row.effective = usage;
    if (shares > 0) row.factor = worth(saturated((Wide{usage} << 32) / shares), dampening_);
    for (const std::uint32_t child : book_.children()[at]) classic(child, usage, shares);
  }

  // The same where depth does not count. `times`: how often the account above has used its share.
  void oblivious(std::uint32_t at, std::uint64_t times, std::uint64_t shares) {
    Row& row = rows_[at];
    if (row.of->parent != 0 && !of_parent(row)) {
      shares = row.level_shares == 0 ? 0 : saturated(Wide{shares} * row.of->shares / row.level_shares);
      const Wide all = usage_above(row);
      const Wide used = all == 0 ? 0 : (row.usage << 32) / all;
      times = row.of->shares == 0 ? 0 : oblivious_ratio(times, saturated(used * row.level_shares / row.of->shares));
    }
    row.shares = shares;
    row.effective = saturated((Wide{times} * shares) >> 32);
    if (shares > 0) row.factor = worth(times, dampening_);
    for (const std::uint32_t child : book_.children()[at]) oblivious(child, times, shares);
  }

  const AccountBook& book_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> roots_;
  std::uint32_t users_ = 0;
  std::uint32_t dampening_;
  bool fair_tree_ = true;
};

double ratio(Wide a, Wide b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

}  // namespace

bool is_fair_tree(const PriorityConfig& rules) {
  return std::ranges::none_of(rules.flags,
                              [](const auto& flag) { return flag == "NO_FAIR_TREE" || flag == "DEPTH_OBLIVIOUS"; });
}

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
    one.effective_usage = tree.effective_usage(row);
    one.level_fs = row.level.as_double();
    one.factor = std::ldexp(static_cast<double>(row.factor), -32);
    out.push_back(one);
    for (const std::uint32_t child : view.accounts->children()[at]) self(self, child, depth + 1);
  };
  for (const std::uint32_t root : tree.roots()) visit(visit, root, 0);
  return out;
}

}  // namespace spur::model
