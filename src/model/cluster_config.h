// SPDX-License-Identifier: Apache-2.0
// One configuration model with two front ends (config/spur_conf.cc, config/slurm_conf.cc). The part below that shapes the
// cluster (`ClusterConfig`) is journaled as the command SetConfig, so replay does not depend on files; what only one daemon
// on one host needs is in config/daemon_config.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/node.h"

namespace spur::model {

struct NodeConfig {
  std::string name, hostname, address;
  std::uint16_t port = 0;               // 0: the agent's own choice
  std::optional<std::uint32_t> cpus, boards, sockets, cores_per_socket, threads_per_core;
  std::optional<std::uint64_t> memory_mib, tmp_disk_mib;
  std::vector<NodeGres> gres;
  std::vector<std::string> features;
  std::uint32_t weight = 1;
  std::string state;                    // "", "DOWN", "DRAIN", "FUTURE", "CLOUD", ...
  std::string reason, comment;
  friend bool operator==(const NodeConfig&, const NodeConfig&) = default;
};

enum class PartitionState : std::uint8_t { Up, Down, Drain, Inactive };
enum class OverSubscribe : std::uint8_t { No, Yes, Force, Exclusive };

struct PartitionConfig {
  std::string name;
  bool is_default = false, hidden = false, root_only = false, exclusive_user = false, lln = false;
  PartitionState state = PartitionState::Up;
  std::string nodes;                    // hostlist, "ALL" allowed
  TimeLimit max_time = TimeLimit::unlimited(), default_time;
  std::uint32_t min_nodes = 0;
  std::optional<std::uint32_t> max_nodes;      // unset: unlimited
  std::optional<std::uint32_t> max_cpus_per_node;
  std::vector<std::string> allow_groups, allow_accounts, deny_accounts, allow_qos, deny_qos, alloc_nodes;
  std::string qos, alternate;
  std::uint32_t priority_tier = 1, priority_job_factor = 1;
  OverSubscribe oversubscribe = OverSubscribe::No;
  std::uint32_t oversubscribe_count = 1;
  std::optional<std::uint64_t> default_memory_per_node_mib, default_memory_per_cpu_mib, max_memory_per_node_mib, max_memory_per_cpu_mib;
  std::string preempt_mode;             // empty: the cluster's
  std::uint32_t grace_time_seconds = 0;
  friend bool operator==(const PartitionConfig&, const PartitionConfig&) = default;
};

struct LicenseConfig {
  std::string name;
  std::uint32_t count = 0;
  friend bool operator==(const LicenseConfig&, const LicenseConfig&) = default;
};

enum class EnforcePartitionLimits : std::uint8_t { No, Any, All };
enum class MemoryAs : std::uint8_t { NotConsumable, Consumable };

struct ClusterConfig {
  std::string cluster_name = "spur";
  std::vector<NodeConfig> nodes;
  std::vector<PartitionConfig> partitions;
  std::vector<LicenseConfig> licenses;
  std::vector<std::string> gres_types;

  std::uint32_t first_job_id = 1, max_job_id = 0x03ff0000;
  std::uint32_t max_job_count = 2'000'000, max_array_size = 4'000'001;  // MaxArraySize: highest index + 1
  std::uint32_t max_script_bytes = 4u << 20;
  std::uint32_t max_batch_requeue = 5;
  seconds min_job_age{300};
  seconds node_timeout{300};            // SlurmdTimeout: lease of a node
  seconds kill_wait{30};
  seconds over_time_limit{0};
  seconds complete_wait{0};
  seconds scheduler_tick{1};            // only ages priorities
  bool requeue_default = true;          // JobRequeue
  std::uint32_t return_to_service = 1;
  EnforcePartitionLimits enforce_partition_limits = EnforcePartitionLimits::No;
  MemoryAs memory_as = MemoryAs::NotConsumable;   // CR_*_Memory
  bool cores_whole = true;              // CR_Core: threads of a core go together; false: CR_CPU
  std::optional<std::uint64_t> default_memory_per_node_mib, default_memory_per_cpu_mib, max_memory_per_node_mib, max_memory_per_cpu_mib;
  bool kill_invalid_dependency = false; // SchedulerParameters=kill_invalid_depend
  std::uint32_t age_weight = 1000;      // priority points at full age
  seconds age_full{7 * 24 * 3600};
  std::vector<std::uint32_t> admin_uids;     // besides root and the daemon's user (SlurmUser)
  bool accept_unknown_nodes = false;    // no node is declared: whoever registers joins, and partitions with nodes ALL have it
  bool config_overrides = false;        // SlurmdParameters=config_overrides: declared hardware wins over found
  // The lines of `scontrol show config`, in its order (config/show.cc).
  std::vector<std::pair<std::string, std::string>> shown;
  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

}  // namespace spur::model
