// SPDX-License-Identifier: Apache-2.0
// state_hash(): a digest over the image. Every field of every replicated type is named here once; whoever adds one to
// model/ adds it here, or replicas could differ in it unnoticed.
#include <concepts>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "state/cluster.h"
#include "state/digest.h"

namespace spur::state {

void Digest::text(std::string_view text) {
  number(text.size());
  std::uint64_t word = 0;
  int filled = 0;
  for (const char c : text) {
    word |= std::uint64_t{static_cast<unsigned char>(c)} << (8 * filled);
    if (++filled < 8) continue;
    number(word);
    word = 0, filled = 0;
  }
  if (filled > 0) number(word);
}

namespace {

class Hasher {
 public:
  template <class... Ts>
  void all(const Ts&... values) {
    (add(values), ...);
  }
  std::uint64_t value() const { return digest_.value(); }

  void add(std::string_view text) { digest_.text(text); }
  void add(const std::string& text) { digest_.text(text); }
  template <class T>
    requires std::integral<T> || std::is_enum_v<T>
  void add(T n) {
    digest_.number(static_cast<std::uint64_t>(n));
  }
  template <class Tag, class Rep>
  void add(Id<Tag, Rep> id) {
    digest_.number(id.value);
  }
  void add(Time t) { digest_.number(static_cast<std::uint64_t>(to_micros(t))); }
  template <class Rep, class Period>
  void add(std::chrono::duration<Rep, Period> d) {
    digest_.number(static_cast<std::uint64_t>(d.count()));
  }
  void add(TimeLimit limit) { digest_.number(limit.raw()); }
  template <class T>
  void add(const std::optional<T>& value) {
    digest_.number(value.has_value());
    if (value) add(*value);
  }
  template <class T>
  void add(const std::vector<T>& list) {
    digest_.number(list.size());
    for (const T& item : list) add(item);
  }
  template <class A, class B>
  void add(const std::pair<A, B>& pair) {
    all(pair.first, pair.second);
  }
  void add(const IndexSet& set) {
    digest_.number(set.ranges().size());
    for (const auto& range : set.ranges()) all(range.first, range.last);
  }

  // Texts and specifications that many jobs share are read once.
  void add(const model::Blob& blob) {
    shared(blob.get(), [](Hasher& h, const std::string& text) { h.add(text); });
  }
  void add(const std::shared_ptr<const model::JobSpec>& spec) {
    shared(spec.get(), [this](Hasher& h, const model::JobSpec& s) {
      h.all(s.name, s.kind, s.uid, s.gid, s.account, s.qos, s.wckey, s.comment, s.admin_comment, s.extra,
            s.partitions, s.reservation, s.arguments, s.command, s.work_dir, s.std_in, s.std_out, s.std_err,
            s.open_append, s.open_truncate, s.umask, s.rlimits, s.submit_line, s.submit_host, s.session_id,
            s.min_nodes, s.max_nodes, s.nodes_given, s.tasks, s.tasks_per_node, s.tasks_per_socket, s.tasks_per_core,
            s.tasks_per_gpu, s.cpus_per_gpu, s.memory_per_gpu_mib, s.gres_flags, s.spread_nodes, s.fewest_nodes,
            s.sockets_per_node, s.cores_per_socket, s.threads_per_core, s.hint, s.core_spec, s.core_spec_is_threads,
            s.distribution, s.switches, s.switch_wait_seconds, s.segment, s.prefer, s.batch_features, s.burst_buffer,
            s.cpus_per_task, s.cpus_per_task_given, s.min_cpus_per_node, s.memory_per_node_mib, s.memory_per_cpu_mib,
            s.tmp_disk_mib, s.gres, s.licenses, s.exclusive, s.oversubscribe, s.overcommit, s.contiguous, s.features,
            s.required_nodes, s.excluded_nodes, s.time_limit, s.time_min, s.begin, s.deadline, s.dependencies,
            s.dependencies_any, s.kill_on_invalid_dependency, s.nice, s.priority, s.hold, s.requeue, s.signal,
            s.array, s.immediate_seconds, s.mail_types, s.mail_user, s.no_kill, s.gpu_bind, s.gpu_freq);
      h.add(memo_of(s.script));
      h.add(memo_of(s.environment));
    });
  }

