// SPDX-License-Identifier: Apache-2.0
// The start of a job beside others on cores that they share: out of the row that its nodes were chosen by, what is idle
// is taken like anybody's, and the rest are cores that others have.
#include <algorithm>

#include "sched/walk.h"

namespace spur::sched {

std::vector<model::NodeGrant> with_cores(const Capacity& capacity, std::vector<model::NodeGrant> grants,
                                         const std::vector<std::vector<SharedCore>>& cores) {
  for (std::size_t i = 0; i < grants.size(); ++i) {
    const auto more = cpus_of(capacity.layout(grants[i].node.value), cores[i]);
    grants[i].cpus.insert(grants[i].cpus.end(), more.begin(), more.end());
    std::ranges::sort(grants[i].cpus);
  }
  return grants;
}

std::vector<std::vector<SharedCore>> Walk::grant_beside(const Request& request, const CoreSet& set,
                                                        const std::vector<Share>& shares,
                                                        std::vector<model::NodeGrant>& grants) {
  const Capacity& capacity = s_.profile.capacity();
  const Time end = request.end_of_run(now_);
  std::vector<Beside> found;
  for (const Share& share : shares) found.push_back(s_.profile.beside(share.node, end, set));
  const auto row_of = [&](const Share& share) {
    return found[static_cast<std::size_t>(std::ranges::find(shares, share.node, &Share::node) - shares.begin())]
        .row.data();
  };
  const std::uint64_t rails = common_rails(request, capacity, shares, row_of);
  std::vector<std::vector<SharedCore>> cores;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    Amount* take = &rows_[i * capacity.width()];
    take_of_share(request, capacity, shares[i], rails, found[i].row.data(), take);
    cores.push_back(found[i].split(capacity.layout(shares[i].node), take));
    grants.push_back(grants_->grant(request, shares[i], take));
  }
  return cores;
}

// From now on those that come may share with it.
void Walk::share_cores(const model::Allocation& allocation, const std::vector<std::vector<SharedCore>>& beside,
                       Time end) {
  for (std::size_t i = 0; i < beside.size(); ++i) s_.profile.stay_on(allocation.nodes[i].node.value, beside[i], end);
  s_.profile.share(allocation, end);
}

}  // namespace spur::sched
