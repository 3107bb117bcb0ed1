// SPDX-License-Identifier: Apache-2.0
// Nodes that come and go at run time. A node made by `scontrol create` or `slurmd -Z` is a row of the configuration like
// one from a file, but for `created`: so all that is said of nodes holds for it. A FUTURE node is a row without a record
// in the state: nothing starts on it, nobody waits for it, and it is shown only to who asks.
//
//              slurmd -F finds it, scontrol update State=IDLE          a file that says otherwise
//     FUTURE --------------------------------------------> a node <------------------------------- not there
//        ^                                                    |                                        |
//        +------------------- State=FUTURE -------------------+ <--- scontrol create, slurmd -Z -------+
//                                                             +----- scontrol delete (created ones) ---->
#pragma once

#include <cstdint>
#include <string>

#include "model/cluster_config.h"
#include "model/node.h"

namespace spur::model {

bool is_future(const NodeConfig& row);

// No node is configured, nor a number of them: who registers is a node of the cluster. Rows made at run time stand
// behind all others.
bool takes_anybody(const ClusterConfig& config);

// How many more nodes there may be. `unlisted`: those that have no row.
std::uint64_t room_for_nodes(const ClusterConfig& config, std::size_t unlisted);

// Whether a host with this hardware can take the place of the FUTURE node: processors as declared, and memory enough.
bool can_be(const NodeConfig& row, const NodeHardware& found, const std::string& feature);

}  // namespace spur::model
