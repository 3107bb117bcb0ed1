// SPDX-License-Identifier: Apache-2.0
// One configuration model with two front ends (config/spur_conf.cc, config/slurm_conf.cc). The part below that shapes
// the cluster (`ClusterConfig`) is journaled as the command SetConfig, so replay does not depend on files; what only
// one daemon on one host needs is in config/daemon_config.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/node.h"
#include "model/preempt.h"

namespace spur::model {

// Whether a node is there: as its State says (all but FUTURE are); a FUTURE one that is there all the same; one that was
// there and is put off (scontrol update State=). model/dynamic_nodes.h
enum class NodePresence : std::uint8_t { AsDeclared, Here, Future };

struct NodeConfig {
  std::string name, hostname, address;
  std::uint16_t port = 0;  // 0: the agent's own choice
  std::optional<std::uint32_t> cpus, boards, sockets, cores_per_socket, threads_per_core;
  std::optional<std::uint64_t> memory_mib, tmp_disk_mib;
  std::vector<NodeGres> gres;
  std::optional<std::uint32_t> spec_cores;
  std::string spec_cpus;
  std::optional<std::uint64_t> spec_memory_mib;
  std::vector<std::string> features;
  std::uint32_t weight = 1;
  std::string state;  // "", "DOWN", "DRAIN", "FUTURE", "CLOUD", ...
  std::string reason, comment;
  bool created = false;  // at run time: it is in no file, and stays when files are read again
  NodePresence presence = NodePresence::AsDeclared;
  friend bool operator==(const NodeConfig&, const NodeConfig&) = default;
};

enum class PartitionState : std::uint8_t { Up, Down, Drain, Inactive };
enum class OverSubscribe : std::uint8_t { No, Yes, Force, Exclusive };

// One weight of PriorityWeightTRES or TRESBillingWeights, in thousandths: replicas must agree to the last digit.
struct TresWeight {
  std::string tres;  // "cpu", "gres/gpu:a100"
  std::int64_t thousandths = 0;
  std::uint32_t per = 1;  // so many units (MiB, for memory) count once
  friend bool operator==(const TresWeight&, const TresWeight&) = default;
};

struct PartitionConfig {
  std::string name;
  bool is_default = false, hidden = false, root_only = false, exclusive_user = false, lln = false;
  PartitionState state = PartitionState::Up;
  std::string nodes;  // hostlist, "ALL" allowed
  std::vector<std::string> node_features{};  // nodes that have one belong to it, too (NodeSet=... Feature=)
  TimeLimit max_time = TimeLimit::unlimited(), default_time;
  std::uint32_t min_nodes = 0;
  std::optional<std::uint32_t> max_nodes;  // unset: unlimited
  std::optional<std::uint32_t> max_cpus_per_node;
  std::vector<std::string> allow_groups, allow_accounts, deny_accounts, allow_qos, deny_qos, alloc_nodes;
  std::string qos, alternate;
  std::uint32_t priority_tier = 1, priority_job_factor = 1;
  OverSubscribe oversubscribe = OverSubscribe::No;
  std::uint32_t oversubscribe_count = 1;
  std::optional<std::uint64_t> default_memory_per_node_mib, default_memory_per_cpu_mib, max_memory_per_node_mib,
      max_memory_per_cpu_mib;
  std::optional<std::uint32_t> max_cpus_per_socket;
  std::optional<std::uint32_t> default_cpus_per_gpu;  // JobDefaults
  std::optional<std::uint64_t> default_memory_per_gpu_mib;
  std::string preempt_mode;  // empty: the cluster's
  std::uint32_t grace_time_seconds = 0;
  std::vector<TresWeight> billing_weights;  // TRESBillingWeights; none: a CPU is one
  // For its nodes, instead of the cluster's; kNeverSuspend for the first.
  std::optional<std::uint32_t> suspend_time_seconds, suspend_timeout_seconds, resume_timeout_seconds;
  bool power_down_on_idle = false;  // PowerDownOnIdle: nodes are switched off after each of its jobs
  bool no_root_jobs = false, requires_reservation = false;  // DisableRootJobs, ReqResv
  std::optional<std::uint32_t> over_time_limit_minutes;     // OverTimeLimit; unset: the cluster's
  std::string topology{};  // name of the one that counts for its jobs; empty: the cluster's
  friend bool operator==(const PartitionConfig&, const PartitionConfig&) = default;
};

struct LicenseConfig {
  std::string name;
  std::uint32_t count = 0;
  friend bool operator==(const LicenseConfig&, const LicenseConfig&) = default;
};

// priority/multifactor; age_weight and age_full are its weight and full time of age.
struct PriorityConfig {
  bool multifactor = true;       // false: priority/basic, the order of arrival
  std::uint32_t base = 100'000;  // points that every job has, so that --nice has something to take from
  std::uint32_t fairshare_weight = 0, job_size_weight = 0, partition_weight = 0, qos_weight = 0, assoc_weight = 0;
  std::vector<TresWeight> tres_weights;
  seconds half_life{7 * 24 * 3600};  // PriorityDecayHalfLife
  seconds calc_period{300};
  std::string usage_reset = "NONE";  // PriorityUsageResetPeriod
  bool favor_small = false;
  std::vector<std::string> flags;  // PriorityFlags, in capitals
  std::uint32_t dampening = 1;     // FairShareDampeningFactor
  friend bool operator==(const PriorityConfig&, const PriorityConfig&) = default;
};

struct PreemptConfig {
  PreemptBy by = PreemptBy::Nothing;
  PreemptHow how = PreemptHow::Off;
  bool gang = false, within = false;  // PreemptMode=GANG, WITHIN
  seconds exempt{0};                  // PreemptExemptTime: run time before a job may be preempted
  std::uint32_t most_per_plan = 100;  // victims of one planning at most
  // PreemptParameters: those who have run for the shortest time go first, whatever they hold; the job's own --signal
  // instead of SIGTERM; who has that priority is left alone.
  bool youngest_first = false, send_user_signal = false;
  std::optional<std::uint32_t> min_exempt_priority{};
  friend bool operator==(const PreemptConfig&, const PreemptConfig&) = default;
};

struct SwitchConfig {
  std::string name, nodes, switches;  // hostlists
  std::uint32_t line = 0;             // of its file, for messages
  friend bool operator==(const SwitchConfig&, const SwitchConfig&) = default;
};
enum class TopologyKind : std::uint8_t { Flat, Tree, Block };
struct TopologyConfig {
  TopologyKind kind = TopologyKind::Flat;
  std::vector<SwitchConfig> switches;  // leaves have nodes, the others switches
  std::vector<SwitchConfig> blocks;    // name and nodes
  std::vector<std::uint32_t> block_sizes;
  bool optional = false;  // TopoOptional: only jobs that ask for switches are placed by them
  std::string name{};     // in topology.yaml; empty: "default"
  friend bool operator==(const TopologyConfig&, const TopologyConfig&) = default;
};

// Who goes first among jobs that may start without delaying one that was promised its start: the smallest product of
// CPUs and limit, or the order of the queue.
enum class BackfillOrder : std::uint8_t { Smallest, Priority };

enum class EnforcePartitionLimits : std::uint8_t { No, Any, All };
enum class MemoryAs : std::uint8_t { NotConsumable, Consumable };

// AccountingStorageEnforce, and what usage is counted in.
struct AccountingConfig {
  bool associations = false;  // who has none may not submit
  bool limits = false, qos = false, wckeys = false;
  bool safe = false;              // a job starts only if it can run to its limit within the minutes of its group
  std::vector<std::string> tres;  // AccountingStorageTRES, besides those that always count
  bool track_wckeys = false;      // TrackWCKey: jobs that name none get their user's
  bool no_jobs = false, no_steps = false;  // are not told to the accounting service
  friend bool operator==(const AccountingConfig&, const AccountingConfig&) = default;
};

inline constexpr std::uint32_t kNeverSuspend = ~std::uint32_t{0};
// Switching nodes off and on (model/power.h says what is in force for a node). ResumeTimeout is ClusterConfig's.
struct PowerConfig {
  std::string suspend_program, resume_program, resume_fail_program;
  std::uint32_t suspend_time_seconds = kNeverSuspend;  // SuspendTime: how long a node is idle before
  seconds suspend_timeout{30};
  std::uint32_t suspend_rate = 60, resume_rate = 300;  // nodes a minute; 0: no limit
  std::string spared_nodes;                            // SuspendExcNodes: "n[1-8]:2,login"
  std::vector<std::string> spared_partitions, spared_states;
  friend bool operator==(const PowerConfig&, const PowerConfig&) = default;
};

struct ClusterConfig {
  std::string cluster_name = "spur";
  std::vector<NodeConfig> nodes;
  std::vector<PartitionConfig> partitions;
  std::vector<LicenseConfig> licenses;
  std::vector<std::string> gres_types;

