// SPDX-License-Identifier: Apache-2.0
#include "wire/accounting_codec.h"

#include <algorithm>
#include <map>
#include <utility>

#include "model/pending_reason.h"
#include "spur/v1/accounting.pb.h"
#include "text/hostlist.h"

namespace spur::wire {
namespace {

using model::Job;
using model::JobSpec;

template <class List>
void add_tres(List* list, std::string name, std::uint64_t count) {
  auto* item = list->Add();
  item->set_name(std::move(name));
  item->set_count(count);
}

std::uint64_t total_of(const model::GresRequest& request, const JobSpec& spec, std::uint32_t nodes) {
  using Per = model::GresRequest::Per;
  switch (request.per) {
    case Per::Job:
      return request.count;
    case Per::Task:
      return request.count * model::task_count(spec);
    case Per::Socket:
      return request.count * std::max(spec.sockets_per_node, 1u) * nodes;
    case Per::Node:
      break;
  }
  return request.count * nodes;
}

// "gres/gpu" in all, then each type by itself, as Slurm counts them.
template <class List>
void add_gres(List* list, const std::map<std::pair<std::string, std::string>, std::uint64_t>& counts) {
  std::map<std::string, std::uint64_t> sums;
  for (const auto& [key, count] : counts) sums[key.first] += count;
  for (const auto& [name, count] : sums) {
    add_tres(list, "gres/" + name, count);
    for (const auto& [key, part] : counts)
      if (key.first == name && !key.second.empty()) add_tres(list, "gres/" + name + ":" + key.second, part);
  }
}

void put_requested(const JobSpec& spec, v1::AcctJob* to) {
  const std::uint32_t cpus = model::min_cpus(spec), nodes = std::max(spec.min_nodes, 1u);
  auto* list = to->mutable_requested();
  add_tres(list, "cpu", cpus);
  if (spec.memory_per_cpu_mib)
    add_tres(list, "mem", *spec.memory_per_cpu_mib * cpus);
  else if (spec.memory_per_node_mib && *spec.memory_per_node_mib > 0)
    add_tres(list, "mem", *spec.memory_per_node_mib * nodes);
  add_tres(list, "node", nodes);
  add_tres(list, "billing", cpus);
  std::map<std::pair<std::string, std::string>, std::uint64_t> gres;
  for (const auto& request : spec.gres) gres[{request.name, request.type}] += total_of(request, spec, nodes);
  add_gres(list, gres);
  to->set_cpus_requested(cpus);
  to->set_nodes_requested(nodes);
  to->set_tasks(model::task_count(spec));
}

void put_allocated(const Job& job, v1::AcctJob* to) {
  if (!job.allocation) return;
  std::uint64_t memory = 0, cpus = 0;
  std::map<std::pair<std::string, std::string>, std::uint64_t> gres;
  for (const auto& grant : job.allocation->nodes) {
    memory += grant.memory_mib;
    cpus += model::cpus_held(grant);
    for (const auto& device : grant.devices) {
      std::uint64_t count = device.indices.size();
      if (!device.shares.empty()) {
        count = 0;
        for (const auto share : device.shares) count += share;
      }
      gres[{device.gres, device.type}] += count;
    }
  }
  auto* list = to->mutable_allocated();
  add_tres(list, "cpu", cpus);
  if (memory > 0) add_tres(list, "mem", memory);
  add_tres(list, "node", job.allocation->nodes.size());
  add_tres(list, "billing", cpus);
  add_gres(list, gres);
  to->set_cpus_allocated(static_cast<std::uint32_t>(cpus));
  to->set_node_count(static_cast<std::uint32_t>(job.allocation->nodes.size()));
}

void put_usage(const model::Usage& from, v1::AcctUsage* to) {
  to->set_user_cpu_us(from.user_cpu_us);
  to->set_system_cpu_us(from.system_cpu_us);
  to->set_max_rss_kib(from.max_rss_kib);
  to->set_max_vsize_kib(from.max_vsize_kib);
  to->set_memory_peak_kib(from.memory_peak_kib);
  to->set_read_bytes(from.read_bytes);
  to->set_write_bytes(from.write_bytes);
  to->set_major_faults(from.major_faults);
  to->set_gpu_memory_mib(from.gpu_memory_mib);
  to->set_gpu_utilization(from.gpu_utilization);
}

void put_spec(const JobSpec& spec, v1::AcctJob* to) {
  to->set_uid(spec.uid.value);
  to->set_gid(spec.gid.value);
  to->set_account(spec.account);
  to->set_qos(spec.qos);
  to->set_name(spec.name);
  to->set_wckey(spec.wckey);
  to->set_reservation(spec.reservation);
  to->set_work_dir(spec.work_dir);
  to->set_submit_line(spec.submit_line);
  to->set_comment(spec.comment);
  to->set_admin_comment(spec.admin_comment);
  to->set_extra(spec.extra);
  to->set_features(spec.features);
  to->set_container(spec.container.bundle.empty() ? spec.container.image : spec.container.bundle);
  to->set_submit_host(spec.submit_host);
  to->set_std_in(spec.std_in);
  to->set_std_out(spec.std_out);
  to->set_std_err(spec.std_err);
  if (spec.memory_per_node_mib) to->set_memory_per_node_mib(*spec.memory_per_node_mib);
  if (spec.memory_per_cpu_mib) to->set_memory_per_cpu_mib(*spec.memory_per_cpu_mib);
  std::string licenses;
  for (const auto& license : spec.licenses)
    licenses += (licenses.empty() ? "" : ",") + license.name + ":" + std::to_string(license.count);
  to->set_licenses(licenses);
}

std::string partition_of(const Job& job) {
  if (job.allocation) return job.allocation->partition;
  std::string out;
  for (const auto& name : job.spec->partitions) out += (out.empty() ? "" : ",") + name;
  return out;
}

void put(const state::JobNote& note, Time, v1::AcctRecord* to) {
  to_proto(*note.job, to->mutable_job());
  auto* job = to->mutable_job();
  if (note.requeued) job->set_flags(job->flags() | v1::ACCT_JOB_REQUEUED);
  if (note.with_script && note.job->spec->script) job->set_script(*note.job->spec->script);
  if (note.with_environment && note.job->spec->environment) job->set_environment(*note.job->spec->environment);
}

void put(const state::StepNote& note, Time, v1::AcctRecord* to) {
  auto* step = to->mutable_step();
  const model::StepEnd& end = note.step;
  step->set_job(note.job->id.value);
  step->set_epoch(note.job->epoch.value);
  step->set_submitted_us(to_micros(note.job->submitted));
  step->set_step(end.step);
  step->set_name(end.name);
  step->set_state(static_cast<std::uint32_t>(end.state));
  step->set_started_us(to_micros(end.started));
  step->set_ended_us(to_micros(end.ended));
  step->set_exit_code(end.exit.code);
  step->set_exit_signal(end.exit.signal);
  step->set_nodes(end.nodes);
  step->set_node_count(end.node_count);
  step->set_tasks(end.tasks);
  step->set_cpus(end.cpus);
  add_tres(step->mutable_allocated(), "cpu", end.cpus);
  if (end.memory_mib > 0) add_tres(step->mutable_allocated(), "mem", end.memory_mib);
  add_tres(step->mutable_allocated(), "node", end.node_count);
  put_usage(end.usage, step->mutable_usage());
  step->set_het_offset(note.job->het_offset);
  if (note.job->cancelled) step->set_ended_by(note.job->ended_by.value);
}

void put(const state::NodeNote& note, Time at, v1::AcctRecord* to) {
  const model::Node& node = *note.node;
  auto* event = to->mutable_node();
  event->set_node(node.name);
  event->set_at_us(to_micros(at));
  const bool bad =
      node.down || (node.flags & (model::kNodeDrain | model::kNodeFail | model::kNodeInvalidRegistration));
  if (bad) event->set_state(model::state_text_full(node));
  event->set_reason(node.reason);
  event->set_uid(node.reason_by.value);
  add_tres(event->mutable_tres(), "cpu", node.hardware.cpus);
  add_tres(event->mutable_tres(), "mem", node.hardware.memory_mib);
  add_tres(event->mutable_tres(), "node", 1);
  std::map<std::pair<std::string, std::string>, std::uint64_t> gres;
  for (const auto& device : node.hardware.gres) gres[{device.name, device.type}] += device.count;
  add_gres(event->mutable_tres(), gres);
}

void put(const state::ClusterNote& note, Time at, v1::AcctRecord* to) {
  auto* tres = to->mutable_cluster_tres();
  tres->set_at_us(to_micros(at));
  add_tres(tres->mutable_tres(), "cpu", note.cpus);
  add_tres(tres->mutable_tres(), "mem", note.memory_mib);
  add_tres(tres->mutable_tres(), "node", note.nodes);
  add_tres(tres->mutable_tres(), "billing", note.cpus);
  for (const auto& [name, count] : note.gres)
    add_tres(tres->mutable_tres(), name.starts_with("license/") ? name : "gres/" + name, count);
}

void put(const state::ReservationNote& note, Time at, v1::AcctRecord* to) {
  auto* out = to->mutable_reservation();
  const auto& reservation = note.reservation;
  out->set_name(reservation.name);
  out->set_at_us(to_micros(at));
  out->set_start_us(to_micros(reservation.start));
  out->set_end_us(to_micros(reservation.end));
  out->set_nodes(text::compress_hostlist(note.nodes));
  const auto joined = [](const std::vector<std::string>& names) {
    std::string all;
    for (const auto& name : names) all += (all.empty() ? "" : ",") + name;
    return all;
  };
  out->set_accounts(joined(reservation.accounts.names));
  out->set_users(joined(reservation.users.names));
  add_tres(out->mutable_tres(), "cpu", note.cpus);
  add_tres(out->mutable_tres(), "node", note.nodes.size());
  out->set_deleted(note.over);
}

}  // namespace

void to_proto(const Job& job, v1::AcctJob* to) {
  put_spec(*job.spec, to);
  to->set_job(job.id.value);
  to->set_epoch(job.epoch.value);
  to->set_submitted_us(to_micros(job.submitted));
  to->set_array_job(job.array_job.value);
  if (job.array_task) to->set_array_task(*job.array_task);
  if (job.array_pending) {
    std::string tasks = job.array_pending->to_string();
    if (job.array_max_running) tasks += "%" + std::to_string(job.array_max_running);
    to->set_array_tasks(tasks);
  }
  to->set_het_job(job.het_job.value);
  to->set_het_offset(job.het_offset);
  to->set_state(static_cast<std::uint32_t>(job.state));
  std::uint32_t flags = 0;
  if (job.cancelled) flags |= v1::ACCT_JOB_CANCELLED;
  if (job.spec->kind == model::JobKind::Interactive) flags |= v1::ACCT_JOB_INTERACTIVE;
  if (job.is_array_rest()) flags |= v1::ACCT_JOB_ARRAY_REST;
  if (job.flags & model::kCompleting) flags |= v1::ACCT_JOB_COMPLETING;
  to->set_flags(flags);
  to->set_partition(partition_of(job));
  to->set_nodes(job.last_nodes);
  to->set_eligible_us(to_micros(job.eligible));
  to->set_started_us(to_micros(job.started));
  to->set_ended_us(to_micros(job.ended));
  to->set_suspended_at_us(to_micros(job.suspended_at));
  to->set_suspended_total_us(job.suspended_total.count());
  to->set_time_limit(job.time_limit.raw());
  to->set_priority(job.priority);
  to->set_exit_code(job.exit.code);
  to->set_exit_signal(job.exit.signal);
  to->set_derived_code(job.derived_exit.code);
  to->set_derived_signal(job.derived_exit.signal);
  to->set_restarts(job.restarts);
  to->set_ended_by(job.ended_by.value);
  to->set_reason(std::string(model::reason_name(job.reason)));
  put_requested(*job.spec, to);
  put_allocated(job, to);
  if (job.usage) put_usage(*job.usage, to->mutable_usage());
}

void to_proto(const state::OutboxRecord& record, const AcctNames& names, v1::AcctRecord* to) {
  to->set_number(record.number);
  std::visit([&](const auto& note) { put(note, record.at, to); }, record.what);
  if (!to->has_job()) return;
  auto* job = to->mutable_job();
  if (names.user) job->set_user(names.user(Uid{job->uid()}));
  if (names.group) job->set_group(names.group(Gid{job->gid()}));
}

std::string encode_record(const state::OutboxRecord& record, const AcctNames& names) {
  v1::AcctRecord proto;
  to_proto(record, names, &proto);
  return proto.SerializeAsString();
}

}  // namespace spur::wire