  void add(const model::GresRequest& g) { all(g.name, g.type, g.count, g.per); }
  void add(const model::LicenseRequest& l) { all(l.name, l.count); }
  void add(const model::Dependency& d) { all(d.kind, d.job, d.array_task, d.whole_array, d.delay_minutes); }
  void add(const model::SignalBeforeEnd& s) { all(s.signal, s.seconds_before, s.batch_only); }
  void add(const model::ResourceLimit& r) { all(r.resource, r.soft, r.hard); }
  void add(const model::ArrayRequest& a) { all(a.tasks, a.max_running); }
  void add(const model::Distribution& d) { all(d.nodes, d.sockets, d.cores, d.plane_size, d.pack); }
  void add(const model::TresWeight& w) { all(w.tres, w.thousandths, w.per); }
  void add(const model::SwitchConfig& s) { all(s.name, s.nodes, s.switches, s.line); }
  void add(const model::PriorityConfig& p) {
    all(p.multifactor, p.fairshare_weight, p.job_size_weight, p.partition_weight, p.qos_weight, p.assoc_weight,
        p.tres_weights, p.half_life, p.calc_period, p.usage_reset, p.favor_small, p.flags, p.base, p.dampening);
  }
  void add(const model::PowerConfig& p) {
    all(p.suspend_program, p.resume_program, p.resume_fail_program, p.suspend_time_seconds, p.suspend_timeout,
        p.suspend_rate, p.resume_rate, p.spared_nodes, p.spared_partitions, p.spared_states);
  }
  void add(const model::PreemptConfig& p) {
    all(p.by, p.how, p.gang, p.within, p.exempt, p.most_per_plan, p.youngest_first, p.send_user_signal,
        p.min_exempt_priority);
  }
  void add(const model::TopologyConfig& t) { all(t.kind, t.switches, t.blocks, t.block_sizes, t.optional, t.name); }
  void add(const model::ExitStatus& e) { all(e.code, e.signal); }
  void add(const model::Usage& u) {
    all(u.user_cpu_us, u.system_cpu_us, u.max_rss_kib, u.max_vsize_kib, u.memory_peak_kib, u.read_bytes,
        u.write_bytes, u.major_faults, u.gpu_memory_mib, u.gpu_utilization);
  }
  void add(const model::DeviceGrant& d) { all(d.gres, d.type, d.indices, d.shares); }
  void add(const model::NodeGrant& g) {
    all(g.node, g.cpus, g.memory_mib, g.tasks, g.devices, g.kept_cpus, g.task_ids);
  }
  void add(const model::NodeGres& g) { all(g.name, g.type, g.count, g.file, g.cores, g.links, g.nic, g.flags); }
  void add(const model::Node::DevicesInUse& d) { all(d.gres, d.bits, d.shares); }
  void add(const model::LicenseConfig& l) { all(l.name, l.count); }
  void add(const model::NodeHardware& h) {
    all(h.cpus, h.boards, h.sockets, h.cores_per_socket, h.threads_per_core, h.memory_mib, h.tmp_disk_mib, h.gres,
        h.numa_nodes, h.spec_cores, h.spec_cpus, h.spec_memory_mib);
  }

