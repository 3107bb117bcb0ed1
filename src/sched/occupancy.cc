// SPDX-License-Identifier: Apache-2.0
#include "sched/occupancy.h"

#include <algorithm>

#include "sched/request.h"

namespace spur::sched {
namespace {
constexpr std::uint32_t kNone = 0xffffffffu;
}  // namespace

Time expected_end(const model::Job& job, Time now) {
  const Time soon = now + seconds(1);
  if (job.flags & model::kCompleting) return soon;
  if (job.state == model::JobState::Suspended) return kNever;
  const Time end = model::limit_end(job);
  return is_set(end) ? std::max(end, soon) : kNever;
}

Occupancy::Occupancy(const model::View& view, const Capacity& capacity, Time now) : width_(capacity.width()) {
  head_.assign(capacity.size(), kNone);
  view.active.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (!job->allocation) return;
    const Time until = expected_end(*job, now);
    add_licenses(view, *job, until);
    for (const auto& grant : job->allocation->nodes) {
      const NodeNumber n = grant.node.value;
      // A node that has reported the job's end holds nothing of it any more.
      if (n >= capacity.size() || !std::ranges::binary_search(capacity.node(n).jobs, job->id)) continue;
      const auto at = static_cast<std::uint32_t>(all_.size());
      rows_.resize(rows_.size() + width_);
      capacity.row_of(*job, grant, {&rows_[at * width_], width_});
      all_.push_back({until, at});
      next_.push_back(head_[n]);
      head_[n] = at;
    }
  });
}

std::vector<Occupancy::Holding> Occupancy::holdings(NodeNumber node) const {
  std::vector<Holding> found;
  for (std::uint32_t at = head_[node]; at != kNone; at = next_[at]) found.push_back(all_[at]);
  std::ranges::reverse(found);
  return found;
}

void Occupancy::add_licenses(const model::View& view, const model::Job& job, Time until) {
  if (job.spec->licenses.empty()) return;
  const auto& known = view.config->licenses;
  LicenseHolding holding{until, std::vector<Amount>(known.size())};
  for (const auto& license : job.spec->licenses) {
    const auto at = std::ranges::find(known, license.name, &model::LicenseConfig::name);
    if (at != known.end()) holding.counts[static_cast<std::size_t>(at - known.begin())] += license.count;
  }
  licenses_.push_back(std::move(holding));
}

std::unordered_map<JobId, std::uint32_t> running_array_tasks(const model::View& view) {
  std::unordered_map<JobId, std::uint32_t> running;
  view.active.for_each([&](std::uint32_t, const model::JobPtr& job) {
    if (job->array_job && model::is_active(job->state) && !(job->flags & model::kCompleting))
      ++running[job->array_job];
  });
  return running;
}

}  // namespace spur::sched
