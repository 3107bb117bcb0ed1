// SPDX-License-Identifier: Apache-2.0
// The network: topology.conf, and the checks that it makes sense whichever file it came from.
#pragma once

#include <string>
#include <string_view>

#include "config/draft.h"
#include "config/slurm_conf.h"

namespace spur::config {

// Lines of SwitchName=, BlockName= and BlockSizes=.
Status read_topology_conf(std::string_view text, std::string path, const FileReader& read, Draft& draft);

// Turns the switches and blocks of the draft into ClusterConfig::topology. Unknown nodes and switches, a switch below
// itself, and nodes in two places are errors that name the line; nodes in none are a warning.
Status resolve_topology(Draft& draft);

}  // namespace spur::config
