// SPDX-License-Identifier: Apache-2.0
#include "sched/shared_cores.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "model/core_sharing.h"
#include "sched/node_ends.h"

namespace spur::sched {
namespace {

bool holds_shared_cores(const model::Job& job) {
  return (job.flags & model::kSharesCores) && !is_set(job.suspended_at);
}

// By CPU: how many have it, and until when.
class CpuTally {
 public:
  explicit CpuTally(std::uint32_t cpus) : jobs_(cpus), until_(cpus) {}

  void add(std::span<const model::CpuNumber> cpus, Time until) {
    for (const model::CpuNumber cpu : cpus) {
      if (cpu >= jobs_.size()) continue;
      ++jobs_[cpu];
      until_[cpu] = std::max(until_[cpu], until);
    }
  }
  // Of a core all CPUs go together. `reserved`: CPUs that are not for jobs.
  std::vector<SharedCore> cores(std::uint32_t unit, std::span<const std::uint64_t> reserved) const {
    std::vector<SharedCore> found;
    for (std::uint32_t first = 0; first + unit <= jobs_.size(); first += unit) {
      SharedCore core{first, 0, {}};
      bool whole = true;
      for (std::uint32_t cpu = first; cpu < first + unit; ++cpu) {
        const bool kept = cpu / 64 < reserved.size() && (reserved[cpu / 64] >> (cpu % 64) & 1) != 0;
        whole &= jobs_[cpu] > 0 && !kept;
        core.jobs = std::max(core.jobs, jobs_[cpu]);
        core.until = std::max(core.until, until_[cpu]);
      }
      if (whole) found.push_back(core);
    }
    std::ranges::sort(found, {}, [](const SharedCore& core) { return std::tuple(core.jobs, core.first); });
    return found;
  }

