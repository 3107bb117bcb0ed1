// SPDX-License-Identifier: Apache-2.0
#include "sched/node_groups.h"

#include <utility>

namespace spur::sched {

NodeGroups::NodeGroups(const model::View& view, const Capacity& capacity)
    : capacity_(capacity), membership_of_(capacity.size()), places_(capacity.size()) {
  const std::size_t partitions = view.partitions->size();
  std::vector<std::vector<bool>> member(capacity.size(), std::vector<bool>(partitions));
  for (std::size_t p = 0; p < partitions; ++p)
    for (const NodeIndex node : (*view.partitions)[p].nodes)
      if (node.value < capacity.size()) member[node.value][p] = true;
  std::map<std::vector<bool>, std::uint32_t> known;
  for (NodeNumber n = 0; n < capacity.size(); ++n) {
    const auto [at, added] = known.try_emplace(member[n], static_cast<std::uint32_t>(memberships_.size()));
    if (added) memberships_.push_back(member[n]);
    membership_of_[n] = at->second;
  }
  for (NodeNumber n = 0; n < capacity.size(); ++n) update(n, false);
}

std::uint32_t NodeGroups::find_sort(NodeNumber n) {
  const std::vector<std::uint32_t> key{capacity_.kind(n), capacity_.weight(n), membership_of_[n]};
  const auto [at, added] = sort_by_key_.try_emplace(key, static_cast<std::uint32_t>(sorts_.size()));
  if (added) sorts_.push_back({key[0], key[1], key[2], {}, {}, {}});
  return at->second;
}

void NodeGroups::leave_group(NodeNumber n) {
  Place& place = places_[n];
  if (!place.grouped) return;
  place.grouped = false;
  spare_ = place.group->second.extract(n);
  if (place.group->second.empty()) sorts_[place.sort].groups.erase(place.group);
}

bool NodeGroups::update(NodeNumber n, bool alone) {
  Place& place = places_[n];
  leave_group(n);
  const std::uint32_t sort = find_sort(n);
  const bool usable = capacity_.usable(n);
  const bool moved = !place.known || place.sort != sort || place.usable != usable;
  if (moved) {
    if (place.known) (place.usable ? sorts_[place.sort].usable : sorts_[place.sort].unusable).erase(n);
    (usable ? sorts_[sort].usable : sorts_[sort].unusable).insert(n);
    place = {sort, true, usable, false, {}};
  }
  if (usable && !alone) {
    row_.assign(capacity_.free(n), capacity_.free(n) + capacity_.width());
    place.group = sorts_[sort].groups.try_emplace(row_).first;
    place.grouped = true;
    auto& members = place.group->second;
    if (spare_) {
      spare_.value() = n;
      members.insert(std::move(spare_));
    } else {
      members.insert(members.end(), n);
    }
  }
  return moved;
}

}  // namespace spur::sched
