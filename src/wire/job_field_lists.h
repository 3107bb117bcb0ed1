// SPDX-License-Identifier: Apache-2.0
// The fields of a job and of its specification, a row each: what the codecs write and read (wire/fields.h has the
// kinds) and what a list of jobs can be asked for by name (wire/job_fields.h). Fields that no macro can write come as
// names alone.
#pragma once

// clang-format off
#define SPUR_JOB_FIELDS(F) \
  F(ID, id) F(ID, array_job) F(OPT, array_task) F(PLAIN, array_max_running) \
  F(ENUM, state) F(PLAIN, flags) F(ENUM, reason) F(PLAIN, reason_detail) F(ENUM, hold) F(ENUM, after_completing) \
  F(PLAIN, restarts) F(DEF, priority) F(PLAIN, priority_by_hand) F(MSGS, dependencies_left) \
  F(PLAIN, dependency_never) \
  F(TIME, submitted) F(TIME, eligible) F(TIME, accrue) F(TIME, started) F(TIME, ended) F(TIME, last_eval) \
  F(TIME, suspended_at) F(LIMIT, time_limit) F(TIME, kill_began) \
  F(RUNS, nodes_left) F(PLAIN, last_nodes) F(PLAIN, batch_host) F(PLAIN, cpus_allocated) F(MSG, exit) \
  F(MSG, derived_exit) F(ID, ended_by) F(PLAIN, cancelled) F(PLAIN, submit_token) F(PLAIN, association) F(TIME, counted_from) \
  F(ID, het_job) F(PLAIN, het_offset) F(PLAIN, het_size) F(PLAIN, site_factor) F(TIME, preempt_at) \
  F(ENUM, preempt_how) F(ID, preempted_for) F(TIME, claimed_from) \
  F(TEXTS, lost_nodes)

// Those that job_codec.cc writes by hand.
#define SPUR_JOB_FIELDS_BY_HAND(F) \
  F(epoch) F(suspended_total) F(array_pending) F(allocation) F(claim) F(usage)

// What a list says of a job beside its record.
#define SPUR_JOB_FIELDS_BESIDE(F) F(expected_start) F(preemptable) F(planned_nodes)

// Fixed for the life of a job.
#define SPUR_JOB_SPEC_OWNER(F) F(ENUM, kind) F(ID, uid) F(ID, gid)

// Large, and of interest only to whoever runs the job; so are script and environment.
#define SPUR_JOB_SPEC_UNLISTED(F) F(MSGS, rlimits)

// All others but array.
#define SPUR_JOB_SPEC_FIELDS(F) \
  F(PLAIN, name) F(PLAIN, account) F(PLAIN, qos) F(PLAIN, wckey) F(PLAIN, comment) F(PLAIN, admin_comment) \
  F(PLAIN, extra) F(TEXTS, partitions) F(PLAIN, reservation) \
  F(TEXTS, arguments) F(PLAIN, command) F(PLAIN, work_dir) F(PLAIN, std_in) F(PLAIN, std_out) F(PLAIN, std_err) \
  F(PLAIN, open_append) F(PLAIN, open_truncate) F(DEF, umask) F(PLAIN, submit_line) \
  F(PLAIN, submit_host) F(PLAIN, session_id) \
  F(DEF, min_nodes) F(OPT, max_nodes) F(PLAIN, nodes_given) F(OPT, tasks) F(PLAIN, tasks_per_node) \
  F(DEF, cpus_per_task) F(PLAIN, cpus_per_task_given) F(OPT, min_cpus_per_node) F(OPT, memory_per_node_mib) \
  F(OPT, memory_per_cpu_mib) F(PLAIN, tmp_disk_mib) F(MSGS, gres) F(MSGS, licenses) F(ENUM, exclusive) \
  F(PLAIN, oversubscribe) F(PLAIN, overcommit) F(PLAIN, contiguous) F(PLAIN, features) F(PLAIN, required_nodes) \
  F(PLAIN, excluded_nodes) F(PLAIN, tasks_per_socket) F(PLAIN, tasks_per_core) F(PLAIN, tasks_per_gpu) \
  F(PLAIN, cpus_per_gpu) F(OPT, memory_per_gpu_mib) F(PLAIN, gres_flags) F(PLAIN, spread_nodes) \
  F(PLAIN, fewest_nodes) F(PLAIN, sockets_per_node) F(PLAIN, cores_per_socket) F(PLAIN, threads_per_core) \
  F(ENUM, hint) F(OPT, core_spec) F(PLAIN, core_spec_is_threads) F(MSG, distribution) F(PLAIN, switches) \
  F(OPT, switch_wait_seconds) F(PLAIN, segment) F(PLAIN, prefer) F(PLAIN, batch_features) F(PLAIN, burst_buffer) \
  F(LIMIT, time_limit) F(LIMIT, time_min) F(TIME, begin) F(TIME, deadline) F(MSGS, dependencies) \
  F(PLAIN, dependencies_any) F(OPT, kill_on_invalid_dependency) F(PLAIN, nice) F(OPT, priority) F(PLAIN, hold) \
  F(OPT, requeue) F(MSG, signal) F(PLAIN, immediate_seconds) F(PLAIN, mail_types) F(PLAIN, mail_user) \
  F(MSG, container) F(PLAIN, no_kill) F(PLAIN, gpu_bind) F(PLAIN, gpu_freq)

// Those that spec_codec.cc writes by hand. Scripts and environments are no part of a list, see JobFilter::with_script.
#define SPUR_JOB_SPEC_BY_HAND(F) F(array)
// clang-format on
