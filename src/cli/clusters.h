// SPDX-License-Identifier: Apache-2.0
// -M, --clusters. There is one cluster to speak to: its own name and "all" mean it, any other is nobody's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"

namespace spur::cli {

struct ClusterList {
  std::vector<std::string> names;  // empty: -M was not given
};
ClusterList parse_clusters(std::string_view value);

// As the controller says; empty if none answers.
std::string cluster_name(Controller& controller);
// Whether all that is named is the cluster of this controller. If not, or it does not answer, the message has been
// printed.
bool is_this_cluster(Context& context, Controller& controller, const ClusterList& list);
// "CLUSTER: name", the line above a table; nothing without -M.
void print_cluster_line(Context& context, const ClusterList& list, std::string_view cluster);

}  // namespace spur::cli
