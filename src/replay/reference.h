// SPDX-License-Identifier: Apache-2.0
// Schedulers out of the textbook, on a machine of which only the number of processors counts: what the planner is
// measured against. FCFS starts jobs in the order they came. EASY lets others pass the first that has to wait, as
// long as they do not delay it, judged by what users asked for.
#pragma once

#include <cstdint>

#include "replay/outcome.h"
#include "replay/workload.h"

namespace spur::replay {

struct ReferencePolicy {
  enum class Order : std::uint8_t { Arrival, Shortest, Smallest };  // Smallest: processors times limit
  Order queue = Order::Arrival;                                     // who is first
  bool backfill = true;                                             // may others pass it
  Order backfill_order = Order::Arrival;
  // Promises: the first job that waits has one; so have those that have waited longer than `patience`, up to
  // `promises` in all. Others may pass them only as far as they delay none of them.
  std::uint32_t promises = 1;
  seconds patience{0};
};

Outcome replay_reference(const Workload& workload, const ReferencePolicy& policy, const Progress& progress = {});

}  // namespace spur::replay
