// SPDX-License-Identifier: Apache-2.0
// topology.yaml of Slurm 25.05: a list of topologies, each a tree, blocks, or flat. It is kept whole, beside slurm.conf
// and in [slurm_files] of spur.conf alike.
#pragma once

#include <string_view>

#include "config/draft.h"

namespace spur::config {

inline constexpr const char* kTopologyYaml = "topology.yaml";

// `begin`: of the file it is line 0; in spur.conf, the line in front of the text.
Status read_topology_yaml(std::string_view text, Position begin, Draft& draft);

}  // namespace spur::config
