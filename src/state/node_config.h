// SPDX-License-Identifier: Apache-2.0
// From what the configuration declares of a node and what its agent found to the hardware in force, and from the
// configuration's hostlists to partitions of nodes that exist.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/cluster_config.h"
#include "model/node.h"
#include "model/view.h"

namespace spur::state {

using NodeNames = std::map<std::string, NodeIndex, std::less<>>;

// NodeGrant names CPUs by 16-bit numbers.
inline constexpr std::uint32_t kMaxCpus = 65'536;
inline constexpr std::string_view kNotResponding = "Not responding";
inline constexpr std::string_view kRemoved = "removed from the configuration";

// Sets node.hardware: what is declared wins; the rest is as found, once the agent has registered. `declared` may be
// null.
void set_hardware(model::Node& node, const model::NodeConfig* declared);
// Why what the agent found is less than what is in force, in Slurm's words; empty if it is not.
std::string shortage(const model::Node& node);

// Those whose row is FUTURE are not there.
enum class DeclaredState : std::uint8_t { Unknown, Down, Drain, Fail, Future, Cloud };
Result<DeclaredState> declared_state(const model::NodeConfig& declared);

// A node that the configuration has and the state did not have.
model::Node fresh_node(const model::NodeConfig& declared, Time now);

// Copies what only the configuration says (host name, features, weight, comment) and sets the hardware.
void configure(model::Node& node, const model::NodeConfig& declared);

// `all`: what "ALL" means. Names that do not exist are an error unless `tolerant`.
Result<std::vector<model::Partition>> resolve_partitions(const model::ClusterConfig& config, const NodeNames& names,
                                                         const std::vector<NodeIndex>& all, bool tolerant);

// Everything that can be said against a configuration by itself.
Status check_config(const model::ClusterConfig& config);

}  // namespace spur::state
