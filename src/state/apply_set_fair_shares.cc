// SPDX-License-Identifier: Apache-2.0
// SetFairShares: factors that the accounting service has worked out anew.
#include <algorithm>
#include <iterator>

#include "state/apply.h"

namespace spur::state {

using model::FairShare;

Outcome Applier::apply(const SetFairShares& command) {
  const auto same = [](const FairShare& a, const FairShare& b) { return !before(a, b) && !before(b, a); };
  std::vector<FairShare> rows = command.shares;
  for (FairShare& row : rows) row.factor = std::min(row.factor, model::kFullShare);
  // Of two rows for the same user and account the later one counts.
  std::ranges::reverse(rows);
  std::ranges::stable_sort(rows, model::before);
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
  std::vector<FairShare> list;
  if (command.all) {
    list = std::move(rows);
  } else {
    // set_union takes the first list's where both have one.
    std::ranges::set_union(rows, *view.shares, std::back_inserter(list), model::before);
  }
  view.shares = std::make_shared<const std::vector<FairShare>>(std::move(list));
  cluster.changes_.shares = true;
  return {};
}

}  // namespace spur::state
