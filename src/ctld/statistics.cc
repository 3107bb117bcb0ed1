// SPDX-License-Identifier: Apache-2.0
#include "ctld/statistics.h"

#include <algorithm>

namespace spur::ctld {
namespace {

// A record that is one submission: not a task that was split off its array.
bool is_submission(const model::Job& job) {
  return !job.array_task || job.array_job == job.id;
}

}  // namespace

void Statistics::job_changed(const model::Job* before, const model::Job* after) {
  if (!after) return;
  const bool started = model::is_active(after->state) && !(before && model::is_active(before->state));
  const bool ended = model::is_final(after->state) && !(before && model::is_final(before->state));
  const bool submitted = !before && is_submission(*after);
  if (!started && !ended && !submitted) return;
  std::lock_guard lock(mutex_);
  if (submitted) ++counts_.submitted;
  if (started) ++counts_.started;
  if (!ended) return;
  // As Slurm counts: a script that ended, however, is completed; what the cluster is to blame for has failed.
  if (after->state == model::JobState::Cancelled) {
    ++counts_.cancelled;
  } else if (after->state == model::JobState::NodeFail || after->state == model::JobState::BootFail) {
    ++counts_.failed;
  } else {
    ++counts_.completed;
  }
}

void Statistics::cycle(const Cycle& cycle) {
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, cycle.took.count()));
  const auto het = static_cast<std::uint64_t>(
      std::ranges::count_if(cycle.starts, [](const sched::Start& start) { return bool(start.group); }));
  std::lock_guard lock(mutex_);
  Cycles& c = cycle.full ? counts_.full : counts_.quick;
  ++c.count;
  c.last_us = us;
  c.max_us = std::max(c.max_us, us);
  c.sum_us += us;
  c.depth_last = cycle.looked_at;
  c.depth_sum += cycle.looked_at;
  c.tried_last = cycle.tested;
  c.tried_sum += cycle.tested;
  c.queue_last = cycle.queue;
  c.queue_sum += cycle.queue;
  c.starts += cycle.starts.size();
  c.starts_ever += cycle.starts.size();
  c.het_starts_ever += het;
  c.starts_last = cycle.starts.size();
  c.last_at = cycle.at;
}

void Statistics::call(std::string_view method, Uid uid, Duration took) {
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, took.count()));
  std::lock_guard lock(mutex_);
  auto of_method = counts_.by_method.find(method);
  if (of_method == counts_.by_method.end()) of_method = counts_.by_method.emplace(method, Calls{}).first;
  for (Calls* calls : {&of_method->second, &counts_.by_user[uid.value]}) {
    ++calls->count;
    calls->total_us += us;
  }
}

void Statistics::reset(Time now) {
  std::lock_guard lock(mutex_);
  Counts fresh;
  for (auto member : {&Counts::quick, &Counts::full}) {
    const Cycles& old = counts_.*member;
    Cycles& c = fresh.*member;
    c.starts_ever = old.starts_ever;
    c.het_starts_ever = old.het_starts_ever;
    c.last_us = old.last_us;  // of the last cycle, whenever that was
    c.depth_last = old.depth_last;
    c.tried_last = old.tried_last;
    c.queue_last = old.queue_last;
    c.starts_last = old.starts_last;
    c.last_at = old.last_at;
  }
  counts_ = std::move(fresh);
  since_ = now;
}

Statistics::Counts Statistics::counts() const {
  std::lock_guard lock(mutex_);
  Counts copy = counts_;
  copy.since = since_;
  return copy;
}

}  // namespace spur::ctld
