// SPDX-License-Identifier: Apache-2.0
// The limits of accounts and QOS in a walk (model/limits.h). A walk has tallies of its own: the view's, with what it
// starts. They only grow on the way, so a lane whose next job is over a limit leaves the walk: all of a class are of
// one association and one QOS while limits are enforced.
#include "model/limits.h"

#include <algorithm>

#include "sched/walk.h"

namespace spur::sched {

using model::Reason;

bool limits_matter(const model::View& view) {
  return view.config->accounting.limits && !view.accounts->empty();
}

bool qos_matters(const model::View& view) {
  constexpr std::uint32_t kMatter = model::kQosNoReserve | model::kQosPartitionMinNodes | model::kQosPartitionMaxNodes |
                                    model::kQosPartitionTimeLimit;
  return std::ranges::any_of(*view.qos, [](const model::Qos& qos) { return qos.flags & kMatter; });
}

Reason Walk::limit_of(std::uint32_t lane, const model::Tallies& tallies, bool in_vain) const {
  if (!limits_) return Reason::None;
  const LaneRecord& record = *s_.lanes[lane];
  const Backlog::JobClass& mine = class_of(record);
  if (mine.association == 0) return Reason::None;
  auto question = model::limit_question(s_.view, *mine.spec, mine.association,
                                        (*s_.view.partitions)[record.partition], mine.limit);
  question.in_vain = in_vain;
  return model::limit_at_start(s_.view, tallies, question, now_);
}

// What the job is to get may be more than it asked for: whole nodes, whole cores. False: over a limit by that.
bool Walk::count_start(const model::Job& job, const std::shared_ptr<const model::Allocation>& allocation,
                       TimeLimit limit) {
  if (!limits_ || job.association == 0) return true;
  if (!limit.is_set()) limit = job.time_limit;
  const auto question = model::limit_question(s_.view, *job.spec, job.association, *allocation, limit);
  // Of a heterogeneous job all or none starts: group_is_limited() has judged.
  if (!job.het_job && model::limit_at_start(s_.view, tallies_, question, now_) != Reason::None) return false;
  model::recount(tallies_, s_.view, question.where, model::part_of_wait(1, false),
                 model::part_of_start(s_.view, *job.spec, question.tres, limit, now_, allocation), now_);
  return true;
}

// Whether nodes may be kept free for it: not for those of a QOS with NoReserve, nor below MinPrioThreshold. Not for those
// who come behind, whose position knows no priority.
bool Walk::may_be_planned(const Item& item) const {
  const LaneRecord& record = *s_.lanes[item.lane];
  const model::Job& job = *s_.backlog.slot(item.slot).job;
  return model::may_be_planned(s_.view, job, (*s_.view.partitions)[record.partition].config.name,
                               static_cast<std::uint32_t>(item.position.priority));
}

// All components together.
bool Walk::group_is_limited(const Backlog::HetGroup& group) const {
  if (!limits_) return false;
  model::Tallies tallies = tallies_;
  for (const auto& [offset, slot] : group) {
    const model::Job& job = *s_.backlog.slot(slot).job;
    if (job.association == 0) continue;
    for (const std::uint32_t l : s_.lanes_of_class[s_.backlog.slot(slot).job_class]) {
      if (limit_of(l, tallies) != Reason::None) return true;
      const auto question = model::limit_question(s_.view, *job.spec, job.association,
                                                  (*s_.view.partitions)[s_.lanes[l]->partition], job.time_limit);
      model::recount(tallies, s_.view, question.where, model::part_of_wait(1, false),
                     model::part_of_start(s_.view, *job.spec, question.tres, job.time_limit, now_, nullptr), now_);
      break;
    }
  }
  return false;
}

}  // namespace spur::sched