 private:
  std::vector<std::uint32_t> jobs_;
  std::vector<Time> until_;
};

std::size_t column_of(const NodeLayout& layout, model::CpuNumber cpu) {
  if (!layout.first_socket) return Columns::kCpu;
  return layout.first_socket +
         static_cast<std::size_t>(std::min<Amount>(cpu / layout.cpus_per_socket, layout.sockets - 1));
}

}  // namespace

LastLeavers::LastLeavers(const model::View& view, const Capacity& capacity, NodeNumber n)
    : last_(capacity.node(n).hardware.cpus) {
  capacity.for_each_job_on(view, n, [&](const model::Job& job, const model::NodeGrant& grant) {
    if (!holds_shared_cores(job)) return;
    const Last mine{raw_end(job), job.id};
    for (const model::CpuNumber cpu : grant.cpus)
      if (cpu < last_.size() && std::tie(last_[cpu].until, last_[cpu].job) < std::tie(mine.until, mine.job))
        last_[cpu] = mine;
  });
}

std::vector<model::CpuNumber> LastLeavers::cpus_of(const model::Job& job, const model::NodeGrant& grant) const {
  std::vector<model::CpuNumber> mine;
  for (const model::CpuNumber cpu : grant.cpus)
    if (cpu < last_.size() && last_[cpu].job == job.id) mine.push_back(cpu);
  return mine;
}

Beside make_beside(const NodeLayout& layout, std::span<const Amount> least, std::vector<SharedCore> cores) {
  Beside made{{least.begin(), least.end()}, {}, std::move(cores)};
  if (layout.first_socket && !made.cores.empty()) {
    // Plans for later may leave sockets more or less than the node as a whole: of both the least.
    Amount sum = 0;
    for (std::uint32_t s = 0; s < layout.sockets; ++s) sum += made.idle[layout.first_socket + s];
    for (std::uint32_t s = layout.sockets; s-- > 0 && sum > made.idle[Columns::kCpu];) {
      const Amount cut = std::min(made.idle[layout.first_socket + s], sum - made.idle[Columns::kCpu]);
      made.idle[layout.first_socket + s] -= cut;
      sum -= cut;
    }
    made.idle[Columns::kCpu] = sum;
  }
  made.row = made.idle;
  for (const SharedCore& core : made.cores) {
    made.row[Columns::kCpu] += layout.unit;
    if (layout.first_socket) made.row[column_of(layout, core.first)] += layout.unit;
  }
  return made;
}

std::vector<SharedCore> Beside::split(const NodeLayout& layout, Amount* take) const {
  std::vector<SharedCore> taken;
  if (cores.empty()) return taken;  // nothing but idle cores was offered
  const std::size_t first = layout.first_socket ? layout.first_socket : Columns::kCpu;
  const std::size_t end = layout.first_socket ? first + layout.sockets : first + 1;
  for (std::size_t column = first; column < end; ++column) {
    Amount missing = std::max<Amount>(0, take[column] - idle[column]);
    take[column] -= missing;
    if (layout.first_socket) take[Columns::kCpu] -= missing;
    for (const SharedCore& core : cores) {
      if (missing <= 0) break;
      if (column_of(layout, core.first) != column) continue;
      taken.push_back(core);
      missing -= layout.unit;
    }
    SPUR_CHECK_MSG(missing <= 0, "cores that others share are where they were counted");
  }
  return taken;
}

std::vector<model::CpuNumber> cpus_of(const NodeLayout& layout, std::span<const SharedCore> cores) {
  std::vector<model::CpuNumber> cpus;
  for (const SharedCore& core : cores)
    for (Amount thread = 0; thread < layout.unit; ++thread)
      cpus.push_back(core.first + static_cast<model::CpuNumber>(thread));
  std::ranges::sort(cpus);
  return cpus;
}

void SharedCores::forget(NodeNumber n) {
  known_.erase(n);
  changed_.insert(n);
}

void SharedCores::forget_starts(NodeNumber n) {
  if (starts_.erase(n) > 0) known_.erase(n);
}

void SharedCores::note_start(const model::Allocation& allocation, Time until) {
  for (const model::NodeGrant& grant : allocation.nodes) {
    const NodeNumber n = grant.node.value;
    starts_[n].push_back({allocation.partition, allocation.reservation, grant.cpus, until});
    known_.erase(n);
    changed_.insert(n);
  }
}

const std::vector<SharedCore>& SharedCores::of(NodeNumber n, const std::string& partition,
                                               const std::string& reservation) {
  auto& known = known_[n];
  const auto same = [&](const auto& one) { return one.partition == partition && one.reservation == reservation; };
  if (const auto at = std::ranges::find_if(known, same); at != known.end()) return at->cores;
  CpuTally tally(capacity_.node(n).hardware.cpus);
  capacity_.for_each_job_on(view_, n, [&](const model::Job& job, const model::NodeGrant& grant) {
    if (holds_shared_cores(job) && same(*job.allocation)) tally.add(grant.cpus, raw_end(job));
  });
  if (const auto started = starts_.find(n); started != starts_.end())
    for (const Start& start : started->second)
      if (same(start)) tally.add(start.cpus, start.until);
  const NodeLayout& layout = capacity_.layout(n);
  known.push_back({partition, reservation, tally.cores(static_cast<std::uint32_t>(layout.unit), layout.reserved_cpus)});
  return known.back().cores;
}

std::vector<model::CpuNumber> SharedCores::alone(const model::Job& job, const model::NodeGrant& grant) {
  if (!(job.flags & model::kSharesCores)) return grant.cpus;
  std::vector<model::CpuNumber> cpus;
  const auto unit = static_cast<model::CpuNumber>(capacity_.unit(grant.node.value));
  const auto& cores = of(grant.node.value, job.allocation->partition, job.allocation->reservation);
  for (const SharedCore& core : cores)
    for (const model::CpuNumber cpu : grant.cpus)
      if (core.jobs == 1 && cpu - core.first < unit) cpus.push_back(cpu);
  std::ranges::sort(cpus);
  return cpus;
}

}  // namespace spur::sched
