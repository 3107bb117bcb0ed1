// SPDX-License-Identifier: Apache-2.0
// topology.yaml of Slurm 25.05: a list of topologies, each a tree, blocks, or flat. Spur has one: the cluster's default,
// or the first; the others are named in a warning.
#pragma once

#include <string>
#include <string_view>

#include "config/draft.h"

namespace spur::config {

Status read_topology_yaml(std::string_view text, std::string path, Draft& draft);

}  // namespace spur::config
