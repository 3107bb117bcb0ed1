// SPDX-License-Identifier: Apache-2.0
// The end of a walk: why everyone who is left waits. The reason lies with the class, with two exceptions: the first
// in line in its partition waits for resources and not for others, and an array may be at its own limit. So only
// records that say something else are touched; whoever waits on as before costs nothing.
#include <algorithm>

#include "sched/eligibility.h"
#include "sched/walk.h"

namespace spur::sched {

using model::Reason;

// With several partitions, the first one in which the job could run speaks for it. `speaks`: the lane that does, or
// kNone if it can run in none.
Reason Walk::reason_of_class(std::uint32_t number, std::uint32_t* speaks) const {
  Reason reason = Reason::PartitionConfig;  // its partitions were taken away
  bool first = true;
  *speaks = kNone;
  for (const std::uint32_t l : s_.lanes_of_class[number]) {
    const Reason here = s_.lanes[l]->lane.reason(s_.profile);
    if (here == Reason::None) {
      *speaks = l;
      if (!limited_.empty() && limited_[l] != Reason::None) return limited_[l];
      return !lacks_licenses_.empty() && lacks_licenses_[l] ? Reason::Licenses : Reason::Priority;
    }
    if (std::exchange(first, false)) reason = here;
  }
  return reason;
}

// Who waits for resources in each partition: the first in the queue. In a quick call whoever was told so goes on
// doing so; else all priorities would have to be compared for it.
void Walk::find_firsts() {
  first_of_partition_.assign(s_.view.partitions->size(), kNone);
  lacks_licenses_.assign(s_.lanes.size(), false);
  for (std::uint32_t l = 0; l < s_.lanes.size(); ++l) {
    if (!s_.lanes[l] || s_.lanes[l]->lane.request().licenses.empty()) continue;
    lacks_licenses_[l] = !s_.lanes[l]->lane.licensed_now(s_.profile);
  }
  limited_.assign(limits_ ? s_.lanes.size() : 0, Reason::None);
  for (std::uint32_t l = 0; l < limited_.size(); ++l)
    if (s_.lanes[l]) limited_[l] = limit_of(l, tallies_, true);
  std::vector<std::optional<Position>> firsts(first_of_partition_.size());
  const auto consider = [&](const LaneRecord& record, const Backlog::Group& group, const Turn& turn) {
    const Position position = position_of(turn, group, record);
    auto& first = firsts[record.partition];
    if (first && !(position < *first)) return;
    first = position;
    first_of_partition_[record.partition] = turn.slot;
  };
  const auto waits = [&](std::uint32_t slot) {
    return !started(slot) && s_.backlog.slot(slot).state == Backlog::State::Queued &&
           (array_starts_.empty() || !at_cap(*s_.backlog.slot(slot).job));
  };
  const auto& classes = s_.backlog.classes();
  for (std::uint32_t c = 0; mode_ == Mode::Quick && c < classes.size(); ++c) {
    for (const auto& [said, first] : classes[c].by_reason) {
      std::uint32_t speaks = kNone;
      if (said != Reason::Resources || first == kNone || reason_of_class(c, &speaks) != Reason::Priority) continue;
      for (std::uint32_t slot = first; slot != kNone; slot = s_.backlog.slot(slot).next)
        if (waits(slot))
          consider(*s_.lanes[speaks], group_of(slot),
                   {s_.backlog.slot(slot).order, s_.backlog.slot(slot).job->id, slot});
    }
  }
  if (mode_ == Mode::Quick) find_first_groups(true, {}, consider);
  const std::vector<std::uint32_t> told = first_of_partition_;
  find_first_groups(false, told, consider);
  for (std::uint32_t l = 0; l < s_.lanes.size(); ++l) {
    if (!s_.lanes[l] || told[s_.lanes[l]->partition] != kNone || lacks_licenses_[l]) continue;
    if (!limited_.empty() && limited_[l] != Reason::None) continue;
    const LaneRecord& record = *s_.lanes[l];
    if (s_.lanes[l]->lane.reason(s_.profile) != Reason::None) continue;
    for (const auto& group : class_of(record).groups) {
      // Who has a turn is in the queue; most groups are judged by their first one, without a look at its record.
      const auto at = std::ranges::find_if(group.turns, [&](const Turn& turn) {
        return (done_.empty() && array_starts_.empty()) || waits(turn.slot);
      });
      if (at != group.turns.end()) consider(record, group, *at);
    }
  }
}

Reason Walk::reason_of(std::uint32_t slot) const {
  if (s_.backlog.slot(slot).state == Backlog::State::Grouped) return reason_in_group(slot);
  std::uint32_t speaks = kNone;
  const Reason reason = reason_of_class(s_.backlog.slot(slot).job_class, &speaks);
  if (speaks == kNone) return reason;
  if (at_cap(*s_.backlog.slot(slot).job)) return Reason::JobArrayTaskLimit;
  if (reason == Reason::Priority && first_of_partition_[s_.lanes[speaks]->partition] == slot)
    return Reason::Resources;
  return reason;
}

void Walk::tell(std::uint32_t slot, Reason reason) {
  if (started(slot)) return;
  const model::Job& job = *s_.backlog.slot(slot).job;
  Wait wait{job.id, reason, {}};
  const Hold* hold = nullptr;
  if (const auto planned = s_.planned.find(job.id); planned != s_.planned.end()) {
    hold = &planned->second.hold;
    wait.promised = true;
  } else if (const auto foretold = foretold_.find(slot); foretold != foretold_.end()) {
    hold = foretold->second;
  }
  if (hold && hold->start < kNever) {
    wait.expected_start = hold->start;
    for (const Share& share : hold->shares) wait.nodes.push_back(NodeIndex(share.node));
    std::ranges::sort(wait.nodes);
  }
  if (wait.reason != job.reason || is_set(wait.expected_start)) plan_.waits.push_back(wait);
}

void Walk::write_waits() {
  // Those who may differ from their class.
  for (const std::uint32_t slot : first_of_partition_)
    if (slot != kNone) own_reasons_.try_emplace(slot);
  for (const std::uint32_t slot : s_.backlog.capped()) own_reasons_.try_emplace(slot);
  for (const auto& [array, starts] : array_starts_)
    for (const std::uint32_t slot : s_.backlog.limited(array))
      if (s_.backlog.slot(slot).state == Backlog::State::Queued) own_reasons_.try_emplace(slot);
  for (const auto& [job, planned] : s_.planned) own_reasons_.try_emplace(s_.backlog.find(job));
  for (const auto& [slot, start] : foretold_) own_reasons_.try_emplace(slot);
  for (const auto& [job, group] : s_.backlog.het_groups())
    for (const auto& [offset, slot] : group) own_reasons_.try_emplace(slot);
  for (auto& [slot, reason] : own_reasons_) {
    reason = reason_of(slot);
    tell(slot, reason);
  }

  const auto& classes = s_.backlog.classes();
  for (std::uint32_t c = 0; c < classes.size(); ++c) {
    if (!classes[c].spec) continue;
    std::uint32_t speaks = kNone;
    const Reason reason = reason_of_class(c, &speaks);
    for (const auto& [said, first] : classes[c].by_reason) {
      if (said == reason) continue;
      for (std::uint32_t slot = first; slot != kNone; slot = s_.backlog.slot(slot).next)
        if (!own_reasons_.contains(slot)) tell(slot, reason);
    }
  }
  for (const std::uint32_t slot : s_.backlog.misinformed()) tell(slot, own_reason(*s_.backlog.slot(slot).job, now_));
  std::ranges::sort(plan_.waits, {}, &Wait::job);
}

}  // namespace spur::sched
