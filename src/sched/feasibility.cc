// SPDX-License-Identifier: Apache-2.0
#include "sched/feasibility.h"

#include <algorithm>

#include "base/check.h"

namespace spur::sched {
namespace {

Amount round_up(Amount value, Amount unit) {
  return (value + unit - 1) / unit * unit;
}
Amount round_down(Amount value, Amount unit) {
  return value / unit * unit;
}

Amount sum(const GresNeed& need, const Amount* row) {
  Amount found = 0;
  for (const auto column : need.columns) found += row[column];
  return found;
}

// Nobody else may be there: every CPU and every device is free.
bool all_free(const Capacity& capacity, NodeNumber node, const Amount* row) {
  const Amount* total = capacity.total(node);
  if (row[Columns::kCpu] != total[Columns::kCpu]) return false;
  for (std::size_t c = Columns::kFirstGres; c < capacity.columns().gres_end(); ++c)
    if (row[c] != total[c]) return false;
  return true;
}

// CPUs of the node that the job may use, given its memory; negative where its fixed memory does not fit.
Amount usable_cpus(const Request& request, const Capacity& capacity, NodeNumber node, const Amount* row) {
  const Amount unit = capacity.unit(node);
  Amount cpus = row[Columns::kCpu];
  if (request.limit_column && !request.exclusive)
    cpus = std::min(cpus, round_down(std::max<Amount>(0, row[request.limit_column]), unit));
  const Amount memory = row[Columns::kMemory];
  switch (request.memory) {
    case MemoryNeed::None:
      break;
    case MemoryNeed::PerNode:
      if (memory < request.memory_mib) return -1;
      break;
    case MemoryNeed::WholeNode:
      if (memory < capacity.total(node)[Columns::kMemory]) return -1;
      break;
    case MemoryNeed::PerCpu:
      cpus = std::min(cpus, round_down(memory / request.memory_mib, unit));
      break;
  }
  return cpus;
}

void take_gres(const GresNeed& need, Amount count, const Amount* row, Amount* take) {
  for (const auto column : need.columns) {
    const Amount here = std::min(count, row[column] - take[column]);
    take[column] += here;
    count -= here;
  }
  SPUR_CHECK_MSG(count == 0, "a share fits into the row it was made for");
}

}  // namespace

bool node_allowed(const Request& request, const Capacity& capacity, NodeNumber node) {
  const auto& record = capacity.node(node);
  return static_cast<Amount>(record.hardware.tmp_disk_mib) >= request.tmp_disk_mib &&
         has_features(record, request.features);
}

Amount cpus_for_tasks(const Request& request, Amount unit, std::uint32_t tasks) {
  const Amount running = request.overcommit ? 1 : std::max<Amount>(1, tasks);
  return round_up(std::max(running * request.cpus_per_task, request.min_cpus), unit);
}

std::uint32_t tasks_that_fit(const Request& request, const Capacity& capacity, NodeNumber node, const Amount* row) {
  const Amount cpus = usable_cpus(request, capacity, node, row);
  if (cpus < request.cpus_per_task || cpus < request.min_cpus) return 0;
  if (request.exclusive && !all_free(capacity, node, row)) return 0;
  for (const auto& need : request.gres_per_node)
    if (sum(need, row) < need.count) return 0;
  for (const auto& need : request.gres_per_job)
    if (sum(need, row) < 1) return 0;

  Amount tasks = request.overcommit ? kNoLimit : cpus / request.cpus_per_task;
  for (const auto& need : request.gres_per_task) tasks = std::min(tasks, sum(need, row) / need.count);
  if (!request.tasks_fixed) return tasks >= request.tasks_per_node ? request.tasks_per_node : 0;
  if (request.tasks_per_node) tasks = std::min<Amount>(tasks, request.tasks_per_node);
  return static_cast<std::uint32_t>(std::min<Amount>(tasks, request.tasks));
}

Offer make_offer(const Request& request, const Capacity& capacity, NodeNumber node, const Amount* row,
                 const Amount* judged) {
  Offer offer;
  offer.node = node;
  offer.tasks = tasks_that_fit(request, capacity, node, row);
  if (offer.tasks == 0) return offer;
  offer.weight = capacity.weight(node);
  offer.unit = static_cast<std::int32_t>(capacity.unit(node));
  offer.cpus = static_cast<std::int32_t>(judged[Columns::kCpu]);
  for (std::size_t c = Columns::kFirstGres; c < capacity.columns().gres_end(); ++c)
    offer.gres += static_cast<std::int32_t>(judged[c]);
  for (std::size_t i = 0; i < request.gres_per_job.size(); ++i)
    offer.job_gres[i] = static_cast<std::int32_t>(sum(request.gres_per_job[i], row));
  return offer;
}

void take_of_share(const Request& request, const Capacity& capacity, const Share& share, const Amount* row,
                   Amount* take) {
  std::fill(take, take + capacity.width(), 0);
  const Amount* total = capacity.total(share.node);
  const Amount cpus = cpus_for_tasks(request, capacity.unit(share.node), share.tasks);
  take[Columns::kCpu] = request.exclusive ? total[Columns::kCpu] : cpus;
  if (request.limit_column) take[request.limit_column] = take[Columns::kCpu];
  if (capacity.memory_is_consumable()) {
    if (request.memory == MemoryNeed::PerNode) take[Columns::kMemory] = request.memory_mib;
    if (request.memory == MemoryNeed::WholeNode) take[Columns::kMemory] = total[Columns::kMemory];
    if (request.memory == MemoryNeed::PerCpu) take[Columns::kMemory] = request.memory_mib * cpus;
  }
  if (request.exclusive) {
    for (std::size_t c = Columns::kFirstGres; c < capacity.columns().gres_end(); ++c) take[c] = total[c];
    return;
  }
  for (const auto& need : request.gres_per_node) take_gres(need, need.count, row, take);
  const auto tasks = std::max<Amount>(1, share.tasks);
  for (const auto& need : request.gres_per_task) take_gres(need, need.count * tasks, row, take);
  for (std::size_t i = 0; i < request.gres_per_job.size(); ++i)
    take_gres(request.gres_per_job[i], share.job_gres[i], row, take);
}

}  // namespace spur::sched
