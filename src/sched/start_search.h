// SPDX-License-Identifier: Apache-2.0
// When a request that cannot start now can start at the earliest, and where. Begins with what is free now and walks
// forward through the ends of running jobs, touching only nodes that gain enough to matter; nodes with holds are
// looked at whenever their own timeline moves. Asks the placement when the counts say that it may be enough.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "sched/offers.h"
#include "sched/profile.h"

namespace spur::sched {

// Whether a run that starts then is over by the request's deadline (or it has none).
bool in_time(const Request& request, Time start);

class StartSearch {
 public:
  // All must outlive the search. It looks for a start before `until`.
  StartSearch(const Request& request, const Reach& reach, Profile& profile, Time until = Time::max());

  // The hold to be made, not before `from`; none if it cannot be done before the request's deadline. Does not make
  // it. To be called once.
  std::optional<Hold> find(Time from);

 private:
  std::optional<Hold> find_greedily(Time from);
  Time next_end();
  bool take_ends(Time until);
  bool look_at_held(NodeNumber n, Time at);
  bool look_at_licenses(Time at);
  std::optional<Hold> attempt(Time at);
  Time time_of(const EndIndex::End& end) const { return not_before_soon(end.at, profile_.now()); }
  bool passes(const EndIndex::End& end) const;

  const Request& request_;
  const Reach& reach_;
  Profile& profile_;
  Time until_;
  Offers offers_;
  EndIndex::Cursor cursor_;
  std::vector<std::pair<Time, NodeNumber>> due_;  // nodes with holds: when to look again; a heap, soonest first
  Time licenses_due_ = Time::max();
  bool licensed_ = false;
  bool changed_ = false;  // an offer, since the last attempt
};

}  // namespace spur::sched
