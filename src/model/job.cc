// SPDX-License-Identifier: Apache-2.0
#include "model/job.h"

#include <fmt/format.h>

#include <algorithm>

namespace spur::model {

std::string display_id(const Job& job) {
  if (job.het_job) return fmt::format("{}+{}", job.het_job.value, job.het_offset);
  if (!job.array_job) return std::to_string(job.id.value);
  if (job.array_task) return fmt::format("{}_{}", job.array_job.value, *job.array_task);
  std::string tasks = job.array_pending ? job.array_pending->to_string() : std::string();
  if (job.array_max_running) tasks += fmt::format("%{}", job.array_max_running);
  return fmt::format("{}_[{}]", job.array_job.value, tasks);
}

std::string het_id_set(const Job& job) {
  if (!job.het_job) return {};
  IndexSet ids;
  ids.insert_range(job.het_job.value, job.het_job.value + std::max(job.het_size, 1u) - 1);
  return ids.to_string();
}

Duration run_time(const Job& job, Time now) {
  if (!is_set(job.started)) return Duration{0};
  const Time end = is_set(job.ended) ? job.ended : now;
  Duration run = end - job.started - job.suspended_total;
  if (is_set(job.suspended_at)) run -= end - job.suspended_at;
  return std::max(run, Duration{0});
}

Time limit_end(const Job& job) {
  if (job.state != JobState::Running || (job.flags & kCompleting) || !job.time_limit.is_finite()) return {};
  return job.started + job.time_limit.duration() + job.suspended_total;
}

}  // namespace spur::model
