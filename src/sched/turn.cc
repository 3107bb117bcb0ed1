// SPDX-License-Identifier: Apache-2.0
#include "sched/turn.h"

namespace spur::sched {

Time aging_since(const model::Job& job, const model::ClusterConfig& config) {
  if (config.age_weight == 0 || config.age_full.count() <= 0) return {};
  return is_set(job.accrue) ? job.accrue : job.eligible;
}

PriorityGroupKey priority_group(const model::Job& job) {
  if (job.priority_by_hand) return {true, job.priority};
  return {false, job.spec->nice};
}

}  // namespace spur::sched
