// SPDX-License-Identifier: Apache-2.0
// A cluster of given nodes in one partition, as traces have it.
#pragma once

#include <memory>
#include <vector>

#include "model/view.h"

namespace spur::replay {

// `nodes` need their hardware and features only: they are called n1, n2, ..., are idle and can be used.
model::View one_partition(std::shared_ptr<const model::ClusterConfig> config,
                          std::vector<std::shared_ptr<model::Node>> nodes);

}  // namespace spur::replay
