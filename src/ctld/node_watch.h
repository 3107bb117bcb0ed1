// SPDX-License-Identifier: Apache-2.0
// What is due for nodes that reboot, or are switched off and on: the leader looks from time to time and proposes it
// (controller_power.cc). Which nodes are spared, and how many may be switched in a minute, is decided here and nowhere else;
// the rest is model/power.h, by which apply looks again. Pure but for the memory of the last minute, which is not replicated.
#pragma once

#include <deque>
#include <vector>

#include "model/view.h"
#include "state/command.h"

namespace spur::ctld {

class NodeWatch {
 public:
  // At most one command of each kind, its nodes in their order. What is named counts against the rates.
  std::vector<state::NodesDue> look(const model::View& view, Time now, Duration monotonic);
  void forget() { off_.clear(), on_.clear(); }  // another controller leads

 private:
  std::deque<Duration> off_, on_;  // of the last minute, ascending
};

}  // namespace spur::ctld
