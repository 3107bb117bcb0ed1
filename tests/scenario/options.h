// SPDX-License-Identifier: Apache-2.0
// The tables of what a scenario may say about nodes, partitions, the configuration and jobs. An option that is not in
// its table is an error, so that a misspelt one does not make a test that tests nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "line.h"
#include "model/cluster_config.h"
#include "model/job_spec.h"

namespace spur::scenario {

Status apply_node_options(const Line& line, model::NodeConfig& node);
// Without the first word, which is the name.
Status apply_partition_options(const Line& line, model::PartitionConfig& partition);
Status apply_config_options(const Line& line, model::ClusterConfig& config);

struct JobContext {
  Time zero;                                                // times in scenarios count from here
  std::function<Result<JobId>(const std::string&)> job_id;  // of a job's name
};
// Without the first word, which is the name. A job that says how many nodes it wants, and no word about tasks, CPUs
// or memory, wants them whole.
Status apply_job_options(const Line& line, const JobContext& context, model::JobSpec& spec);

}  // namespace spur::scenario
