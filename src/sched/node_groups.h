// SPDX-License-Identifier: Apache-2.0
// Nodes that look alike, as one. Nodes of one sort have the same hardware, weight and partitions, so a request that
// names no nodes can do the same on any of them when empty; nodes of one sort with equal free rows form a group, and
// what one of them offers now, each offers. The scheduler looks at groups; which node of a group it takes is a matter
// of the lowest number.
//
// Nodes that somebody has plans for are alone: what they offer depends on time, too. They and unusable ones belong to
// a sort, but to no group.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "model/view.h"
#include "sched/capacity.h"

namespace spur::sched {

using NodeSet = std::set<NodeNumber>;

// Rows with many free CPUs first, so that a walk can stop where they are too few.
struct RoomiestFirst {
  bool operator()(const std::vector<Amount>& a, const std::vector<Amount>& b) const {
    return a[Columns::kCpu] != b[Columns::kCpu] ? a[Columns::kCpu] > b[Columns::kCpu] : a < b;
  }
};

struct NodeSort {
  std::uint32_t kind = 0, weight = 0, membership = 0;
  NodeSet usable, unusable;
  std::map<std::vector<Amount>, NodeSet, RoomiestFirst> groups;  // by free row; none of them empty
};

class NodeGroups {
 public:
  NodeGroups(const model::View& view, const Capacity& capacity);

  // Brings the node's place up to date with the capacity. True if its sort changed, or whether it is usable.
  bool update(NodeNumber n, bool alone);

  const std::vector<NodeSort>& sorts() const { return sorts_; }
  std::uint32_t sort_of(NodeNumber n) const { return places_[n].sort; }
  bool usable(NodeNumber n) const { return places_[n].usable; }
  bool grouped(NodeNumber n) const { return places_[n].grouped; }
  // `partition` is a position in View::partitions.
  bool in_partition(const NodeSort& sort, std::size_t partition) const {
    return memberships_[sort.membership][partition];
  }

 private:
  using Groups = std::map<std::vector<Amount>, NodeSet, RoomiestFirst>;
  struct Place {
    std::uint32_t sort = 0;
    bool known = false, usable = false, grouped = false;
    Groups::iterator group;
  };
  std::uint32_t find_sort(NodeNumber n);
  void leave_group(NodeNumber n);

  const Capacity& capacity_;
  std::vector<std::vector<bool>> memberships_;  // by membership, then partition
  std::vector<std::uint32_t> membership_of_;    // by node
  std::vector<NodeSort> sorts_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> sort_by_key_;
  std::vector<Place> places_;
  std::vector<Amount> row_;  // scratch
  NodeSet::node_type spare_;
};

}  // namespace spur::sched
