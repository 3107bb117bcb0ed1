// SPDX-License-Identifier: Apache-2.0
#include "ctld/allocation_holders.h"

#include <utility>

namespace spur::ctld {
namespace {

constexpr Duration kLook = std::chrono::seconds(1);

bool is_held(const model::Job& job) {
  return job.state == model::JobState::Running || job.state == model::JobState::Suspended ||
         job.state == model::JobState::Pending;
}

// As in Slurm: who may run jobs in such a partition looks after them himself.
bool in_root_only(const model::View& view, const model::Job& job) {
  const model::Partition* partition =
      job.allocation ? model::find_partition(view, job.allocation->partition) : nullptr;
  return partition && partition->config.root_only;
}

}  // namespace

void AllocationHolders::attend(JobId job, std::function<bool()> gone, Duration now) {
  Held& held = held_[job];
  held.seen = now;
  std::erase_if(held.holders, [](const auto& left) { return left && left(); });
  held.holders.push_back(std::move(gone));
}

std::vector<JobId> AllocationHolders::take_abandoned(const model::View& view, Duration now) {
  if (now < look_at_) return {};
  look_at_ = now + kLook;
  std::vector<JobId> abandoned;
  for (auto it = held_.begin(); it != held_.end();) {
    auto& [id, held] = *it;
    const model::Job* job = model::find_job(view, id);
    if (!job || !is_held(*job)) {
      it = held_.erase(it);
      continue;
    }
    std::erase_if(held.holders, [](const auto& gone) { return gone && gone(); });
    const Duration limit = view.config->inactive_limit;
    if (!held.holders.empty() || limit == Duration{0} || in_root_only(view, *job)) held.seen = now;
    const bool over = now - held.seen >= limit && now != held.seen;
    if (over) abandoned.push_back(id);
    it = over ? held_.erase(it) : std::next(it);
  }
  return abandoned;
}

Duration AllocationHolders::next(const model::View& view) const {
  return held_.empty() || view.config->inactive_limit == seconds(0) ? Duration::max() : look_at_;
}

}  // namespace spur::ctld