  void add(const model::ReservedNode& n) { all(n.node, n.cores, n.devices); }
  void add(const model::TresCount& t) { all(t.tres, t.count); }
  void add(const model::ReservationNames& n) { all(n.names, n.denied); }
  void add(const model::Reservation& r) {
    all(r.name, r.flags, r.start, r.end, r.float_ahead, r.utc_offset, r.active, r.nodes, r.node_counts, r.core_counts,
        r.tres, r.features, r.partition, r.licenses, r.burst_buffer, r.users, r.groups, r.accounts, r.qos, r.user_ids,
        r.purge_after, r.idle_since, r.max_start_delay, r.comment, r.created_by);
  }
  void add(const model::Qos& q) {
    all(q.name, q.id, q.description, q.priority, q.preempts, q.preempt_mode, q.grace, q.exempt, q.flags,
        q.usage_factor_thousandths, q.usage_threshold_thousandths, q.limit_factor_thousandths, q.group,
        q.max_jobs_per_user, q.max_jobs_per_account, q.max_jobs_accrue_per_user, q.max_jobs_accrue_per_account,
        q.max_submit_per_user, q.max_submit_per_account, q.max_wall_minutes, q.min_priority, q.max_tres_per_job,
        q.max_tres_per_node, q.max_tres_per_user, q.max_tres_per_account, q.max_tres_minutes_per_job,
        q.max_tres_run_minutes_per_user, q.max_tres_run_minutes_per_account, q.min_tres_per_job);
  }
  void add(const model::GroupLimits& g) {
    all(g.jobs, g.jobs_accrue, g.submit, g.wall_minutes, g.tres, g.tres_minutes, g.tres_run_minutes);
  }
  void add(const model::Association& a) {
    all(a.id, a.parent, a.account, a.user, a.partition, a.uid, a.is_default, a.shares, a.flags, a.priority, a.group,
        a.max_jobs, a.max_jobs_accrue, a.max_submit, a.max_wall_minutes, a.min_priority, a.max_tres_per_job,
        a.max_tres_per_node, a.max_tres_minutes_per_job, a.max_tres_run_minutes, a.qos, a.default_qos, a.comment);
  }
  void add(const model::AccountUser& u) {
    all(u.name, u.uid, u.admin, u.default_account, u.default_wckey, u.coordinates, u.wckeys);
  }
  void add(const model::PastUsage::Amount& a) { all(a.tres, a.whole, a.fraction); }
  void add(const model::PastUsage& u) { all(u.association, u.qos, u.amounts); }
  void add(const model::AccountingConfig& c) {
    all(c.associations, c.limits, c.qos, c.wckeys, c.safe, c.tres, c.track_wckeys, c.no_jobs, c.no_steps);
  }
  void add(const model::CronEntry& e) { all(e.schedule, e.first_line, e.last_line, e.job); }
  void add(const model::Crontab& c) { all(c.user, c.text, c.entries); }
  void add(const model::Trigger& t) {
    all(t.id, t.user, t.group, t.source, t.events, t.job, t.nodes, t.offset, t.permanent, t.program, t.set_at, t.due,
        t.argument);
  }
  void add(const model::FairShare& s) { all(s.account, s.user, s.partition, s.factor, s.priority); }

