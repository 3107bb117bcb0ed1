// SPDX-License-Identifier: Apache-2.0
// The cluster's configuration and its partitions as messages.
#pragma once

#include "base/result.h"
#include "model/cluster_config.h"
#include "model/view.h"

namespace spur::v1 {
class ClusterConfig;
class NodeConfig;
class Partition;
class PartitionConfig;
}  // namespace spur::v1

namespace spur::wire {

void to_proto(const model::NodeConfig& from, v1::NodeConfig* to);
Status from_proto(const v1::NodeConfig& from, model::NodeConfig* to);
void to_proto(const model::PartitionConfig& from, v1::PartitionConfig* to);
Status from_proto(const v1::PartitionConfig& from, model::PartitionConfig* to);
void to_proto(const model::Partition& from, v1::Partition* to);
Status from_proto(const v1::Partition& from, model::Partition* to);
void to_proto(const model::ClusterConfig& from, v1::ClusterConfig* to);
Status from_proto(const v1::ClusterConfig& from, model::ClusterConfig* to);

// Takes the named fields of `from` over into *to; InvalidArgument for a name that is none.
Status merge_partition(const model::PartitionConfig& from, const std::vector<std::string>& changed,
                       model::PartitionConfig* to);

// Names of the fields in which they differ, as merge_partition takes them.
std::vector<std::string> changed_fields(const model::PartitionConfig& before, const model::PartitionConfig& after);

}  // namespace spur::wire
