// SPDX-License-Identifier: Apache-2.0
// Availability from now on: what is free, what running jobs give back at their limits, what was started in this call,
// and the holds of jobs that are planned for later. A job may start only where, for the whole of its run, it leaves
// every hold what it needs; so whoever starts out of turn delays nobody who was promised a time.
//
// Timelines are made per node when first asked for: a call in which everything starts never makes one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "model/view.h"
#include "sched/capacity.h"
#include "sched/feasibility.h"
#include "sched/occupancy.h"
#include "sched/request.h"
#include "sched/timeline.h"

namespace spur::sched {

// A planned start and all it keeps for that time.
struct Hold {
  Time start, end;
  std::vector<Share> shares;
  std::vector<Amount> rows;      // one per share
  std::vector<Amount> licenses;  // one per licence of the cluster; empty: none
};

class Profile {
 public:
  // Both must outlive the profile; `capacity` is what is free now, and start() takes from it.
  Profile(const model::View& view, Capacity& capacity, Time now);

  Time now() const { return now_; }

  // The least free on the node during [from, to). Valid until the next call.
  const Amount* least(NodeNumber node, Time from, Time to);
  // Whether the licences are there during all of that time.
  bool licenses_suffice(const Request& request, Time from, Time to);

  // The request starts now, with these shares; `rows` is what each takes.
  void start(const Request& request, const std::vector<Share>& shares, const std::vector<Amount>& rows);

  // Makes the hold of a request that starts then.
  Hold make_hold(const Request& request, Time start, std::vector<Share> shares);
  void add(const Hold& hold);
  void remove(const Hold& hold);

  // Nodes on which something was started, held or given back, in order; it only grows. Whoever remembers what a node
  // had to offer looks here for what is out of date.
  const std::vector<NodeNumber>& changes() const { return changes_; }

  // Where nobody holds anything, what is free only grows.
  bool only_grows(NodeNumber node) const { return holds_on_[node] == 0; }
  const Timeline& timeline_of(NodeNumber node) { return timeline(node); }

  // The next moment after `at` at which least(node, t, t + run) may differ, for runs of this request.
  Time next_change(const Request& request, NodeNumber node, Time at);
  Time next_license_change(const Request& request, Time at);

 private:
  struct LateStart {
    Time until;
    std::vector<Amount> row;
  };
  const Occupancy& occupancy();
  Timeline& timeline(NodeNumber node);
  Timeline& licenses();
  std::vector<Amount> license_row(const Request& request) const;
  Time next_change(const Timeline& timeline, bool held, const Request& request, Time at) const;

  const model::View& view_;
  Capacity& capacity_;
  Time now_;
  std::optional<Occupancy> occupancy_;
  std::vector<Timeline> timelines_;                  // by node
  std::vector<std::vector<LateStart>> late_starts_;  // by node, until its timeline is made
  std::vector<std::uint32_t> holds_on_;              // by node
  Timeline licenses_;
  std::uint32_t holds_on_licenses_ = 0;
  std::vector<NodeNumber> changes_;
  std::vector<Amount> scratch_, license_scratch_;
};

}  // namespace spur::sched
