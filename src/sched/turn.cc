// SPDX-License-Identifier: Apache-2.0
#include "sched/turn.h"

namespace spur::sched {

Standing standing_of(const model::Job& job, const model::View& view, const PriorityScale& scale) {
  Standing standing;
  const auto add = [&](const model::Partition* partition) {
    if (!partition) return;
    const Rank rank = scale.rank(job, *partition);
    standing.points.push_back(rank.points);
    standing.order = rank.order;  // the same everywhere
  };
  if (job.spec->partitions.empty()) add(model::default_partition(view));
  for (const auto& name : job.spec->partitions) add(model::find_partition(view, name));
  return standing;
}

}  // namespace spur::sched
