// SPDX-License-Identifier: Apache-2.0
// Which nodes, cores and devices a reservation gets. Pure: ctld asks before it proposes the reservation, and again
// when one of its nodes has to be replaced.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/view.h"

namespace spur::sched {

// How the nodes were asked for. The counts, features and partition are in the reservation itself.
struct NodeWish {
  std::optional<std::string> names;  // a hostlist, or ALL
};

// Fills `nodes`, and what follows from the way they were asked for: flags, the partition that counts were taken from.
// Times, flags and counts of `reservation` must be set.
//
// Idle nodes are preferred, then those of low weight, then the first. Nodes that another reservation wants at the
// time are taken only with MAINT or OVERLAP, nodes with a job that may run into it only with IGNORE_JOBS. Errors are
// Slurm's: NodesBusy, NodeConfigUnavailable, ReservationOverlap, InvalidNode, InvalidPartition, InvalidFeature.
Status choose_reserved_nodes(const model::View& view, const NodeWish& wish, Time now,
                             model::Reservation& reservation);

// As many nodes as its `node_counts` say, of those that it has and others, or without some of those. All must be whole.
Status resize_reservation(const model::View& view, Time now, model::Reservation& reservation);

// The reservation with others in place of nodes that went down, or got busy (REPLACE); none: nothing is to be
// replaced, or nothing can be.
std::optional<model::Reservation> with_replacements(const model::View& view, const model::Reservation& reservation,
                                                    Time now);

}  // namespace spur::sched
