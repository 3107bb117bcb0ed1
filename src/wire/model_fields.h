// SPDX-License-Identifier: Apache-2.0
// For tests: the fields of every struct that travels, as tuples. The structured bindings name each field, so that a
// field added to a struct fails to compile here, and from then on has to survive the round trip. On top of them:
// filling a struct with random values of which none is the default, comparing two structs by content (shared pointers
// by what they point to), and writing one out as text, one line per value that is not the default.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "model/agent_message.h"
#include "model/cluster_config.h"
#include "model/job.h"
#include "model/reservation_change.h"
#include "model/view.h"
#include "state/cluster.h"
#include "state/command.h"
#include "wire/enum_range.h"

namespace spur::wire::fields {

#define SPUR_STRUCT(Type, ...)                    \
  inline auto of(Type& value) {                   \
    auto& [__VA_ARGS__] = value;                  \
    return std::tie(__VA_ARGS__);                 \
  }                                               \
  inline auto of(const Type& value) {             \
    auto& [__VA_ARGS__] = value;                  \
    return std::tie(__VA_ARGS__);                 \
  }                                               \
  inline std::string_view names_of(const Type&) { \
    return #__VA_ARGS__;                          \
  }

SPUR_STRUCT(model::GresRequest, name, type, count, per)
SPUR_STRUCT(model::LicenseRequest, name, count)
SPUR_STRUCT(model::Dependency, kind, job, array_task, whole_array, delay_minutes)
SPUR_STRUCT(model::SignalBeforeEnd, signal, seconds_before, batch_only)
SPUR_STRUCT(model::ResourceLimit, resource, soft, hard)
SPUR_STRUCT(model::ArrayRequest, tasks, max_running)
SPUR_STRUCT(model::Distribution, nodes, sockets, cores, plane_size, pack)
SPUR_STRUCT(model::ContainerRequest, image, bundle, name, workdir, mounts, environment, readonly, mount_home,
            entrypoint, remap_root)
SPUR_STRUCT(model::JobSpec, name, kind, uid, gid, account, qos, wckey, comment, admin_comment, extra, partitions,
            reservation, script, environment, arguments, container, command, work_dir, std_in, std_out, std_err,
            open_append, open_truncate, umask, rlimits, submit_line, submit_host, session_id, min_nodes, max_nodes,
            nodes_given, tasks, tasks_per_node, tasks_per_socket, tasks_per_core, tasks_per_gpu, cpus_per_gpu,
            cpus_per_task, cpus_per_task_given, min_cpus_per_node, memory_per_node_mib, memory_per_cpu_mib,
            memory_per_gpu_mib, tmp_disk_mib, gres, gres_flags, gpu_bind, gpu_freq, licenses, exclusive, oversubscribe,
            overcommit, contiguous, spread_nodes, fewest_nodes, sockets_per_node, cores_per_socket, threads_per_core, hint,
            core_spec, core_spec_is_threads, distribution, switches, switch_wait_seconds, segment, features, prefer,
            batch_features, burst_buffer, required_nodes, excluded_nodes, time_limit, time_min, begin, deadline,
            dependencies, dependencies_any, kill_on_invalid_dependency, nice, priority, hold, requeue, no_kill, signal,
            array, immediate_seconds, mail_types, mail_user)
SPUR_STRUCT(model::ExitStatus, code, signal)
SPUR_STRUCT(model::Usage, user_cpu_us, system_cpu_us, max_rss_kib, max_vsize_kib, memory_peak_kib, read_bytes,
            write_bytes, major_faults, gpu_memory_mib, gpu_utilization)
SPUR_STRUCT(model::StepEnd, step, name, state, exit, started, ended, nodes, node_count, tasks, cpus, memory_mib, usage)
SPUR_STRUCT(model::DeviceGrant, gres, type, indices, shares)
SPUR_STRUCT(model::NodeGrant, node, cpus, memory_mib, tasks, devices, kept_cpus, task_ids)
SPUR_STRUCT(model::Allocation, nodes, partition, reservation)
SPUR_STRUCT(model::Job, id, spec, array_job, array_task, array_pending, array_max_running, het_job, het_offset,
            het_size, state, flags, reason, reason_detail, hold, after_completing, epoch, restarts, priority,
            priority_by_hand, site_factor, dependencies_left, dependency_never, submitted, eligible, accrue, started,
            ended, last_eval, suspended_at, suspended_total, time_limit, kill_began, preempt_at, preempt_how,
            preempted_for, claim, claimed_from, allocation, nodes_left, last_nodes, lost_nodes, batch_host, cpus_allocated, exit,
            derived_exit, usage, ended_by, cancelled, submit_token, association, counted_from)
SPUR_STRUCT(model::NodeGres, name, type, count, file, cores, links, nic, flags)
SPUR_STRUCT(model::NodeHardware, cpus, boards, sockets, cores_per_socket, threads_per_core, memory_mib, tmp_disk_mib,
            gres, numa_nodes, spec_cores, spec_cpus, spec_memory_mib)
SPUR_STRUCT(model::Node::DevicesInUse, gres, bits, shares)
SPUR_STRUCT(model::Node, index, name, address, hostname, hardware, found, features, active_features, weight, comment,
            extra, reason, instance_id, instance_type, reason_by, reason_at, down, flags, registered, registered_at,
            boot_time, agent_started,
            last_busy, version, os, arch, public_key, cpus_allocated, memory_allocated_mib, cpus_in_use,
            devices_in_use, jobs, jobs_completing, exclusive, launch_failures, after_reboot, ordered_at)
SPUR_STRUCT(model::NodeConfig, name, hostname, address, port, cpus, boards, sockets, cores_per_socket,
            threads_per_core, memory_mib, tmp_disk_mib, gres, spec_cores, spec_cpus, spec_memory_mib, features,
            weight, state, reason, comment, created, presence)
SPUR_STRUCT(model::PartitionConfig, name, is_default, hidden, root_only, exclusive_user, lln, state, nodes,
            node_features, max_time,
            default_time, min_nodes, max_nodes, max_cpus_per_node, allow_groups, allow_accounts, deny_accounts,
            allow_qos, deny_qos, alloc_nodes, qos, alternate, priority_tier, priority_job_factor, oversubscribe,
            oversubscribe_count, default_memory_per_node_mib, default_memory_per_cpu_mib, max_memory_per_node_mib,
            max_memory_per_cpu_mib, max_cpus_per_socket, default_cpus_per_gpu, default_memory_per_gpu_mib,
            preempt_mode, grace_time_seconds, billing_weights, suspend_time_seconds, suspend_timeout_seconds,
            resume_timeout_seconds, power_down_on_idle, no_root_jobs, requires_reservation, over_time_limit_minutes,
            topology)
SPUR_STRUCT(model::Partition, config, nodes)
SPUR_STRUCT(model::LicenseConfig, name, count)
SPUR_STRUCT(model::TresWeight, tres, thousandths, per)
SPUR_STRUCT(model::PriorityConfig, multifactor, base, fairshare_weight, job_size_weight, partition_weight, qos_weight,
            assoc_weight, tres_weights, half_life, calc_period, usage_reset, favor_small, flags, dampening)
SPUR_STRUCT(model::AccountingConfig, associations, limits, qos, wckeys, safe, tres, track_wckeys, no_jobs, no_steps)
SPUR_STRUCT(model::PreemptConfig, by, how, gang, within, exempt, most_per_plan, youngest_first, send_user_signal,
            min_exempt_priority)
SPUR_STRUCT(model::SwitchConfig, name, nodes, switches, line)
SPUR_STRUCT(model::TopologyConfig, kind, switches, blocks, block_sizes, optional, name)
SPUR_STRUCT(model::PowerConfig, suspend_program, resume_program, resume_fail_program, suspend_time_seconds,
            suspend_timeout, suspend_rate, resume_rate, spared_nodes, spared_partitions, spared_states)
SPUR_STRUCT(model::ClusterConfig, cluster_name, nodes, partitions, licenses, gres_types, max_node_count,
            first_job_id, max_job_id,
            max_job_count, max_array_size, max_script_bytes, max_batch_requeue, min_job_age, node_timeout, kill_wait,
            reboot_program, resume_timeout, power, over_time_limit, complete_wait, inactive_limit, scheduler_tick, requeue_default, return_to_service,
            enforce_partition_limits, memory_as, cores_whole, block_sockets, least_loaded_nodes,
            one_task_per_core, pack_tasks, bind_to_gres, one_task_per_shared_gres, spread_shares, shares_of_several,
            jobs_use_spec_cores,
            default_memory_per_node_mib, default_memory_per_cpu_mib, max_memory_per_node_mib, max_memory_per_cpu_mib,
            kill_invalid_dependency, age_weight, age_full, priority, preempt, accounting, topology,
            other_topologies, planned_jobs,
            promised_jobs, promise_after, backfill_order, max_switch_wait, reservation_overrun, default_cpus_per_gpu,
            default_memory_per_gpu_mib, admin_uids, hold_on_prolog_fail, max_launch_failures, accept_unknown_nodes,
            config_overrides, is_accounted, keep_scripts, keep_environments, no_root_jobs, requeue_exits,
            requeue_hold_exits, keep_partition_info, keep_partition_state, append_output, shown)
SPUR_STRUCT(model::ReservedNode, node, cores, devices)
SPUR_STRUCT(model::TresCount, tres, count)
SPUR_STRUCT(model::ReservationNames, names, denied)
SPUR_STRUCT(model::Reservation, name, flags, start, end, float_ahead, utc_offset, active, nodes, node_counts,
            core_counts, tres, features, partition, licenses, burst_buffer, users, groups, accounts, qos, user_ids,
            purge_after, idle_since, max_start_delay, comment, created_by)
SPUR_STRUCT(model::NamesEdit, how, names)
SPUR_STRUCT(model::ReservationChange, name, start, end, duration, duration_how, nodes, node_counts, core_counts, tres,
            features, partition, burst_buffer, comment, licenses, users, groups, accounts, qos, flags_on, flags_off,
            purge_after, max_start_delay, utc_offset)
SPUR_STRUCT(model::GroupLimits, jobs, jobs_accrue, submit, wall_minutes, tres, tres_minutes, tres_run_minutes)
SPUR_STRUCT(model::Qos, name, id, description, priority, preempts, preempt_mode, grace, exempt, flags,
            usage_factor_thousandths, usage_threshold_thousandths, limit_factor_thousandths, group, max_jobs_per_user,
            max_jobs_per_account, max_jobs_accrue_per_user, max_jobs_accrue_per_account, max_submit_per_user,
            max_submit_per_account, max_wall_minutes, min_priority, max_tres_per_job, max_tres_per_node,
            max_tres_per_user, max_tres_per_account, max_tres_minutes_per_job, max_tres_run_minutes_per_user,
            max_tres_run_minutes_per_account, min_tres_per_job)
SPUR_STRUCT(model::Association, id, parent, account, user, partition, uid, is_default, shares, flags, priority, group,
            max_jobs, max_jobs_accrue, max_submit, max_wall_minutes, min_priority, max_tres_per_job,
            max_tres_per_node, max_tres_minutes_per_job, max_tres_run_minutes, qos, default_qos, comment)
SPUR_STRUCT(model::AccountUser, name, uid, admin, default_account, default_wckey, coordinates, wckeys)
SPUR_STRUCT(model::AccountsUpdate, revision, all, associations, associations_gone, qos, qos_gone, users, users_gone)
SPUR_STRUCT(model::PastUsage::Amount, tres, whole, fraction)
SPUR_STRUCT(model::PastUsage, association, qos, amounts)
SPUR_STRUCT(model::FairShare, account, user, partition, factor, priority)
SPUR_STRUCT(model::JobRun, job, epoch)
SPUR_STRUCT(model::AgentHello, node, address, hostname, version, os, arch, public_key, found, boot_time, started,
            holding, sequence, extra, instance_id, instance_type, load_hundredths, free_memory_mib)
SPUR_STRUCT(model::AgentHeartbeat, sequence, load_hundredths, free_memory_mib, problem)
SPUR_STRUCT(model::AgentLaunched, run)
SPUR_STRUCT(model::AgentJobDone, run, exit, is_batch_host, out_of_memory, launch_failed, error, prolog_failed,
            node_blameless, drain, usage, batch_usage, steps)
SPUR_STRUCT(model::AgentStepsEnded, run, first, steps)
SPUR_STRUCT(model::ControllerStepsAck, run, count)
SPUR_STRUCT(model::ControllerWelcome, cluster_name, lease, heartbeat, controller_public_key, unknown, hello_again)
SPUR_STRUCT(model::LaunchPart, node, cpus, memory_mib, tasks, devices, sockets, cores_per_socket, threads_per_core,
            topology_address, topology_pattern)
SPUR_STRUCT(model::WholeJob, nodes, node_count, cpus_per_node)
SPUR_STRUCT(model::HetComponent, job, name, partition, nodes, node_count, cpus_per_node, tasks_per_node, tasks,
            cpus_per_task, memory_per_node_mib, memory_per_cpu_mib)
SPUR_STRUCT(model::ControllerLaunch, run, heard, spec, array_job, array_task, array_count, array_min, array_max, array_step,
            partition, cluster_name, restarts, time_limit, started, parts, addresses, this_part, whole, kill_wait,
            het, het_offset)
SPUR_STRUCT(model::ControllerEnd, run, kill, why)
SPUR_STRUCT(model::ControllerSignal, run, signal, batch_only, steps_only)
SPUR_STRUCT(model::ControllerSuspend, run, resume)
SPUR_STRUCT(model::ControllerDoneAck, run)
SPUR_STRUCT(model::ControllerNotify, run, text)
SPUR_STRUCT(model::ControllerReboot, at)
SPUR_STRUCT(model::ControllerDebug, level, flags_on, flags_off)
SPUR_STRUCT(model::ControllerNodesLost, run, nodes)
// Nothing but its kind.
inline std::tuple<> of(model::ControllerShutdown&) {
  return {};
}
inline std::tuple<> of(const model::ControllerShutdown&) {
  return {};
}
inline std::string_view names_of(const model::ControllerShutdown&) {
  return {};
}
SPUR_STRUCT(state::JobTarget, id, tasks, het_offset)
SPUR_STRUCT(state::SetConfig, config)
SPUR_STRUCT(state::SubmitJob, spec, token, more)
SPUR_STRUCT(state::StartJob::Component, job, allocation, limit)
SPUR_STRUCT(state::StartJob, job, array_task, allocation, limit, others)
SPUR_STRUCT(state::SetReasons::Row, job, reason, expected_start)
SPUR_STRUCT(state::SetReasons, rows)
SPUR_STRUCT(state::CancelJob, target, final_state, reason, by_user, by, exit)
SPUR_STRUCT(state::NodeJobDone, job, epoch, node, exit, is_batch_host, out_of_memory, launch_failed, error,
            prolog_failed, node_blameless, drain, usage, batch_usage, steps)
SPUR_STRUCT(state::StepsEnded, job, epoch, steps)
SPUR_STRUCT(state::OutboxAcked, number)
SPUR_STRUCT(state::HoldJob, target, hold)
SPUR_STRUCT(state::ReleaseJob, target)
SPUR_STRUCT(state::RequeueJob, target, how)
SPUR_STRUCT(state::SuspendJob, target)
SPUR_STRUCT(state::ResumeJob, target)
SPUR_STRUCT(state::UpdateJob, target, spec, time_limit, priority, array_max_running, dependencies_changed)
SPUR_STRUCT(state::MarkKillSent, job, epoch)
SPUR_STRUCT(state::RegisterNode, name, address, hostname, version, os, arch, public_key, found, boot_time,
            agent_started, holding, extra, instance_id, instance_type)
SPUR_STRUCT(state::NodeLost, node)
SPUR_STRUCT(state::NodeResponding, node, responding)
SPUR_STRUCT(state::UpdateNode, nodes, action, reason, comment, extra, features, weight, by, asap, after_reboot,
            active_features, instance_id, instance_type)
SPUR_STRUCT(state::CreateNodes, nodes, by_agent)
SPUR_STRUCT(state::DeleteNodes, nodes)
SPUR_STRUCT(state::ClaimFutureNode, hostname, feature, found)
SPUR_STRUCT(state::NodesDue, what, nodes)
SPUR_STRUCT(state::PurgeJobs, jobs)
SPUR_STRUCT(state::CreateReservation, reservation)
SPUR_STRUCT(state::UpdateReservation, reservation)
SPUR_STRUCT(state::DeleteReservation, name)
inline auto of(state::ReservationsDue&) {
  return std::tie();
}
inline auto of(const state::ReservationsDue&) {
  return std::tie();
}
inline std::string_view names_of(const state::ReservationsDue&) {
  return "";
}
SPUR_STRUCT(state::SetQos, qos)
SPUR_STRUCT(state::SetFairShares, shares, all)
SPUR_STRUCT(state::SetAccounts, update)
SPUR_STRUCT(state::DecayUsage, reset)
SPUR_STRUCT(state::ResetUsage, association, qos)
SPUR_STRUCT(state::PreemptJobs::Victim, job, epoch, how, grace)
SPUR_STRUCT(state::PreemptJobs, beneficiary, allocation, victims)
SPUR_STRUCT(state::PreemptionDue, job, epoch)
SPUR_STRUCT(state::Batch, at, commands, by, shown_before)
SPUR_STRUCT(model::CronEntry, schedule, first_line, last_line, job)
SPUR_STRUCT(model::Crontab, user, text, entries)
SPUR_STRUCT(state::SetCrontab, crontab, specs)
SPUR_STRUCT(state::RemoveCrontab, user)
SPUR_STRUCT(state::ScheduleCron, job, begin)
SPUR_STRUCT(model::Trigger, id, user, group, source, events, job, nodes, offset, permanent, program, set_at, due,
            argument)
SPUR_STRUCT(state::SetTrigger, trigger)
SPUR_STRUCT(state::ClearTriggers, id, job, user, by, by_admin)
SPUR_STRUCT(state::TriggerSeen, id, due, argument)
SPUR_STRUCT(state::TriggersRan, ids)
SPUR_STRUCT(state::Outbox, born, next, acked)
SPUR_STRUCT(state::Cluster::Image, index, as_of, next_job_id, config, nodes, jobs, tokens, reservations, qos, shares,
            accounts_revision, associations, users, usages, decayed, outbox, crontabs, triggers,
            next_trigger)

using Random = std::mt19937_64;

template <class T>
concept Struct = requires(T& value) { of(value); };

template <class T>
void fill(T& value, Random& random);

template <class Number>
  requires std::is_integral_v<Number>
void fill_leaf(Number& value, Random& random) {
  if constexpr (std::is_same_v<Number, bool>) {
    value = !value;
  } else {
    const Number was = value;
    const int bits = static_cast<int>(random() % (sizeof(Number) * 8 - 1)) + 1;  // small and large numbers alike
    while (value == was || value == Number{}) value = static_cast<Number>(random() >> (64 - bits - (random() & 1)));
    if constexpr (std::is_signed_v<Number>)
      if (random() & 1) value = static_cast<Number>(-value);
  }
}
template <class E>
  requires std::is_enum_v<E>
void fill_leaf(E& value, Random& random) {
  const E was = value;
  while (value == was) value = static_cast<E>(random() % (static_cast<unsigned>(last_of(E{})) + 1));
}
inline void fill_leaf(std::string& value, Random& random) {
  value.clear();  // any byte, also NUL and what is no UTF-8
  for (auto n = 1 + random() % 24; n > 0; --n) value.push_back(static_cast<char>(random()));
}
template <class Tag, class Rep>
void fill_leaf(Id<Tag, Rep>& value, Random& random) {
  fill_leaf(value.value, random);
}
inline void fill_leaf(Time& value, Random& random) {
  value = from_micros(static_cast<std::int64_t>(1 + (random() >> 12)));
}
template <class Period>
void fill_leaf(std::chrono::duration<std::int64_t, Period>& value, Random& random) {
  value += std::chrono::duration<std::int64_t, Period>(1 + (random() >> 32));
}
inline void fill_leaf(TimeLimit& value, Random& random) {
  const auto was = value;
  while (value == was)
    value = random() % 4 == 0 ? TimeLimit::unlimited()
                              : TimeLimit::of_minutes(static_cast<std::uint32_t>(random() >> 40));
}
inline void fill_leaf(IndexSet& value, Random& random) {
  std::uint32_t at = static_cast<std::uint32_t>(random() % 100);
  for (auto n = 1 + random() % 5; n > 0; --n) {
    const auto last = at + static_cast<std::uint32_t>(random() % 50);
    value.insert_range(at, last);
    at = last + 2 + static_cast<std::uint32_t>(random() % 1000);
  }
}
template <class T>
void fill_leaf(std::optional<T>& value, Random& random) {
  T inner{};
  if (random() % 8 != 0) fill(inner, random);  // present and zero differs from absent
  value = inner;
}
template <class T>
void fill_leaf(std::shared_ptr<const T>& value, Random& random) {
  auto inner = std::make_shared<T>();
  fill(*inner, random);
  value = std::move(inner);
}
template <class T>
void fill_leaf(std::vector<T>& value, Random& random) {
  value.resize(1 + random() % 4);
  for (auto& item : value) fill(item, random);
}
template <class A, class B>
void fill_leaf(std::pair<A, B>& value, Random& random) {
  fill(value.first, random);
  fill(value.second, random);
}
template <class... Kinds>
void fill_leaf(std::variant<Kinds...>& value, Random& random) {
  std::visit([&](auto& inner) { fill(inner, random); }, value);
}

template <class T>
void fill(T& value, Random& random) {
  if constexpr (Struct<T>) {
    std::apply([&](auto&... field) { (fill(field, random), ...); }, of(value));
  } else {
    fill_leaf(value, random);
  }
}

// By content. A null and an empty text are the same (model::Blob says so).
template <class T>
bool same(const T& a, const T& b);

template <class T>
bool same_leaf(const T& a, const T& b) {
  return a == b;
}
inline bool same_leaf(const model::Blob& a, const model::Blob& b) {
  return (a ? std::string_view(*a) : std::string_view()) == (b ? std::string_view(*b) : std::string_view());
}
template <class T>
bool same_leaf(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a && b ? same(*a, *b) : !a && !b;
}
template <class T>
bool same_leaf(const std::optional<T>& a, const std::optional<T>& b) {
  return a && b ? same(*a, *b) : a.has_value() == b.has_value();
}
template <class T>
bool same_leaf(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same(a[i], b[i])) return false;
  return true;
}
template <class... Kinds>
bool same_leaf(const std::variant<Kinds...>& a, const std::variant<Kinds...>& b) {
  return a.index() == b.index() && [&]<std::size_t... I>(std::index_sequence<I...>) {
    return ((a.index() != I || same(*std::get_if<I>(&a), *std::get_if<I>(&b))) && ...);
  }(std::index_sequence_for<Kinds...>{});
}

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (Struct<const T>) {
    const auto x = of(a), y = of(b);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (same(std::get<I>(x), std::get<I>(y)) && ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(x)>>{});
  } else {
    return same_leaf(a, b);
  }
}

