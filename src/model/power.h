// SPDX-License-Identifier: Apache-2.0
// What the configuration says of switching nodes off and on: whether it is done at all, after how long, and which nodes
// are spared. Pure; state/power.cc and ctld/node_watch.cc decide by it, so that they agree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/view.h"

namespace spur::model {

// Both programs are there, and SuspendTime says when, in the cluster or in some partition.
bool saves_power(const ClusterConfig& config);

struct PowerTimes {
  std::optional<seconds> idle;  // after which it is switched off; none: not by itself
  seconds down, up;             // how long that may take (SuspendTimeout, ResumeTimeout)
};
// Of several partitions that say something the longest time counts; if none does, the cluster's.
PowerTimes power_times(const View& view, const Node& node);

// Whether this is due now. The leader finds it, and apply asks again: a node may have got a job, or come back, meanwhile.
// What is spared is not part of it: that is for the leader to say.
bool is_due(const View& view, const Node& node, NodeDue what, Time now);

// SuspendExcNodes, by its parts: "n[1-8]:2" keeps two usable nodes of the eight, "n9" all that are named.
struct SparedNodes {
  std::vector<std::string> names;
  std::optional<std::uint32_t> count;
};
Result<std::vector<SparedNodes>> parse_spared_nodes(std::string_view text);

// Whether SuspendExcStates names a state that the node is in. Nothing for a word that is no state.
std::optional<std::uint32_t> spared_state(std::string_view word);
bool is_spared_by_state(const Node& node, const std::vector<std::string>& words);

}  // namespace spur::model
