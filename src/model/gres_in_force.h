// SPDX-License-Identifier: Apache-2.0
// Which GRES a node has, from what the configuration declares and what its agent found. The controller and the agent
// must agree on it: it is what numbers the devices.
#pragma once

#include <string_view>
#include <vector>

#include "model/node.h"

namespace spur::model {

// What is declared counts; a declaration that names no files is filled with what was found of that name (AutoDetect):
// files, cores and links, one row per device. As in Slurm a declared type fits a found one that contains it. Without
// any declaration all that was found is there.
std::vector<NodeGres> gres_in_force(const std::vector<NodeGres>& declared, const std::vector<NodeGres>& found);

// How many shares each GPU has that is shared as `name` ("shard", "mps"); none if no row has that name. The shares of
// a row are dealt out over the GPUs whose files it names, else those of its type, else all. One that no row means has
// one.
std::vector<std::uint64_t> shares_by_gpu(const std::vector<NodeGres>& gres, std::string_view name);

}  // namespace spur::model