// "jobs[0].spec.name = "..."": lines of all that differs from a fresh struct, so that a field added later changes no
// old text.
template <class T>
void dump(const T& value, const std::string& path, std::string* out);

template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
void dump_leaf(T value, const std::string& path, std::string* out) {
  *out += fmt::format("{} = {}\n", path, static_cast<std::int64_t>(value));
}
inline void dump_leaf(const std::string& value, const std::string& path, std::string* out) {
  *out += path + " = \"";
  for (char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    *out += byte < 32 || byte > 126 || c == '"' || c == '\\' ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  *out += "\"\n";
}
template <class Tag, class Rep>
void dump_leaf(Id<Tag, Rep> value, const std::string& path, std::string* out) {
  dump_leaf(value.value, path, out);
}
inline void dump_leaf(Time value, const std::string& path, std::string* out) {
  dump_leaf(to_micros(value), path, out);
}
template <class Period>
void dump_leaf(std::chrono::duration<std::int64_t, Period> value, const std::string& path, std::string* out) {
  dump_leaf(value.count(), path, out);
}
inline void dump_leaf(TimeLimit value, const std::string& path, std::string* out) {
  dump_leaf(value.raw(), path, out);
}
inline void dump_leaf(const IndexSet& value, const std::string& path, std::string* out) {
  for (const auto& range : value.ranges()) *out += fmt::format("{} += {}-{}\n", path, range.first, range.last);
}
template <class T>
void dump_leaf(const std::optional<T>& value, const std::string& path, std::string* out) {
  *out += path + " is there\n";
  if (value) dump(*value, path, out);
}
template <class T>
void dump_leaf(const std::shared_ptr<const T>& value, const std::string& path, std::string* out) {
  if (value) dump(*value, path, out);
}
template <class T>
void dump_leaf(const std::vector<T>& value, const std::string& path, std::string* out) {
  *out += fmt::format("{} has {}\n", path, value.size());
  for (std::size_t i = 0; i < value.size(); ++i) dump(value[i], fmt::format("{}[{}]", path, i), out);
}
template <class A, class B>
void dump_leaf(const std::pair<A, B>& value, const std::string& path, std::string* out) {
  dump(value.first, path + ".first", out);
  dump(value.second, path + ".second", out);
}
template <class... Kinds>
void dump_leaf(const std::variant<Kinds...>& value, const std::string& path, std::string* out) {
  *out += fmt::format("{} is kind {}\n", path, value.index());
  std::visit([&](const auto& inner) { dump(inner, path, out); }, value);
}

template <class T>
void dump(const T& value, const std::string& path, std::string* out) {
  if constexpr (Struct<const T>) {
    const T fresh{};
    const auto x = of(value), y = of(fresh);
    std::string_view names = names_of(value);
    const auto next_name = [&names] {
      const auto name = names.substr(0, names.find(','));
      names.remove_prefix(std::min(names.size(), name.size() + 2));
      return std::string(name);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      [[maybe_unused]] const auto one = [&](const auto& field, const auto& initial) {
        const std::string name = next_name();
        if (!same(field, initial)) dump(field, path + "." + name, out);
      };
      (one(std::get<I>(x), std::get<I>(y)), ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(x)>>{});
  } else {
    dump_leaf(value, path, out);
  }
}

// Every alternative of a variant once, filled.
template <class Variant>
std::vector<Variant> one_of_each(Random& random) {
  std::vector<Variant> all;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (all.emplace_back(std::in_place_index<I>), ...);
  }(std::make_index_sequence<std::variant_size_v<Variant>>{});
  for (auto& value : all) fill(value, random);
  return all;
}

}  // namespace spur::wire::fields
