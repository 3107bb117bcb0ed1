// SPDX-License-Identifier: Apache-2.0
// A start of all components of a heterogeneous job at one moment, each on nodes of its own: whether there is one
// then, and when the next one is. Nothing is remembered between calls, and nothing is decided here (het_walk.cc
// does).
//
// Components are placed one after the other, and each leaves its nodes out for those that follow. Who finds no room
// because of an earlier one comes first in another try, once each: a component that can run on few nodes is not kept
// from them by one that could run anywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/lane.h"
#include "sched/profile.h"

namespace spur::sched {

struct HetPart {
  std::uint32_t nth = 0;  // which of the lanes that the component may use
  Lane::Fit fit;
};

class HetSearch {
 public:
  // For each component the lanes to try, in that order; each of them could run its jobs (reason() is None). All must
  // outlive the search.
  HetSearch(Profile& profile, std::vector<std::vector<Lane*>> lanes);

  // A part per component, in order; empty: they do not fit at that moment.
  std::vector<HetPart> fit_at(Time at);
  // The same for the first moment that will do; empty: there is none.
  std::vector<HetPart> fit_after(Time from);

 private:
  std::vector<HetPart> attempt(const std::vector<std::size_t>& order, Time at, std::size_t& failed);
  Time none_before(Time from);
  Time next_license_step(Time at);

  Profile& profile_;
  std::vector<std::vector<Lane*>> lanes_;
};

}  // namespace spur::sched
