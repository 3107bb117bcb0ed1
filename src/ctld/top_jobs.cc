// SPDX-License-Identifier: Apache-2.0
#include "ctld/top_jobs.h"

#include <algorithm>
#include <map>
#include <memory>

namespace spur::ctld {
namespace {

constexpr std::int64_t kMostNice = 2147483645;  // Slurm's bounds

bool may_move(const model::Job& job) {
  return job.state == model::JobState::Pending && job.hold == model::Hold::None && job.spec->partitions.size() == 1;
}

bool are_peers(const model::JobSpec& a, const model::JobSpec& b) {
  return a.uid == b.uid && a.account == b.account && a.qos == b.qos && a.partitions == b.partitions;
}

state::UpdateJob with_nice(const model::Job& job, std::int64_t nice) {
  state::UpdateJob update;
  update.target = {.id = job.array_task ? job.array_job : job.id, .tasks = {}};
  if (job.array_task) {
    update.target.tasks.emplace();
    update.target.tasks->insert(*job.array_task);
  }
  auto spec = std::make_shared<model::JobSpec>(*job.spec);
  spec->nice = static_cast<std::int32_t>(std::clamp(nice, -kMostNice, kMostNice));
  update.spec = std::move(spec);
  return update;
}

// Those that move together, the highest first.
using Peers = std::vector<const model::Job*>;

Status check(const model::Job* job) {
  if (!job) return fail(ErrorCode::InvalidJobId, "Invalid job id specified");
  if (job->state != model::JobState::Pending)
    return fail(ErrorCode::JobNotPending, "Job is no longer pending execution");
  if (job->hold != model::Hold::None)
    return fail(ErrorCode::JobHeld, "Job is in held state, pending scheduler release");
  if (!may_move(*job)) return fail(ErrorCode::NotSupported, "Requested operation not supported on this system");
  return {};
}

// What each gets when the priorities of all are dealt out in a new order, of which the first `tops` must differ from
// what follows. What that takes from one the last one gets.
std::vector<std::int64_t> dealt_out(std::vector<std::int64_t> points, std::size_t tops) {
  for (std::size_t i = 1; i < points.size() && i <= tops; ++i) {
    const std::int64_t over = points[i] - points[i - 1] + 1;
    if (over <= 0) continue;
    points[i] -= over;
    if (i + 1 < points.size()) points.back() = std::min(points.back() + over, points[points.size() - 2]);
  }
  return points;
}

}  // namespace

Result<std::vector<state::UpdateJob>> top_jobs(const model::View& view, const std::vector<JobId>& ids,
                                               const PriorityOf& priority_of) {
  std::vector<const model::Job*> tops;
  for (const JobId id : ids) {
    tops.push_back(model::find_job(view, id));
    SPUR_TRY(check(tops.back()));
    if (!are_peers(*tops.back()->spec, *tops.front()->spec))
      return fail(ErrorCode::NotSupported, "the jobs are not of one user, account, QOS and partition");
  }
  Peers peers;
  view.pending.for_each([&](std::uint32_t, const model::JobPtr& other) {
    if (may_move(*other) && are_peers(*other->spec, *tops.front()->spec)) peers.push_back(other.get());
  });
  std::map<const model::Job*, std::int64_t> now;
  for (const model::Job* job : peers) now.emplace(job, priority_of(*job));
  std::ranges::stable_sort(peers, [&](const auto* a, const auto* b) { return now.at(a) > now.at(b); });
  std::vector<std::int64_t> points;
  for (const model::Job* job : peers) points.push_back(now.at(job));
  points = dealt_out(std::move(points), tops.size());
  // The same places in the new order.
  std::vector<const model::Job*> order = tops;
  for (const model::Job* job : peers)
    if (std::ranges::find(tops, job) == tops.end()) order.push_back(job);
  std::vector<state::UpdateJob> updates;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t gain = points[i] - now.at(order[i]);
    if (gain != 0) updates.push_back(with_nice(*order[i], order[i]->spec->nice - gain));
  }
  return updates;
}

}  // namespace spur::ctld
