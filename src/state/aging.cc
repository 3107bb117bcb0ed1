// SPDX-License-Identifier: Apache-2.0
// MaxJobsAccrue and GrpJobsAccrue: so many jobs of an association or a QOS gain priority by their age at one time. Who
// becomes ready when all places are taken is marked (model::kNotAging) and ages from the moment in which one is free:
// of those that are alike the oldest, and among different ones whoever has waited longest.
#include <algorithm>
#include <utility>
#include <vector>

#include "model/counting.h"
#include "model/limits.h"
#include "state/apply.h"

namespace spur::state {

using model::Job;

namespace {

bool all_age(const model::ClusterConfig& config) {
  return std::ranges::find(config.priority.flags, "ACCRUE_ALWAYS") != config.priority.flags.end();
}

bool is_ready(const Job& job) {
  return is_waiting(job) && is_set(job.accrue);
}

}  // namespace

void Applier::settle_aging(const Job* before, Job& job) {
  const bool moved = before && (before->association != job.association || before->spec->qos != job.spec->qos ||
                                before->spec->partitions != job.spec->partitions);
  if (!is_ready(job)) {
    job.flags &= ~model::kNotAging;
  } else if (!before || !is_ready(*before) || moved) {
    const auto where = model::counted_in(view, *job.spec, job.association, model::partition_of(view, job));
    const bool may = all_age(config()) || model::may_age(view, view.tallies, where);
    job.flags = may ? job.flags & ~model::kNotAging : job.flags | model::kNotAging;
  }
  if (before && model::ages(*before) && (moved || !model::ages(job))) others_may_age = true;
}

void Applier::let_others_age() {
  if (!std::exchange(others_may_age, false) || index().not_aging().empty()) return;
  std::vector<std::pair<JobId, JobIndex::Alike>> first;
  for (const auto& [alike, jobs] : index().not_aging()) first.emplace_back(*jobs.begin(), alike);
  std::ranges::sort(first);
  for (const auto& [id, alike] : first) {
    while (true) {
      const auto at = index().not_aging().find(alike);
      if (at == index().not_aging().end()) break;
      Job job = *model::find_job(view, *at->second.begin());
      const auto where = model::counted_in(view, *job.spec, job.association, model::partition_of(view, job));
      if (!all_age(config()) && !model::may_age(view, view.tallies, where)) break;
      job.flags &= ~model::kNotAging;
      job.accrue = std::max(now, job.eligible);
      put(std::move(job));
    }
  }
}

}  // namespace spur::state
