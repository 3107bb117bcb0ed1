// SPDX-License-Identifier: Apache-2.0
#include "model/core_sharing.h"

#include <algorithm>

namespace spur::model {

std::uint32_t jobs_per_core(const PartitionConfig& partition, const JobSpec& spec) {
  if (spec.exclusive == Exclusive::Node || spec.core_spec) return 1;
  const bool may = partition.oversubscribe == OverSubscribe::Force ||
                   (partition.oversubscribe == OverSubscribe::Yes && spec.oversubscribe);
  return may ? std::max(1u, partition.oversubscribe_count) : 1;
}

bool shares_with(const Job& run, const Allocation& allocation) {
  return (run.flags & kSharesCores) && run.allocation && run.allocation->partition == allocation.partition &&
         run.allocation->reservation == allocation.reservation;
}

std::vector<std::uint32_t> sharers_by_cpu(const View& view, const Node& node, const Allocation& allocation,
                                          JobId but) {
  std::vector<std::uint32_t> count(node.hardware.cpus);
  for_each_sharer(view, node, allocation, but, [&](const Job&, const NodeGrant& grant) {
    for (const CpuNumber cpu : grant.cpus)
      if (cpu < count.size()) ++count[cpu];
  });
  return count;
}

}  // namespace spur::model
