// SPDX-License-Identifier: Apache-2.0
// What triggers of strigger (model/trigger.h) wait for, looked for in two pictures of the state: the one before a change
// and the one after it. Pure; the Controller journals what is found and runs the programs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/trigger.h"
#include "model/view.h"

namespace spur::ctld {

using Triggers = std::map<std::uint32_t, model::Trigger>;

struct TriggerHit {
  std::uint32_t id = 0;
  Time due;
  std::string argument;  // what its program is told: the job, the nodes, the event
};
struct TriggerLook {
  std::vector<TriggerHit> hits;
  Time again;  // when to look again though nothing changes; not set: then there is nothing to see
};

// What happens to several nodes within this time is told to one program.
inline constexpr Duration kTriggerGathers = seconds(1);

// `before`: the same state a change earlier, or the present one if only time went by.
TriggerLook look_at_triggers(const Triggers& triggers, const model::View& before, const model::View& view, Time now);
// Those that wait for one of `events` of the daemons, or for a new configuration.
std::vector<TriggerHit> daemon_triggers(const Triggers& triggers, std::uint32_t events, Time now);

}  // namespace spur::ctld
