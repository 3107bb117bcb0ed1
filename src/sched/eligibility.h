// SPDX-License-Identifier: Apache-2.0
// Why a job may not be considered at all: the reasons that lie in the job itself, and those that lie in the partition
// and its nodes whatever runs on them. What is left waits for free resources (Resources, Priority, Licenses;
// planner.cc).
#pragma once

#include <vector>

#include "base/time.h"
#include "model/view.h"
#include "sched/capacity.h"
#include "sched/request.h"

namespace spur::sched {

// Held, dependencies, begin time; None if the job may be looked at now.
model::Reason own_reason(const model::Job& job, Time now);
// When a job that waits for its time may be looked at; not set if it waits for none.
Time begin_of(const model::Job& job);
// When it has waited long enough for few switches; Time::max(): it asks for no such thing.
Time relaxes_at(const model::View& view, const model::Job& job);

// State and limits of the partition: what Slurm checks first, and what EnforcePartLimits makes a submit fail for.
model::Reason limit_reason(const model::PartitionConfig& partition, const Request& request);

// The sheer size of a request, without any wish for particular nodes: what does not fit then is too large for the
// partition (PartitionConfig), what does not fit only with its wishes never will (BadConstraints).
Request size_of(const Request& request);

// Whether the nodes that an arbitrary distribution lists can do while they are empty; that they may be used is known.
bool listed_suffice(const Request& request, const Capacity& capacity);

// Whether the request fits on these nodes while nothing runs on them.
bool fits_when_empty(const Request& request, const Capacity& capacity, const std::vector<NodeNumber>& nodes);

// The nodes of the partition on which, empty, the request can be placed (or a part of it): usable ones in `nodes`.
// The reason is None if they suffice.
struct Candidates {
  model::Reason reason = model::Reason::None;
  std::vector<NodeNumber> nodes;  // ascending
};
Candidates find_candidates(const model::Partition& partition, const Request& request, const Capacity& capacity);

}  // namespace spur::sched
