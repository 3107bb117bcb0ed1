// SPDX-License-Identifier: Apache-2.0
#include "wire/config_codec.h"

#include "spur/v1/types.pb.h"
#include "wire/fields.h"
#include "wire/id_codec.h"
#include "wire/node_codec.h"

namespace spur::wire {

// clang-format off
#define SPUR_NODE_CONFIG_FIELDS(F) \
  F(PLAIN, name) F(PLAIN, hostname) F(PLAIN, address) F(PLAIN, port) F(OPT, cpus) F(OPT, boards) F(OPT, sockets) \
  F(OPT, cores_per_socket) F(OPT, threads_per_core) F(OPT, memory_mib) F(OPT, tmp_disk_mib) F(MSGS, gres) \
  F(TEXTS, features) F(DEF, weight) F(PLAIN, state) F(PLAIN, reason) F(PLAIN, comment) \
  F(OPT, spec_cores) F(PLAIN, spec_cpus) F(OPT, spec_memory_mib) F(PLAIN, created) F(ENUM, presence)
// clang-format on
void to_proto(const model::NodeConfig& m, v1::NodeConfig* p){SPUR_NODE_CONFIG_FIELDS(SPUR_TO)} Status
    from_proto(const v1::NodeConfig& p, model::NodeConfig* m) {
  SPUR_NODE_CONFIG_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_TRES_WEIGHT_FIELDS(F) F(PLAIN, tres) F(PLAIN, thousandths) F(DEF, per)
static void to_proto(const model::TresWeight& m, v1::TresWeight* p) {
  SPUR_TRES_WEIGHT_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::TresWeight& p, model::TresWeight* m) {
  SPUR_TRES_WEIGHT_FIELDS(SPUR_FROM)
  return {};
}

// clang-format off
#define SPUR_PARTITION_CONFIG_FIELDS(F) \
  F(PLAIN, name) F(PLAIN, is_default) F(PLAIN, hidden) F(PLAIN, root_only) F(PLAIN, exclusive_user) F(PLAIN, lln) \
  F(ENUM, state) F(PLAIN, nodes) F(LIMIT, max_time) F(LIMIT, default_time) F(PLAIN, min_nodes) F(OPT, max_nodes) \
  F(OPT, max_cpus_per_node) F(TEXTS, allow_groups) F(TEXTS, allow_accounts) F(TEXTS, deny_accounts) \
  F(TEXTS, allow_qos) F(TEXTS, deny_qos) F(TEXTS, alloc_nodes) F(PLAIN, qos) F(PLAIN, alternate) \
  F(DEF, priority_tier) F(DEF, priority_job_factor) F(ENUM, oversubscribe) F(DEF, oversubscribe_count) \
  F(OPT, default_memory_per_node_mib) F(OPT, default_memory_per_cpu_mib) F(OPT, max_memory_per_node_mib) \
  F(OPT, max_memory_per_cpu_mib) F(PLAIN, preempt_mode) F(PLAIN, grace_time_seconds) \
  F(OPT, max_cpus_per_socket) F(OPT, default_cpus_per_gpu) F(OPT, default_memory_per_gpu_mib) \
  F(MSGS, billing_weights) F(OPT, suspend_time_seconds) F(OPT, suspend_timeout_seconds) \
  F(OPT, resume_timeout_seconds) F(PLAIN, power_down_on_idle) F(TEXTS, node_features) F(PLAIN, no_root_jobs) \
  F(PLAIN, requires_reservation) F(OPT, over_time_limit_minutes) F(PLAIN, topology)
// clang-format on
void to_proto(const model::PartitionConfig& m, v1::PartitionConfig* p){SPUR_PARTITION_CONFIG_FIELDS(SPUR_TO)} Status
    from_proto(const v1::PartitionConfig& p, model::PartitionConfig* m) {
  SPUR_PARTITION_CONFIG_FIELDS(SPUR_FROM)
  return {};
}

Status merge_partition(const model::PartitionConfig& from, const std::vector<std::string>& changed,
                       model::PartitionConfig* to) {
  for (const std::string& name : changed) {
    bool known = false;
#define SPUR_MERGE(kind, f)   \
  if (!known && name == #f) { \
    to->f = from.f;           \
    known = true;             \
  }
    SPUR_PARTITION_CONFIG_FIELDS(SPUR_MERGE)
#undef SPUR_MERGE
    if (!known) return fail(ErrorCode::InvalidArgument, "A partition has no field " + name);
  }
  return {};
}

std::vector<std::string> changed_fields(const model::PartitionConfig& before, const model::PartitionConfig& after) {
  std::vector<std::string> out;
#define SPUR_DIFFERS(kind, f) \
  if (!(before.f == after.f)) out.emplace_back(#f);
  SPUR_PARTITION_CONFIG_FIELDS(SPUR_DIFFERS)
#undef SPUR_DIFFERS
  return out;
}

#define SPUR_PARTITION_FIELDS(F) F(MSG, config) F(RUNS, nodes)
void to_proto(const model::Partition& m, v1::Partition* p){SPUR_PARTITION_FIELDS(SPUR_TO)} Status
    from_proto(const v1::Partition& p, model::Partition* m) {
  SPUR_PARTITION_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_LICENSE_CONFIG_FIELDS(F) F(PLAIN, name) F(PLAIN, count)
static void to_proto(const model::LicenseConfig& m, v1::LicenseConfig* p) {
  SPUR_LICENSE_CONFIG_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::LicenseConfig& p, model::LicenseConfig* m) {
  SPUR_LICENSE_CONFIG_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_PRIORITY_CONFIG_FIELDS(F)                                                                    \
  F(DEF, multifactor)                                                                                     \
  F(PLAIN, fairshare_weight)                                                                              \
  F(PLAIN, job_size_weight)                                                                               \
  F(PLAIN, partition_weight)                                                                              \
  F(PLAIN, qos_weight)                                                                                    \
  F(PLAIN, assoc_weight)                                                                                  \
  F(MSGS, tres_weights)                                                                                   \
  F(SECONDS, half_life) F(SECONDS, calc_period) F(DEF, usage_reset) F(PLAIN, favor_small) F(TEXTS, flags) \
      F(DEF, base) F(DEF, dampening)
static void to_proto(const model::PriorityConfig& m, v1::PriorityConfig* p) {
  SPUR_PRIORITY_CONFIG_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::PriorityConfig& p, model::PriorityConfig* m) {
  SPUR_PRIORITY_CONFIG_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_ACCOUNTING_CONFIG_FIELDS(F) \
  F(PLAIN, associations) F(PLAIN, limits) F(PLAIN, qos) F(PLAIN, wckeys) F(PLAIN, safe) F(TEXTS, tres) \
  F(PLAIN, track_wckeys) F(PLAIN, no_jobs) F(PLAIN, no_steps)
static void to_proto(const model::AccountingConfig& m, v1::AccountingConfig* p) {
  SPUR_ACCOUNTING_CONFIG_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::AccountingConfig& p, model::AccountingConfig* m) {
  SPUR_ACCOUNTING_CONFIG_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_PREEMPT_CONFIG_FIELDS(F) \
  F(ENUM, by) F(PLAIN, gang) F(PLAIN, within) F(SECONDS, exempt) F(DEF, most_per_plan) \
  F(PLAIN, youngest_first) F(PLAIN, send_user_signal) F(OPT, min_exempt_priority)
static void to_proto(const model::PreemptConfig& m, v1::PreemptConfig* p) {
  p->set_how(static_cast<v1::PreemptHow>(m.how));
  SPUR_PREEMPT_CONFIG_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::PreemptConfig& p, model::PreemptConfig* m) {
  if (p.has_how() && !take_enum(p.how(), &m->how)) return bad_field("how");
  SPUR_PREEMPT_CONFIG_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_SWITCH_CONFIG_FIELDS(F) F(PLAIN, name) F(PLAIN, nodes) F(PLAIN, switches) F(PLAIN, line)
static void to_proto(const model::SwitchConfig& m, v1::SwitchConfig* p) {
  SPUR_SWITCH_CONFIG_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::SwitchConfig& p, model::SwitchConfig* m) {
  SPUR_SWITCH_CONFIG_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_TOPOLOGY_CONFIG_FIELDS(F) \
  F(ENUM, kind) F(MSGS, switches) F(MSGS, blocks) F(NUMBERS, block_sizes) F(PLAIN, optional) \
  F(PLAIN, name)
static void to_proto(const model::TopologyConfig& m, v1::TopologyConfig* p) {
  SPUR_TOPOLOGY_CONFIG_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::TopologyConfig& p, model::TopologyConfig* m) {
  SPUR_TOPOLOGY_CONFIG_FIELDS(SPUR_FROM)
  return {};
}

#define SPUR_POWER_CONFIG_FIELDS(F)                                                      \
  F(PLAIN, suspend_program) F(PLAIN, resume_program) F(PLAIN, resume_fail_program)       \
  F(DEF, suspend_time_seconds) F(SECONDS, suspend_timeout) F(DEF, suspend_rate) F(DEF, resume_rate) \
  F(PLAIN, spared_nodes) F(TEXTS, spared_partitions) F(TEXTS, spared_states)
static void to_proto(const model::PowerConfig& m, v1::PowerConfig* p) {
  SPUR_POWER_CONFIG_FIELDS(SPUR_TO)
}
static Status from_proto(const v1::PowerConfig& p, model::PowerConfig* m) {
  SPUR_POWER_CONFIG_FIELDS(SPUR_FROM)
  return {};
}

using ShownRow = std::pair<std::string, std::string>;
static void to_proto(const ShownRow& m, v1::ClusterConfig::Shown* p) {
  p->set_key(m.first);
  p->set_value(m.second);
}
static Status from_proto(const v1::ClusterConfig::Shown& p, ShownRow* m) {
  *m = {p.key(), p.value()};
  return {};
}

// clang-format off
#define SPUR_CLUSTER_CONFIG_FIELDS(F) \
  F(DEF, cluster_name) F(MSGS, nodes) F(MSGS, partitions) F(MSGS, licenses) F(TEXTS, gres_types) \
  F(DEF, first_job_id) F(DEF, max_job_id) F(DEF, max_job_count) F(DEF, max_array_size) F(DEF, max_script_bytes) \
  F(DEF, max_batch_requeue) F(SECONDS, min_job_age) F(SECONDS, node_timeout) F(SECONDS, kill_wait) \
  F(SECONDS, over_time_limit) F(SECONDS, complete_wait) F(SECONDS, scheduler_tick) F(DEF, requeue_default) \
  F(DEF, return_to_service) F(ENUM, enforce_partition_limits) F(ENUM, memory_as) F(DEF, cores_whole) \
  F(OPT, default_memory_per_node_mib) F(OPT, default_memory_per_cpu_mib) F(OPT, max_memory_per_node_mib) \
  F(OPT, max_memory_per_cpu_mib) F(PLAIN, kill_invalid_dependency) F(DEF, age_weight) F(SECONDS, age_full) \
  F(NUMBERS, admin_uids) F(PLAIN, config_overrides) F(PLAIN, accept_unknown_nodes) F(MSGS, shown) \
  F(MSG, priority) F(MSG, preempt) F(MSG, accounting) F(MSG, topology) F(DEF, planned_jobs) F(DEF, promised_jobs) \
  F(SECONDS, promise_after) F(ENUM, backfill_order) \
  F(SECONDS, max_switch_wait) F(SECONDS, reservation_overrun) F(OPT, default_cpus_per_gpu) \
  F(OPT, default_memory_per_gpu_mib) F(PLAIN, block_sockets) F(PLAIN, jobs_use_spec_cores) \
  F(DEF, hold_on_prolog_fail) F(DEF, max_launch_failures) \
  F(PLAIN, is_accounted) F(PLAIN, keep_scripts) F(PLAIN, keep_environments) \
  F(PLAIN, reboot_program) F(SECONDS, resume_timeout) F(MSG, power) F(PLAIN, max_node_count) \
  F(PLAIN, no_root_jobs) F(RUNS, requeue_exits) F(RUNS, requeue_hold_exits) F(PLAIN, keep_partition_info) \
  F(PLAIN, keep_partition_state) F(PLAIN, append_output) F(PLAIN, least_loaded_nodes) \
  F(PLAIN, one_task_per_core) F(PLAIN, pack_tasks) F(PLAIN, bind_to_gres) F(PLAIN, one_task_per_shared_gres) \
  F(PLAIN, spread_shares) F(PLAIN, shares_of_several) \
  F(MSGS, other_topologies) F(SECONDS, inactive_limit)
// clang-format on
void to_proto(const model::ClusterConfig& m, v1::ClusterConfig* p){SPUR_CLUSTER_CONFIG_FIELDS(SPUR_TO)} Status
    from_proto(const v1::ClusterConfig& p, model::ClusterConfig* m) {
  SPUR_CLUSTER_CONFIG_FIELDS(SPUR_FROM)
  return {};
}

}  // namespace spur::wire
