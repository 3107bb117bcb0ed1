// SPDX-License-Identifier: Apache-2.0
// Fair-share: what each user's association is worth, from its shares and its usage beside those of its siblings.
// Fair Tree ranks the users (Slurm's default): among siblings whoever has used less of its share comes first, with
// all below it. Classic (PriorityFlags=NO_FAIR_TREE) is 2^-(usage/shares) over the whole tree; DEPTH_OBLIVIOUS the same with
// usage that does not weigh more the deeper the tree is. Integers only, so that replicas agree; what people read
// (standings) is made from the same numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "model/view.h"

namespace spur::model {

bool is_fair_tree(const PriorityConfig& rules);

// What sshare shows of one association.
struct Standing {
  std::uint32_t association = 0;
  std::uint32_t depth = 0;
  std::uint64_t raw_usage = 0;  // of what is billed, in seconds
  double norm_shares = 0, norm_usage = 0, effective_usage = 0;
  double level_fs = 0;  // infinity: nothing used
  double factor = 0;    // of users
};

// In the order of the tree: an account, its accounts and users by name.
std::vector<Standing> standings(const View& view, Time now);

// The rows of View::shares: one for every user whose number is known.
std::vector<FairShare> fair_shares(const View& view, Time now);

}  // namespace spur::model
