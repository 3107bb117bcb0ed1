// SPDX-License-Identifier: Apache-2.0
#include "sched/feasibility.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sched/node_shares.h"
#include "sched/socket_choice.h"

namespace spur::sched {
namespace {

constexpr std::uint32_t kNotPreferred = 1u << 31;

Amount round_up(Amount value, Amount unit) {
  return (value + unit - 1) / unit * unit;
}
Amount round_down(Amount value, Amount unit) {
  return value / unit * unit;
}

// Threads of a core that count for memory per CPU: those that tasks may use.
Amount threads_used(const Request& request, Amount unit) {
  return request.threads > 0 ? std::min(request.threads, unit) : unit;
}
Amount memory_of_cpus(const Request& request, Amount unit, Amount cpus) {
  return request.memory_mib * (cpus / unit) * threads_used(request, unit);
}

// Nobody else may be there: every CPU and every device is free.
bool all_free(const Capacity& capacity, NodeNumber node, const Amount* row) {
  const Amount* total = capacity.total(node);
  if (row[Columns::kCpu] != total[Columns::kCpu]) return false;
  for (const auto& group : capacity.layout(node).groups)
    for (const auto& device : group.devices)
      if (row[device.column] != total[device.column]) return false;
  for (const auto& counted : capacity.layout(node).counted)
    if (row[counted.column] != total[counted.column]) return false;
  return true;
}

// CPUs of the node that the job may use, given its memory; negative where its fixed memory does not fit.
Amount usable_cpus(const Request& request, const Capacity& capacity, NodeNumber node, const Amount* row) {
  const Amount unit = capacity.unit(node);
  Amount cpus = row[Columns::kCpu];
  if (request.core_spec) cpus = cpus_beside(capacity.node(node).hardware, *request.core_spec, unit);
  // A whole node counts with all its CPUs.
  if (request.limit_column && request.exclusive && row[request.limit_column] < capacity.total(node)[Columns::kCpu])
    return -1;
  if (request.limit_column && !request.exclusive)
    cpus = std::min(cpus, round_down(std::max<Amount>(0, row[request.limit_column]), unit));
  const Amount memory = row[Columns::kMemory];
  switch (request.memory) {
    case MemoryNeed::None:
      break;
    case MemoryNeed::PerTask:
    case MemoryNeed::PerGpu:
      if (memory < request.memory_mib) return -1;  // one of them at least
      break;
    case MemoryNeed::PerNode:
      if (memory < request.memory_mib) return -1;
      break;
    case MemoryNeed::WholeNode:
      if (memory < capacity.total(node)[Columns::kMemory]) return -1;
      break;
    case MemoryNeed::PerCpu:
      cpus = std::min(cpus, memory / (request.memory_mib * threads_used(request, unit)) * unit);
      break;
  }
  return cpus;
}

// CPUs and memory left for GPUs of the whole job, as a number of GPUs.
Amount gpus_served(const Request& request, const Amount* row, Amount cpus) {
  Amount gpus = kNoLimit;
  if (request.cpus_per_gpu > 0) gpus = std::min(gpus, cpus / request.cpus_per_gpu);
  if (request.memory == MemoryNeed::PerGpu) gpus = std::min(gpus, row[Columns::kMemory] / request.memory_mib);
  return gpus;
}

// Tasks that the node's GRES allows; 0 where it lacks what every node has to give.
Amount tasks_by_gres(const Request& request, const Capacity& capacity, NodeNumber node, const Amount* row,
                     Amount cpus) {
  const NodeLayout& layout = capacity.layout(node);
  const Amount* total = capacity.total(node);
  for (const auto& need : request.gres_per_node)
    if (lots_free(request, need, layout, total, row, false) < 1) return 0;
  for (const auto& need : request.gres_per_job)
    if (most_on_node(request, need, layout, total, row) < 1) return 0;
  if (request.counts_gpus() && gpus_served(request, row, cpus) < 1) return 0;
  Amount tasks = kNoLimit;
  for (const auto& need : request.gres_per_task)
    tasks = std::min(tasks, lots_free(request, need, layout, total, row, request.one_task_per_device));
  return tasks;
}

Amount cpus_of_one_task(const Request& request, Amount unit) {
  return request.counts_cores() ? cpus_in_cores(request, unit, 1) : round_up(request.cpus_per_task, unit);
}

// GPUs of the job on the node where their number matters.
Amount job_gpus(const Request& request, const JobGres& job_gres) {
  Amount gpus = 0;
  for (std::size_t i = 0; i < request.gres_per_job.size(); ++i)
    if (request.gres_per_job[i].is_gpu) gpus += job_gres[i];
  return gpus;
}

}  // namespace

bool node_allowed(const Request& request, const Capacity& capacity, NodeNumber node) {
  const auto& record = capacity.node(node);
  return static_cast<Amount>(record.hardware.tmp_disk_mib) >= request.tmp_disk_mib &&
         record.hardware.sockets >= request.min_sockets && record.hardware.cores_per_socket >= request.min_cores &&
         record.hardware.threads_per_core >= request.min_threads && has_features(record, request.features);
}

Amount cpus_for(const Request& request, Amount unit, std::uint32_t tasks, const JobGres& job_gres) {
  const Amount running = request.overcommit ? 1 : std::max<Amount>(1, tasks);
  Amount cpus = request.counts_cores() ? cpus_in_cores(request, unit, running) : running * request.cpus_per_task;
  cpus = std::max(cpus, request.min_cpus);
  if (request.cpus_per_gpu > 0) cpus = std::max(cpus, request.cpus_per_gpu * job_gpus(request, job_gres));
  return round_up(cpus, unit);
}

namespace {

std::uint32_t tasks_in_row(const Request& request, const Capacity& capacity, NodeNumber node, const Amount* row) {
  const Amount cpus = usable_cpus(request, capacity, node, row);
  if (cpus < request.cpus_per_task || cpus < request.min_cpus) return 0;
  if (request.exclusive && !all_free(capacity, node, row)) return 0;

  Amount tasks = request.overcommit ? kNoLimit : cpus / request.cpus_per_task;
  if (request.counts_cores()) tasks = std::min(tasks, tasks_by_cores(request, capacity.layout(node), row, cpus));
  if (request.memory == MemoryNeed::PerTask) tasks = std::min(tasks, row[Columns::kMemory] / request.memory_mib);
  if (request.wants_gres()) tasks = std::min(tasks, tasks_by_gres(request, capacity, node, row, cpus));
  if (!request.tasks_fixed) return tasks >= request.tasks_per_node ? request.tasks_per_node : 0;
  if (request.tasks_per_node) tasks = std::min<Amount>(tasks, request.tasks_per_node);
  return static_cast<std::uint32_t>(std::min<Amount>(tasks, request.tasks));
}

Offer offer_of_row(const Request& request, const Capacity& capacity, NodeNumber node, const Amount* row) {
  Offer offer;
  offer.node = node;
  offer.tasks = tasks_in_row(request, capacity, node, row);
  if (!request.task_nodes.empty()) {  // just those that are listed for it
    const auto listed = static_cast<std::uint32_t>(std::ranges::count(request.task_nodes, node));
    offer.tasks = offer.tasks >= listed ? listed : 0;
  }
  if (offer.tasks == 0) return offer;
  const NodeLayout& layout = capacity.layout(node);
  const Amount* total = capacity.total(node);
  offer.weight = std::min(capacity.weight(node), kNotPreferred - 1);
  if (!request.prefer.empty() && !has_features(capacity.node(node), request.prefer)) offer.weight += kNotPreferred;
  if (!request.features.is_per_node()) offer.features = feature_bits(capacity.node(node), request.features);
  offer.unit = static_cast<std::int32_t>(layout.unit);
  offer.cpus = static_cast<std::int32_t>(row[Columns::kCpu]);
  if (!layout.groups.empty() || !layout.counted.empty())
    offer.gres =
        static_cast<std::int32_t>(free_gres(layout, total, row) - devices_to_break(request, layout, total, row));
  if (request.gres_per_job.empty()) return offer;
  const Amount served =
      request.counts_gpus() ? gpus_served(request, row, usable_cpus(request, capacity, node, row)) : Amount{kNoLimit};
  for (std::size_t i = 0; i < request.gres_per_job.size(); ++i) {
    Amount most = std::min<Amount>(most_on_node(request, request.gres_per_job[i], layout, total, row), 0x7fffffff);
    if (request.gres_per_job[i].is_gpu) most = std::min(most, served);
    offer.job_gres[i] = static_cast<std::int32_t>(most);
  }
  return offer;
}

}  // namespace

GpuPart gpu_part(const Request& request, const Offer& offer, Amount capacity) {
  GpuPart part;
  const std::uint32_t tasks = request.tasks_fixed ? std::min(offer.tasks, request.tasks) : request.tasks_per_node;
  const Amount running = std::max<Amount>(1, tasks);
  JobGres job_gres{};
  for (std::size_t i = 0; i < request.gres_per_job.size(); ++i)
    job_gres[i] = static_cast<std::int32_t>(std::min<Amount>(offer.job_gres[i], request.gres_per_job[i].count));
  part.cpus = cpus_for(request, offer.unit, tasks, job_gres);
  if (request.memory == MemoryNeed::PerNode) part.memory = request.memory_mib;
  if (request.memory == MemoryNeed::PerCpu) part.memory = memory_of_cpus(request, offer.unit, part.cpus);
  if (request.memory == MemoryNeed::PerTask) part.memory = request.memory_mib * running;
  if (request.memory == MemoryNeed::PerGpu) part.memory = request.memory_mib * job_gpus(request, job_gres);
  const auto add = [&](const GresNeed& need, Amount count, Amount lots) {
    const auto at_most = [](Amount n) { return static_cast<std::uint32_t>(std::min<Amount>(n, kMostGpus)); };
    if (need.is_gpu) part.whole += at_most(count * lots);
    if (!need.is_shares()) return;
    const auto share = static_cast<std::uint32_t>(std::min<Amount>(count * kWholeGpu / capacity, kWholeGpu));
    part.shares.insert(part.shares.end(), at_most(lots), share);
  };
  for (const auto& need : request.gres_per_node) add(need, need.count, 1);
  for (const auto& need : request.gres_per_task) add(need, need.count, running);
  for (std::size_t i = 0; i < request.gres_per_job.size(); ++i) add(request.gres_per_job[i], job_gres[i], 1);
  return part;
}

namespace {

void take_out_of_row(const Request& request, const Capacity& capacity, const Share& share, std::uint64_t rails,
                     const Amount* row, Amount* take) {
  std::fill(take, take + capacity.width(), 0);
  const NodeLayout& layout = capacity.layout(share.node);
  const Amount* total = capacity.total(share.node);
  const Amount cpus = cpus_for(request, layout.unit, share.tasks, share.job_gres);
  take[Columns::kCpu] = request.exclusive ? total[Columns::kCpu] : cpus;
  if (request.limit_column) take[request.limit_column] = take[Columns::kCpu];
  if (capacity.memory_is_consumable()) {
    if (request.memory == MemoryNeed::PerNode) take[Columns::kMemory] = request.memory_mib;
    if (request.memory == MemoryNeed::WholeNode) take[Columns::kMemory] = total[Columns::kMemory];
    if (request.memory == MemoryNeed::PerCpu)  // a whole node with as much of it as there is
      take[Columns::kMemory] = std::min(request.exclusive ? request.memory_mib * take[Columns::kCpu]
                                                          : memory_of_cpus(request, layout.unit, cpus),
                                        row[Columns::kMemory]);
    if (request.memory == MemoryNeed::PerTask)
      take[Columns::kMemory] = request.memory_mib * std::max<Amount>(1, share.tasks);
    if (request.memory == MemoryNeed::PerGpu)
      take[Columns::kMemory] = request.memory_mib * job_gpus(request, share.job_gres);
  }
  if (request.exclusive) {
    for (std::size_t c = capacity.columns().first_of_node(); c < capacity.width(); ++c) take[c] = total[c];
    return;
  }
  std::uint64_t near = ~std::uint64_t{0};
  if (request.wants_gres()) near = take_gres(request, layout, total, share, rails, row, take);
  if (!layout.first_socket) return;
  const SocketRows rows{capacity.free(share.node), total, row};
  if (request.tasks_per_socket > 0) take_tasks_by_socket(request, layout, rows, share.tasks, near, take);
  if (request.sockets_in_turn || request.bind_to_gres)
    take_sockets_in_turn(layout, rows, near, cpus_of_one_task(request, layout.unit), take);
  else
    take_sockets(layout, rows, near, take);
}

// Of the first of the job's GRES, what the node gives at most.
Amount first_job_gres(const Request& request, const Capacity& capacity, NodeNumber node, const Amount* row) {
  return request.gres_per_job.empty()
             ? 0
             : most_on_node(request, request.gres_per_job.front(), capacity.layout(node), capacity.total(node), row);
}

// The row cut to the sockets that offer the most tasks, then the most GRES; empty: none offer any. There is a core
// for each socket.
std::vector<Amount> best_sockets(const Request& request, const Capacity& capacity, NodeNumber node, const Amount* row) {
  const NodeLayout& layout = capacity.layout(node);
  std::vector<Amount> best;
  std::uint32_t most_tasks = 0;
  Amount most_gres = 0;
  for (const std::uint64_t sockets : socket_sets(request, layout)) {
    std::vector<Amount> cut(row, row + capacity.width());
    if (!cut_to_sockets(request, layout, sockets, capacity.total(node), cut)) continue;
    const std::uint32_t tasks = tasks_in_row(request, capacity, node, cut.data());
    if (tasks == 0) continue;
    const Amount gres = first_job_gres(request, capacity, node, cut.data());
    JobGres job_gres{};
    if (!request.gres_per_job.empty())
      job_gres[0] = static_cast<std::int32_t>(std::min(gres, request.gres_per_job.front().count));
    const Amount cores = cpus_for(request, layout.unit, tasks, job_gres) / layout.unit;
    if (request.bind_to_gres && cores < std::popcount(sockets)) continue;
    std::vector<Amount> covered = cut;
    const Amount gpus = gpus_wanted(request, tasks, job_gres);
    if (!cover_sockets(request, layout, sockets, gpus, capacity.total(node), covered)) continue;
    if (std::pair(tasks, gres) <= std::pair(most_tasks, most_gres)) continue;
    most_tasks = tasks;
    most_gres = gres;
    best = std::move(cut);
  }
  return best;
}

// Whether the row has what the share takes.
bool has_share(const Request& request, const Capacity& capacity, const Share& share, const std::vector<Amount>& row) {
  if (tasks_in_row(request, capacity, share.node, row.data()) < share.tasks) return false;
  const NodeLayout& layout = capacity.layout(share.node);
  const Amount* total = capacity.total(share.node);
  for (std::size_t i = 0; i < request.gres_per_job.size(); ++i)
    if (most_on_node(request, request.gres_per_job[i], layout, total, row.data()) < share.job_gres[i]) return false;
  return row[Columns::kCpu] >= cpus_for(request, capacity.unit(share.node), share.tasks, share.job_gres);
}

// The row cut to the fewest sockets that have the share, with a core for each if there is such a choice; as it is
// where there is none.
std::vector<Amount> fewest_sockets(const Request& request, const Capacity& capacity, const Share& share,
                                   const Amount* row) {
  const NodeLayout& layout = capacity.layout(share.node);
  const Amount cores = cpus_for(request, layout.unit, share.tasks, share.job_gres) / layout.unit;
  std::vector<Amount> fallback(row, row + capacity.width());
  bool found = false;
  for (const std::uint64_t sockets : socket_sets(request, layout)) {
    std::vector<Amount> cut(row, row + capacity.width());
    if (!cut_to_sockets(request, layout, sockets, capacity.total(share.node), cut)) continue;
    if (!has_share(request, capacity, share, cut)) continue;
    const Amount gpus = gpus_wanted(request, share.tasks, share.job_gres);
    std::vector<Amount> covered = cut;
    const bool covers = cover_sockets(request, layout, sockets, gpus, capacity.total(share.node), covered);
    if (covers && (!request.bind_to_gres || cores >= std::popcount(sockets))) return covered;
    if (!std::exchange(found, true)) fallback = std::move(cut);
  }
  return fallback;
}

}  // namespace

std::uint32_t tasks_that_fit(const Request& request, const Capacity& capacity, NodeNumber node, const Amount* row) {
  if (!is_bound_to_sockets(request, capacity.layout(node))) return tasks_in_row(request, capacity, node, row);
  const std::vector<Amount> cut = best_sockets(request, capacity, node, row);
  return cut.empty() ? 0 : tasks_in_row(request, capacity, node, cut.data());
}

Offer make_offer(const Request& request, const Capacity& capacity, NodeNumber node, const Amount* row) {
  if (!is_bound_to_sockets(request, capacity.layout(node))) return offer_of_row(request, capacity, node, row);
  const std::vector<Amount> cut = best_sockets(request, capacity, node, row);
  if (cut.empty()) return {.node = node};
  // Judged among others by all that the node has.
  Offer offer = offer_of_row(request, capacity, node, row);
  const Offer of_sockets = offer_of_row(request, capacity, node, cut.data());
  offer.tasks = of_sockets.tasks;
  offer.job_gres = of_sockets.job_gres;
  return offer;
}

void take_of_share(const Request& request, const Capacity& capacity, const Share& share, std::uint64_t rails,
                   const Amount* row, Amount* take) {
  if (!is_bound_to_sockets(request, capacity.layout(share.node)))
    return take_out_of_row(request, capacity, share, rails, row, take);
  take_out_of_row(request, capacity, share, rails, fewest_sockets(request, capacity, share, row).data(), take);
}

}  // namespace spur::sched
