// SPDX-License-Identifier: Apache-2.0
// What the state does for nodes that come and go at run time; model/dynamic_nodes.h draws their life. All moves are a new
// configuration, taken as one from a file is (apply_set_config.cc): indices stay dense, and whatever names nodes follows.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/cluster_config.h"
#include "model/node.h"
#include "model/view.h"

namespace spur::state {

// Files have been read again: nodes that are in none of them stay, and so does whether FUTURE nodes are there. A node that a
// file has meanwhile is the file's.
void keep_dynamic_nodes(model::ClusterConfig& fresh, const model::ClusterConfig& before);

// Whether nobody uses the node, and it is none of a file's.
Status may_delete(const model::View& view, const std::string& name);

// The cluster as who asks for FUTURE nodes sees it: they stand behind all others.
struct WithFutureNodes {
  std::vector<model::Node> nodes;  // only those
  std::vector<model::Partition> partitions;
};
WithFutureNodes with_future_nodes(const model::View& view);

}  // namespace spur::state
