// SPDX-License-Identifier: Apache-2.0
// The columns sinfo can show, in one table, and what decides which nodes share a line: a column of the partition or
// the node separates those that differ; a size separates them only with --exact, otherwise it shows the least and a
// "+"; counts and lists never do.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "wire/controller_client.h"

namespace spur::cli {

// One line of sinfo.
struct NodeGroup {
  const model::Partition* partition = nullptr;
  std::vector<const model::Node*> nodes;  // may be empty
  bool convert = true;
  const wire::ClusterTable* table = nullptr;  // that the nodes are of
};

enum class Grouping : unsigned char { Partition, Node, Size, Sum };

struct NodeColumn {
  char letter;       // 0: only by name
  const char* name;  // for -O
  const char* title;
  Grouping grouping;
  std::string (*of_node)(const model::Partition* partition, const model::Node& node);  // of Grouping::Node; else null
  std::string (*of_group)(const NodeGroup& group);
};

std::span<const NodeColumn> node_columns();

// Slurm's number for a node's state with its flags, for sorting.
std::uint32_t state_rank(const model::Node& node);
// "debug*": the default partition is marked.
std::string partition_title(const model::Partition& partition);

}  // namespace spur::cli
