// SPDX-License-Identifier: Apache-2.0
// When a request that cannot start now can start at the earliest, and where. Walks forward through the moments at
// which availability grows on any of its nodes, and asks the placement at each whether it is enough.
//
// The search can be asked again, for the next job with the same request, as long as nothing was given back in
// between: then that job cannot start sooner than the last one, and only nodes that changed are looked at anew.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sched/profile.h"

namespace spur::sched {

class StartSearch {
 public:
  // All must outlive the search. `nodes` are the candidates in ascending order; on them, empty, the request can run.
  StartSearch(const Request& request, std::span<const NodeNumber> nodes, const Capacity& capacity, Profile& profile,
              Time from);

  // The hold to be made; none if it cannot be done before the request's deadline. Does not make it.
  std::optional<Hold> next();

 private:
  static constexpr std::size_t kLicenses = ~std::size_t{0};

  void catch_up();
  bool look_at(std::size_t i);
  bool look_at_licenses();
  Time next_gain(std::size_t i);
  void remember(Time when, std::size_t i);
  void count(const Offer& offer, int sign);
  bool may_suffice() const;
  std::optional<Hold> attempt();

  const Request& request_;
  std::span<const NodeNumber> nodes_;
  const Capacity& capacity_;
  Profile& profile_;
  Time at_;
  std::size_t seen_ = 0;  // of the profile's changes
  bool begun_ = false, licensed_ = false;
  std::vector<Offer> offers_;  // beside nodes_
  std::vector<Time> due_;      // beside nodes_: when to look again
  Time licenses_due_;
  std::vector<std::pair<Time, std::size_t>> heap_;  // the same, soonest first, with outdated entries
  std::int64_t useful_ = 0, tasks_ = 0, enough_alone_ = 0;
};

// Whether a run that starts then is over by the request's deadline (or it has none).
bool in_time(const Request& request, Time start);

}  // namespace spur::sched
