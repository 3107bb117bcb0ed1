// SPDX-License-Identifier: Apache-2.0
// How values land. into<&Struct::field> serves every key that is one field; the functions below are for keys that
// mean more than that. Used by the table in keys.cc only.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <type_traits>

#include "config/draft.h"
#include "config/value.h"

namespace spur::config {

namespace setters {

inline model::ClusterConfig& owner(Target& t, const model::ClusterConfig*) {
  return t.draft.cluster;
}
inline DaemonConfig& owner(Target& t, const DaemonConfig*) {
  return t.draft.daemon;
}
inline CgroupConfig& owner(Target& t, const CgroupConfig*) {
  return t.draft.daemon.cgroup;
}
inline EtcdConfig& owner(Target& t, const EtcdConfig*) {
  return t.draft.daemon.etcd;
}
inline StorageConfig& owner(Target& t, const StorageConfig*) {
  return t.draft.daemon.storage;
}
inline UpdateConfig& owner(Target& t, const UpdateConfig*) {
  return t.draft.daemon.update;
}
inline CommandDefaults& owner(Target& t, const CommandDefaults*) {
  return t.draft.daemon.commands;
}
inline StepConfig& owner(Target& t, const StepConfig*) {
  return t.draft.daemon.steps;
}
inline model::PriorityConfig& owner(Target& t, const model::PriorityConfig*) {
  return t.draft.cluster.priority;
}
inline Draft& owner(Target& t, const Draft*) {
  return t.draft;
}
inline NodeBlock& owner(Target& t, const NodeBlock*) {
  return *t.node;
}
inline model::NodeConfig& owner(Target& t, const model::NodeConfig*) {
  return t.node->node;
}
inline model::PartitionConfig& owner(Target& t, const model::PartitionConfig*) {
  return t.partition->partition;
}
inline DeviceBlock& owner(Target& t, const DeviceBlock*) {
  return *t.device;
}
inline NodeSetBlock& owner(Target& t, const NodeSetBlock*) {
  return *t.node_set;
}
inline DownNodesBlock& owner(Target& t, const DownNodesBlock*) {
  return *t.down;
}

template <class Number>
Number number_of(const Value& value) {
  return value.infinite ? std::numeric_limits<Number>::max() : static_cast<Number>(value.number);
}

inline void assign(bool& field, const Value& value) {
  field = value.flag;
}
inline void assign(std::optional<bool>& field, const Value& value) {
  field = value.flag;
}
inline void assign(std::uint16_t& field, const Value& value) {
  field = number_of<std::uint16_t>(value);
}
inline void assign(std::uint32_t& field, const Value& value) {
  field = number_of<std::uint32_t>(value);
}
inline void assign(std::uint64_t& field, const Value& value) {
  field = number_of<std::uint64_t>(value);
}
inline void assign(seconds& field, const Value& value) {
  field = seconds(number_of<std::uint32_t>(value));
}
inline void assign(std::string& field, const Value& value) {
  field = value.text;
}
inline void assign(std::vector<std::string>& field, const Value& value) {
  field = value.list;
}
inline void assign(TimeLimit& field, const Value& value) {
  field = value.time;
}
// Unlimited is the same as not set.
template <std::unsigned_integral Number>
void assign(std::optional<Number>& field, const Value& value) {
  if (value.infinite)
    field.reset();
  else
    field = number_of<Number>(value);
}

template <class Owner, class Field>
Owner* owner_of(Field Owner::*);

}  // namespace setters

template <auto Member>
Status into(Target& target, const Value& value) {
  using Owner = std::remove_pointer_t<decltype(setters::owner_of(Member))>;
  setters::assign(setters::owner(target, static_cast<const Owner*>(nullptr)).*Member, value);
  return {};
}

Status set_listen_address(Target& target, const Value& value);
Status set_accounting_host(Target& target, const Value& value);
Status set_accounting_type(Target& target, const Value& value);
Status set_accounting_listen(Target& target, const Value& value);
Status set_accounting_log(Target& target, const Value& value);
Status set_dbd_port(Target& target, const Value& value);
Status set_dbd_log_level(Target& target, const Value& value);
Status set_dbd_log_time(Target& target, const Value& value);
Status set_dbd_syslog_level(Target& target, const Value& value);
Status set_max_query(Target& target, const Value& value);
Status set_storage_type(Target& target, const Value& value);
Status set_purge_jobs(Target& target, const Value& value);
Status set_purge_steps(Target& target, const Value& value);
Status set_purge_events(Target& target, const Value& value);
Status set_purge_reservations(Target& target, const Value& value);
Status set_purge_transactions(Target& target, const Value& value);
Status set_dbd_parameters(Target& target, const Value& value);
Status set_accounting_store(Target& target, const Value& value);
Status set_accounting_prices(Target& target, const Value& value);
Status set_agent_listen(Target& target, const Value& value);
Status set_controller_hosts(Target& target, const Value& value);  // list; replaces
Status add_controller_host(Target& target, const Value& value);   // SlurmctldHost=: appends
Status set_controller_ports(Target& target, const Value& value);  // "6817" or "6817-6820"
Status set_communication(Target& target, const Value& value);
Status set_log_level(Target& target, const Value& value);
Status set_controller_log_level(Target& target, const Value& value);
Status set_agent_log_level(Target& target, const Value& value);
Status set_log_format(Target& target, const Value& value);
Status set_controller_syslog(Target& target, const Value& value);
Status set_agent_syslog(Target& target, const Value& value);
// A word of LogTimeFormat into all of `logs`.
Status set_log_time_of(std::initializer_list<LogConfig*> logs, Target& target, const Value& value);
Status set_log_time(Target& target, const Value& value);
Status set_debug_flags(Target& target, const Value& value);
Status set_scheduler_log(Target& target, const Value& value);
Status set_preempt_parameters(Target& target, const Value& value);
Status set_log_file(Target& target, const Value& value);
Status set_controller_log_file(Target& target, const Value& value);
Status set_agent_log_file(Target& target, const Value& value);
Status set_licenses(Target& target, const Value& value);
Status set_enforce_limits(Target& target, const Value& value);
Status set_over_time_limit(Target& target, const Value& value);
Status set_default_time_limit(Target& target, const Value& value);
Status set_memory_consumable(Target& target, const Value& value);
Status set_max_script(Target& target, const Value& value);
Status set_select_type(Target& target, const Value& value);
Status set_select_parameters(Target& target, const Value& value);
Status set_scheduler_parameters(Target& target, const Value& value);
Status set_agent_parameters(Target& target, const Value& value);  // SlurmdParameters

Status set_allowed_ram(Target& target, const Value& value);
Status set_allowed_swap(Target& target, const Value& value);
Status set_max_ram(Target& target, const Value& value);
Status set_max_swap(Target& target, const Value& value);
Status set_cgroup_plugin(Target& target, const Value& value);
Status set_task_plugin(Target& target, const Value& value);
Status set_auto_detect(Target& target, const Value& value);  // of a line of gres.conf
Status set_detect_all(Target& target, const Value& value);
Status add_prolog(Target& target, const Value& value);
Status add_epilog(Target& target, const Value& value);
Status add_prolog_slurmctld(Target& target, const Value& value);
Status add_epilog_slurmctld(Target& target, const Value& value);
Status set_private_data(Target& target, const Value& value);
Status set_accounting_private(Target& target, const Value& value);
Status set_mail_program(Target& target, const Value& value);
Status set_mail_domain(Target& target, const Value& value);
Status set_task_prolog(Target& target, const Value& value);
Status set_task_epilog(Target& target, const Value& value);
Status set_hook_timeout(Target& target, const Value& value);
Status set_prolog_flags(Target& target, const Value& value);
Status set_health_program(Target& target, const Value& value);
Status set_reboot_program(Target& target, const Value& value);
Status set_resume_timeout(Target& target, const Value& value);
Status set_suspend_program(Target& target, const Value& value);
Status set_resume_program(Target& target, const Value& value);
Status set_resume_fail_program(Target& target, const Value& value);
Status set_suspend_time(Target& target, const Value& value);
Status set_suspend_timeout(Target& target, const Value& value);
Status set_suspend_rate(Target& target, const Value& value);
Status set_resume_rate(Target& target, const Value& value);
Status set_spared_nodes(Target& target, const Value& value);
Status set_spared_partitions(Target& target, const Value& value);
Status set_spared_states(Target& target, const Value& value);
Status set_partition_suspend_time(Target& target, const Value& value);
Status set_health_interval(Target& target, const Value& value);
Status set_health_states(Target& target, const Value& value);
Status set_sample_every(Target& target, const Value& value);
Status set_gather_type(Target& target, const Value& value);

Status set_prolog_timeout(Target& target, const Value& value);
Status set_epilog_timeout(Target& target, const Value& value);
Status set_requeue_exits(Target& target, const Value& value);
Status set_requeue_hold_exits(Target& target, const Value& value);
Status set_limits(Target& target, const Value& value);
Status set_limits_except(Target& target, const Value& value);
Status set_allow_root(Target& target, const Value& value);
Status set_append_output(Target& target, const Value& value);
Status set_broadcast_options(Target& target, const Value& value);
Status set_broadcast_exclude(Target& target, const Value& value);
Status set_launch_parameters(Target& target, const Value& value);
Status set_task_parameters(Target& target, const Value& value);
Status set_job_completion(Target& target, const Value& value);
Status set_reconfig_flags(Target& target, const Value& value);
Status set_partition_over_time(Target& target, const Value& value);

Status set_priority_type(Target& target, const Value& value);
Status set_age_weight(Target& target, const Value& value);
Status set_billing_weights(Target& target, const Value& value);
Status set_accounting_enforce(Target& target, const Value& value);
Status set_track_wckeys(Target& target, const Value& value);
Status set_accounting_tres(Target& target, const Value& value);
Status set_tres_weights(Target& target, const Value& value);  // "cpu=1000,mem=2.5"
Status set_priority_flags(Target& target, const Value& value);
Status set_usage_reset(Target& target, const Value& value);
Status set_preempt_type(Target& target, const Value& value);
Status set_preempt_mode(Target& target, const Value& value);
Status set_preempt_exempt(Target& target, const Value& value);
Status set_backfill_order(Target& target, const Value& value);
Status set_partition_preempt_mode(Target& target, const Value& value);
Status set_reservation_overrun(Target& target, const Value& value);  // minutes
Status set_job_defaults(Target& target, const Value& value);         // of the cluster, or of a partition
Status set_cpus_per_gpu(Target& target, const Value& value);   // of the cluster, or of a partition
Status set_memory_per_gpu(Target& target, const Value& value);
Status set_topology_kind(Target& target, const Value& value);
Status set_topology_options(Target& target, const Value& value);
Status set_block_size(Target& target, const Value& value);
Status set_block_sizes(Target& target, const Value& value);
Status set_block_name(Target& target, const Value& value);
Status set_down_state(Target& target, const Value& value);
Status set_defaults(Target& target, const Value& value);
Status set_controller_parameters(Target& target, const Value& value);
Status set_scron_parameters(Target& target, const Value& value);
Status set_auth_alt_types(Target& target, const Value& value);
Status set_auth_alt_parameters(Target& target, const Value& value);
Status set_switch_name(Target& target, const Value& value);
Status set_switch_nodes(Target& target, const Value& value);
Status set_switch_children(Target& target, const Value& value);

Status set_partition_state(Target& target, const Value& value);
Status set_oversubscribe(Target& target, const Value& value);
Status set_partition_priority(Target& target, const Value& value);  // Priority=: both factors
Status set_allow_groups(Target& target, const Value& value);
Status set_allow_accounts(Target& target, const Value& value);
Status set_allow_qos(Target& target, const Value& value);
Status set_alloc_nodes(Target& target, const Value& value);

Status set_node_gres(Target& target, const Value& value);
Status set_node_state(Target& target, const Value& value);

}  // namespace spur::config
