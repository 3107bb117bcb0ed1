// SPDX-License-Identifier: Apache-2.0
#include "sched/priority.h"

#include <algorithm>

#include "sched/plan.h"

namespace spur::sched {

std::uint32_t priority_at(const model::Job& job, const model::ClusterConfig& config, Time now) {
  if (job.hold != model::Hold::None || job.priority == 0) return 0;
  if (job.priority_by_hand) return job.priority;
  const Time since = is_set(job.accrue) ? job.accrue : job.eligible;
  std::int64_t points = kBasePriority;
  if (is_set(since) && now > since && config.age_full.count() > 0) {
    const auto full = std::chrono::duration_cast<Duration>(config.age_full);
    const auto age = std::min<Duration>(now - since, full);
    // Seconds are fine enough, and their product with a 32-bit weight cannot overflow.
    points += std::int64_t{config.age_weight} * std::chrono::floor<seconds>(age).count() / config.age_full.count();
  }
  points -= job.spec->nice;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(points, 1, kMaxPriority));
}

}  // namespace spur::sched