  void add(const model::JobPtr& pointer) {
    const model::Job& j = *pointer;
    all(j.id, j.spec, j.array_job, j.array_task, j.array_max_running, j.state, j.flags, j.reason, j.reason_detail,
        j.hold, j.after_completing, j.epoch, j.restarts, j.priority, j.priority_by_hand, j.dependencies_left,
        j.dependency_never, j.submitted, j.eligible, j.accrue, j.started, j.ended, j.last_eval, j.suspended_at,
        j.suspended_total, j.time_limit, j.kill_began, j.nodes_left, j.last_nodes, j.lost_nodes, j.batch_host, j.cpus_allocated,
        j.het_job, j.het_offset, j.het_size, j.site_factor, j.preempt_at, j.preempt_how, j.preempted_for,
        j.claimed_from, j.exit, j.derived_exit, j.ended_by, j.cancelled, j.submit_token, j.association,
        j.counted_from, j.array_pending != nullptr, j.allocation != nullptr, j.claim != nullptr, j.usage != nullptr);
    if (j.array_pending) add(*j.array_pending);
    if (j.allocation) all(j.allocation->nodes, j.allocation->partition, j.allocation->reservation);
    if (j.usage) add(*j.usage);
    if (j.claim) all(j.claim->nodes, j.claim->partition, j.claim->reservation);
  }
  void add(const model::NodePtr& pointer) {
    const model::Node& n = *pointer;
    all(n.index, n.name, n.address, n.hostname, n.hardware, n.found, n.features, n.active_features, n.weight,
        n.comment, n.extra, n.reason, n.reason_by, n.reason_at, n.down, n.flags, n.registered, n.registered_at,
        n.boot_time, n.agent_started, n.last_busy, n.version, n.os, n.arch, n.public_key, n.cpus_allocated,
        n.memory_allocated_mib, n.cpus_in_use, n.devices_in_use, n.jobs, n.jobs_completing, n.exclusive,
        n.launch_failures, n.after_reboot, n.ordered_at, n.instance_id, n.instance_type);
  }
  void add(const model::NodeConfig& n) {
    all(n.name, n.hostname, n.address, n.port, n.cpus, n.boards, n.sockets, n.cores_per_socket, n.threads_per_core,
        n.memory_mib, n.tmp_disk_mib, n.gres, n.features, n.weight, n.state, n.reason, n.comment, n.spec_cores,
        n.spec_cpus, n.spec_memory_mib, n.created, n.presence);
  }
  void add(const model::PartitionConfig& p) {
    all(p.name, p.is_default, p.hidden, p.root_only, p.exclusive_user, p.lln, p.state, p.nodes, p.max_time,
        p.default_time, p.min_nodes, p.max_nodes, p.max_cpus_per_node, p.allow_groups, p.allow_accounts,
        p.deny_accounts, p.allow_qos, p.deny_qos, p.alloc_nodes, p.qos, p.alternate, p.priority_tier,
        p.priority_job_factor, p.oversubscribe, p.oversubscribe_count, p.default_memory_per_node_mib,
        p.default_memory_per_cpu_mib, p.max_memory_per_node_mib, p.max_memory_per_cpu_mib, p.preempt_mode,
        p.grace_time_seconds, p.max_cpus_per_socket, p.default_cpus_per_gpu, p.default_memory_per_gpu_mib,
        p.billing_weights, p.suspend_time_seconds, p.suspend_timeout_seconds, p.resume_timeout_seconds,
        p.power_down_on_idle, p.node_features,
        p.no_root_jobs, p.requires_reservation, p.over_time_limit_minutes, p.topology);
  }
  void add(const model::ClusterConfig& c) {
    all(c.cluster_name, c.nodes, c.partitions, c.licenses, c.gres_types, c.first_job_id, c.max_job_id,
        c.max_job_count, c.max_array_size, c.max_script_bytes, c.max_batch_requeue, c.min_job_age, c.node_timeout,
        c.kill_wait, c.over_time_limit, c.complete_wait, c.scheduler_tick, c.requeue_default, c.return_to_service,
        c.enforce_partition_limits, c.memory_as, c.cores_whole, c.block_sockets, c.jobs_use_spec_cores,
        c.default_memory_per_node_mib, c.default_memory_per_cpu_mib, c.max_memory_per_node_mib,
        c.max_memory_per_cpu_mib, c.kill_invalid_dependency, c.age_weight, c.age_full, c.priority, c.preempt,
        c.topology, c.planned_jobs, c.promised_jobs, c.promise_after, c.backfill_order, c.max_switch_wait,
        c.reservation_overrun, c.default_cpus_per_gpu, c.default_memory_per_gpu_mib, c.admin_uids,
        c.hold_on_prolog_fail, c.max_launch_failures, c.accept_unknown_nodes, c.config_overrides, c.shown,
        c.accounting, c.is_accounted, c.keep_scripts, c.keep_environments, c.reboot_program, c.resume_timeout,
        c.power, c.max_node_count,
        c.no_root_jobs, c.requeue_exits, c.requeue_hold_exits, c.keep_partition_info,
        c.keep_partition_state, c.append_output, c.least_loaded_nodes, c.one_task_per_core,
        c.pack_tasks, c.bind_to_gres, c.one_task_per_shared_gres, c.spread_shares, c.shares_of_several,
        c.other_topologies, c.inactive_limit);
  }

 private:
  template <class T, class F>
  std::uint64_t memo(const T* address, F&& hash) {
    if (!address) return 0;
    const auto at = seen_.find(address);
    if (at != seen_.end()) return at->second;
    Hasher inner;
    hash(inner, *address);
    return seen_.emplace(address, inner.value()).first->second;
  }
  template <class T, class F>
  void shared(const T* address, F&& hash) {
    digest_.number(memo(address, hash));
  }
  std::uint64_t memo_of(const model::Blob& blob) {
    return memo(blob.get(), [](Hasher& h, const std::string& text) { h.add(text); });
  }

  Digest digest_;
  std::unordered_map<const void*, std::uint64_t> seen_;  // look-up only
};

}  // namespace

std::uint64_t Cluster::state_hash() const {
  const Image image = this->image();
  Hasher hasher;
  hasher.all(image.index, image.as_of, image.next_job_id, image.config, image.nodes, image.jobs, image.tokens,
             image.reservations, image.qos, image.shares, image.accounts_revision, image.associations, image.users,
             image.usages, image.decayed, image.outbox.born, image.outbox.next, image.outbox.acked,
             image.crontabs, image.triggers, image.next_trigger);
  return hasher.value();
}

}  // namespace spur::state
