// SPDX-License-Identifier: Apache-2.0
// The network: the checks that it makes sense whichever file it came from.
#pragma once

#include "config/draft.h"

namespace spur::config {

// Turns the switches and blocks of the draft into ClusterConfig::topology. Unknown nodes and switches, a switch below
// itself, and nodes in two places are errors that name the line; nodes in none are a warning.
Status resolve_topology(Draft& draft);

// Partitions name topologies that there are. Before the partitions are resolved.
Status check_partition_topologies(const Draft& draft);

}  // namespace spur::config