  std::uint32_t max_node_count = 0;  // MaxNodeCount: how many nodes there may be, with those made at run time; 0: no more
  std::uint32_t first_job_id = 1, max_job_id = 0x03ff0000;
  std::uint32_t max_job_count = 2'000'000, max_array_size = 4'000'001;  // MaxArraySize: highest index + 1
  std::uint32_t max_script_bytes = 4u << 20;
  std::uint32_t max_batch_requeue = 5;
  seconds min_job_age{300};
  seconds node_timeout{300};  // SlurmdTimeout: lease of a node
  seconds kill_wait{30};
  std::string reboot_program;  // RebootProgram: what agents run; empty: nodes are not rebooted
  seconds resume_timeout{60};  // ResumeTimeout: a node that is rebooted or switched on has to be back by then
  PowerConfig power;
  seconds over_time_limit{0};
  seconds complete_wait{0};
  seconds inactive_limit{0};  // InactiveLimit: an allocation is released when its command is gone for so long; 0: never
  seconds scheduler_tick{1};    // only ages priorities
  bool requeue_default = true;  // JobRequeue
  std::uint32_t return_to_service = 1;
  EnforcePartitionLimits enforce_partition_limits = EnforcePartitionLimits::No;
  MemoryAs memory_as = MemoryAs::NotConsumable;  // CR_*_Memory
  bool cores_whole = true;                       // CR_Core: threads of a core go together; false: CR_CPU
  bool block_sockets = false;        // CR_CORE_DEFAULT_DIST_BLOCK: CPUs of a job from one socket after the other
  bool least_loaded_nodes = false;   // CR_LLN: as LLN of every partition
  bool one_task_per_core = false;    // CR_ONE_TASK_PER_CORE, where a job does not say how many
  bool pack_tasks = false;           // CR_Pack_Nodes: -m Pack, where a job does not say
  // Of --gres-flags, where a job does not say: ENFORCE_BINDING_GRES, ONE_TASK_PER_SHARING_GRES.
  bool bind_to_gres = false, one_task_per_shared_gres = false;
  bool spread_shares = false;        // LL_SHARED_GRES: shares come from the device that has most left
  bool shares_of_several = false;    // MULTIPLE_SHARING_GRES_PJ: a job's shares may come from several devices
  bool jobs_use_spec_cores = false;  // AllowSpecResourcesUsage: -S may be less than the node keeps for the system
  std::optional<std::uint64_t> default_memory_per_node_mib, default_memory_per_cpu_mib, max_memory_per_node_mib,
      max_memory_per_cpu_mib;
  bool kill_invalid_dependency = false;  // SchedulerParameters=kill_invalid_depend
  std::uint32_t age_weight = 1000;       // priority points at full age
  seconds age_full{7 * 24 * 3600};
  PriorityConfig priority;
  PreemptConfig preempt;
  AccountingConfig accounting;
  TopologyConfig topology;
  std::vector<TopologyConfig> other_topologies;  // for partitions that name them
  std::uint32_t planned_jobs = 100;  // jobs at the front of the queue that are told when they will start
  // Those that are promised it, by partition: the first, and others who have waited for so long.
  std::uint32_t promised_jobs = 4;
  seconds promise_after{48 * 3600};
  BackfillOrder backfill_order = BackfillOrder::Smallest;
  seconds max_switch_wait{300};                       // SchedulerParameters=max_switch_wait
  seconds reservation_overrun{0};                     // ResvOverRun
  std::optional<std::uint32_t> default_cpus_per_gpu;  // JobDefaults
  std::optional<std::uint64_t> default_memory_per_gpu_mib;
  std::vector<std::uint32_t> admin_uids;  // besides root and the daemon's user (SlurmUser)
  bool hold_on_prolog_fail = true;  // a job whose prolog failed waits to be released (nohold_on_prolog_fail: not)
  std::uint32_t max_launch_failures = 3;  // in a row, then the node is drained; 0: never
  bool accept_unknown_nodes =
      false;  // no node is declared: whoever registers joins, and partitions with nodes ALL have it
  bool config_overrides = false;  // SlurmdParameters=config_overrides: declared hardware wins over found
  bool is_accounted = false;  // events go to an accounting service (AccountingStorageType)
  bool keep_scripts = false, keep_environments = false;  // ... with those of jobs (AccountingStoreFlags)
  bool no_root_jobs = false;   // DisableRootJobs
  bool append_output = false;  // JobFileAppend
  // Exit codes after which a batch job goes back to the queue, and to its held state SPECIAL_EXIT; ascending.
  std::vector<std::uint32_t> requeue_exits, requeue_hold_exits;
  // ReconfigFlags: what scontrol changed of partitions survives a reconfiguration: all of it, or their states.
  bool keep_partition_info = false, keep_partition_state = false;
  // The lines of `scontrol show config`, in its order (config/show.cc).
  std::vector<std::pair<std::string, std::string>> shown;
  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

}  // namespace spur::model
