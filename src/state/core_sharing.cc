// SPDX-License-Identifier: Apache-2.0
// Which CPUs of a node several jobs may have, and have, at once. The books of a node only know whether a CPU is in use;
// who else has it is read from the allocations, and only where a job that shares comes or goes.
#include "model/core_sharing.h"

#include "state/apply.h"

namespace spur::state {
namespace {

template <class Test>
CpuBits cpus_where(const std::vector<std::uint32_t>& jobs_by_cpu, Test test) {
  CpuBits bits((jobs_by_cpu.size() + 63) / 64);
  for (std::size_t cpu = 0; cpu < jobs_by_cpu.size(); ++cpu)
    if (test(jobs_by_cpu[cpu])) bits[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
  return bits;
}

}  // namespace

CpuBits Applier::shareable_cpus(const model::Node& node, const model::Job& job,
                                const model::Allocation& allocation) const {
  const model::Partition* partition = model::find_partition(view, allocation.partition);
  const std::uint32_t most = partition ? model::jobs_per_core(partition->config, *job.spec) : 1;
  if (most <= 1) return {};
  return cpus_where(model::sharers_by_cpu(view, node, allocation, job.id),
                    [&](std::uint32_t jobs) { return jobs > 0 && jobs < most; });
}

CpuBits Applier::cpus_of_others(const model::View& view, const model::Node& node, const model::Job& job) {
  if (!(job.flags & model::kSharesCores)) return {};
  return cpus_where(model::sharers_by_cpu(view, node, *job.allocation, job.id),
                    [](std::uint32_t jobs) { return jobs > 0; });
}

}  // namespace spur::state
