// SPDX-License-Identifier: Apache-2.0
// The records of `scontrol show`: pure functions from the controller's tables to text.
#pragma once

#include <optional>
#include <string>

#include "model/cluster_config.h"
#include "wire/controller_client.h"

namespace spur::cli {

struct RecordStyle {
  bool one_line = false;  // -o
  bool details = false;   // -d
};

struct ShownPlan {  // beside what the record says
  Time expected_start, preemptable;
  std::string nodes;  // where it is expected to start; empty: not known
  std::string cron{};  // of a job of scrontab: its times; empty: it is none
};
// `task` picks one task of an array's pending rest.
std::string job_record(const model::Job& job, const wire::JobTable& table, const ShownPlan& plan,
                       std::optional<std::uint32_t> task, RecordStyle style);
std::string node_record(const model::Node& node, const wire::ClusterTable& table, RecordStyle style);
std::string partition_record(const model::Partition& partition, const wire::ClusterTable& table, RecordStyle style);
// Parts of them that other forms of the same answer show.
std::pair<std::string, std::string> host_and_port(const std::string& address);
std::string configured_tres(const model::NodeHardware& hardware);
std::string used_tres(const model::Node& node);
std::string partition_tres(const model::Partition& partition, const wire::ClusterTable& table);
std::uint64_t partition_cpus(const model::Partition& partition, const wire::ClusterTable& table);
std::string partition_nodes(const model::Partition& partition, const wire::ClusterTable& table);
std::string_view partition_state(model::PartitionState state);
std::string over_time_limit(const model::PartitionConfig& config);  // "NONE", minutes, "UNLIMITED"
// "cpu=2,gres/gpu=1" of a reservation; empty: it holds none.
std::string reservation_tres(const wire::ReservationRow& row);
std::string config_text(const model::ClusterConfig& config, Time as_of);
// The same, and nodes and partitions as they are, as a slurm.conf.
std::string config_file_text(const model::ClusterConfig& config, const wire::ClusterTable& table,
                             std::string_view date);

}  // namespace spur::cli
