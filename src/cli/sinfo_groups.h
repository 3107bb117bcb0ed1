// SPDX-License-Identifier: Apache-2.0
// Which nodes share a line of sinfo, and in which order the lines come. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/sinfo_columns.h"
#include "text/columns.h"

namespace spur::cli {

struct GroupRules {
  std::vector<const NodeColumn*> columns;  // those on the line
  bool exact = false;                      // -e: sizes separate as well
  bool by_node = false;                    // -N: a line per node and partition
  bool reasons_only = false;               // -R: nodes with a reason, whatever their partition
  bool empty_lines = true;                 // a partition without a matching node gets a line of its own
};

// `partitions` in the order they are to appear, `matches` says which nodes are wanted.
std::vector<NodeGroup> group_nodes(const wire::ClusterTable& table,
                                   const std::vector<const model::Partition*>& partitions,
                                   const std::vector<bool>& matches, const GroupRules& rules);

// Keys as in "#P,-t". Letters that name no column are passed over.
void sort_groups(std::vector<NodeGroup>& groups, const wire::ClusterTable& table, std::string_view keys);

}  // namespace spur::cli
