// SPDX-License-Identifier: Apache-2.0
// Heterogeneous jobs in the walk. A whole one has the place in the queue of its first component, in each of that
// one's partitions; the other components have none of their own. At its turn all of it starts, or all of it is
// promised one moment later, which counts as one promise in the partition of the first component. Behind, it is as
// large as its components together.
#include <algorithm>

#include "sched/eligibility.h"
#include "sched/het_group.h"
#include "sched/walk.h"

namespace spur::sched {

using model::Reason;

bool Walk::is_group(const Item& item) const {
  return item.alone && s_.backlog.slot(item.slot).state == Backlog::State::Grouped;
}

// Whether all components may start, as far as that does not depend on load.
bool Walk::may_run(const Backlog::HetGroup& group) const {
  if (!s_.backlog.is_whole(group)) return false;
  return std::ranges::all_of(group, [&](const auto& component) {
    return std::ranges::any_of(s_.lanes_of_class[s_.backlog.slot(component.second).job_class],
                               [&](std::uint32_t l) { return s_.lanes[l]->lane.reason(s_.profile) == Reason::None; });
  });
}

void Walk::push_groups() {
  for (const auto& [id, group] : s_.backlog.het_groups()) {
    if (!may_run(group) || started(group.begin()->second)) continue;
    const std::uint32_t slot = group.begin()->second;
    std::int64_t size = 0;
    for (const auto& [offset, component] : group) {
      std::uint32_t speaks = kNone;
      reason_of_class(s_.backlog.slot(component).job_class, &speaks);
      size += s_.lanes[speaks]->size;
    }
    const Turn turn{s_.backlog.slot(slot).order, id, slot};
    for (const std::uint32_t l : s_.lanes_of_class[s_.backlog.slot(slot).job_class]) {
      if (s_.lanes[l]->lane.reason(s_.profile) != Reason::None) continue;
      Position position = position_of(turn, group_of(slot), *s_.lanes[l]);
      if (behind_) position.size = size;
      heap_.push_back({position, l, slot, 0, true});
      std::push_heap(heap_.begin(), heap_.end());
    }
  }
}

// The lanes that each component may use when the first one uses `first`.
Walk::GroupLanes Walk::lanes_of(const Backlog::HetGroup& group, std::uint32_t first) const {
  GroupLanes lanes;
  for (const auto& [offset, slot] : group) {
    auto& numbers = lanes.numbers.emplace_back();
    auto& pointers = lanes.lanes.emplace_back();
    for (const std::uint32_t l : s_.lanes_of_class[s_.backlog.slot(slot).job_class]) {
      if (offset == 0 ? l != first : s_.lanes[l]->lane.reason(s_.profile) != Reason::None) continue;
      numbers.push_back(l);
      pointers.push_back(&s_.lanes[l]->lane);
    }
  }
  return lanes;
}

bool Walk::visit_group(const Item& item) {
  if (comes_later(item)) return true;
  ++plan_.tested;
  const Backlog::HetGroup& group = s_.backlog.het_groups().at(s_.backlog.slot(item.slot).job->id);
  std::vector<PlannedStart*> planned;
  for (const auto& [offset, slot] : group)
    if (const auto at = s_.planned.find(s_.backlog.slot(slot).job->id); at != s_.planned.end())
      planned.push_back(&at->second);
  if (started(item.slot) || (behind_ && !planned.empty())) return true;
  if (group_is_limited(group)) {
    const auto before = s_.profile.gains().end();
    for (PlannedStart* one : planned) give_back(one);
    if (before != s_.profile.gains().end()) all_join_again();
    return true;
  }

  const GroupLanes lanes = lanes_of(group, item.lane);
  HetSearch search(s_.profile, lanes.lanes);
  for (const PlannedStart* one : planned) s_.profile.forget(one->hold);  // it must not stand in its own way
  auto parts = search.fit_at(now_);
  const bool starts = !parts.empty();
  if (!starts && (planned.empty() ? may_get_hold(item) : mode_ == Mode::Full)) parts = search.fit_after(now_);
  for (const PlannedStart* one : planned) s_.profile.add(one->hold);
  // Planned in an earlier partition already: it moves only if it is sooner here.
  if (parts.empty() || (!starts && !planned.empty() && parts[0].fit.hold.start >= planned[0]->hold.start))
    return true;
  if (starts && !plan_.starts.empty() && plan_.starts.size() + parts.size() > s_.params.max_starts) {
    plan_.more = true;
    return false;
  }
  const auto gains = s_.profile.gains().end();
  for (PlannedStart* one : planned) give_back(one);
  std::size_t i = 0;
  for (const auto& [offset, slot] : group) {
    const std::uint32_t lane = lanes.numbers[i][parts[i].nth];
    starts ? start_part(slot, lane, parts[i].fit) : keep_part(slot, lane, std::move(parts[i].fit.hold));
    ++i;
  }
  if (gains != s_.profile.gains().end()) all_join_again();
  return true;
}

void Walk::start_part(std::uint32_t slot, std::uint32_t lane, const Lane::Fit& fit) {
  s_.lanes[lane]->lane.choose_fit(fit);
  start({{}, lane, slot, 0, true}, fit.hold.shares);
  plan_.starts.back().group = s_.backlog.slot(slot).job->het_job;
}

void Walk::keep_part(std::uint32_t slot, std::uint32_t lane, Hold hold) {
  const model::Job& job = *s_.backlog.slot(slot).job;
  PlannedStart planned{job.id, job.spec, job.time_limit,    s_.lanes[lane]->partition, std::move(hold),
                       {},     {},       job.het_offset > 0};
  const auto [at, added] = s_.planned.insert_or_assign(job.id, std::move(planned));
  s_.profile.add(at->second.hold);
  if (!at->second.follows && ++holds_in_[at->second.partition] == 1) put_off_all(at->second.partition);
}

void Walk::foretell_group(const Item& item) {
  const Backlog::HetGroup& group = s_.backlog.het_groups().at(s_.backlog.slot(item.slot).job->id);
  if (s_.planned.contains(s_.backlog.slot(item.slot).job->id) || foretold_.contains(item.slot)) return;
  if (limit_of(group) != Reason::None) return;
  std::vector<HetPart> best;
  for (const std::uint32_t l : s_.lanes_of_class[s_.backlog.slot(item.slot).job_class]) {
    if (s_.lanes[l]->lane.reason(s_.profile) != Reason::None) continue;
    auto parts = HetSearch(s_.profile, lanes_of(group, l).lanes).fit_after(now_);
    if (!parts.empty() && (best.empty() || parts[0].fit.hold.start < best[0].fit.hold.start)) best = std::move(parts);
  }
  std::size_t i = 0;
  for (const auto& [offset, slot] : group) {
    if (best.empty()) return;
    s_.foretold.push_back(std::move(best[i++].fit.hold));
    foretold_[slot] = &s_.foretold.back();
    s_.profile.add(s_.foretold.back());
  }
}

// ---- why it waits

bool Walk::lacks_licenses(const Backlog::HetGroup& group) const {
  return std::ranges::any_of(group, [&](const auto& component) {
    std::uint32_t speaks = kNone;
    return reason_of_class(s_.backlog.slot(component.second).job_class, &speaks) == Reason::Licenses;
  });
}

// Of the first component that has one.
Reason Walk::limit_of(const Backlog::HetGroup& group) const {
  for (const auto& [offset, slot] : group) {
    std::uint32_t speaks = kNone;
    const Reason reason = reason_of_class(s_.backlog.slot(slot).job_class, &speaks);
    if (speaks != kNone && reason != Reason::Priority && reason != Reason::Licenses) return reason;
  }
  return group_is_limited(group) ? Reason::AccountingPolicy : Reason::None;
}

// The first component stands for all in its partitions. In a quick call whoever was told to be the first stays so.
void Walk::find_first_groups(bool told, const std::vector<std::uint32_t>& firsts, const Consider& consider) {
  for (const auto& [id, group] : s_.backlog.het_groups()) {
    if (!may_run(group) || started(group.begin()->second) || lacks_licenses(group) || limit_of(group) != Reason::None)
      continue;
    const Backlog::Slot& slot = s_.backlog.slot(group.begin()->second);
    const Turn turn{slot.order, id, group.begin()->second};
    std::uint32_t speaks = kNone;
    reason_of_class(slot.job_class, &speaks);
    if (told && slot.job->reason == Reason::Resources) consider(*s_.lanes[speaks], group_of(turn.slot), turn);
    if (told) continue;
    for (const std::uint32_t l : s_.lanes_of_class[slot.job_class])
      if (s_.lanes[l]->lane.reason(s_.profile) == Reason::None && firsts[s_.lanes[l]->partition] == kNone)
        consider(*s_.lanes[l], group_of(turn.slot), turn);
  }
}

// What keeps a component itself; else what keeps one of the others; else how the whole stands in the queue.
Reason Walk::reason_in_group(std::uint32_t slot) const {
  const model::Job& job = *s_.backlog.slot(slot).job;
  std::uint32_t speaks = kNone;
  if (const Reason own = reason_of_class(s_.backlog.slot(slot).job_class, &speaks); speaks == kNone) return own;
  for (std::uint32_t i = 0; i < job.het_size; ++i) {
    const std::uint32_t other = s_.backlog.find(JobId{job.het_job.value + i});
    if (other == kNone) return Reason::Cleaning;  // its last run is not over yet
    if (const Reason own = own_reason(*s_.backlog.slot(other).job, now_); own != Reason::None) return own;
  }
  const Backlog::HetGroup& group = s_.backlog.het_groups().at(job.het_job);
  for (const auto& [offset, other] : group)
    if (const Reason own = reason_of_class(s_.backlog.slot(other).job_class, &speaks); speaks == kNone) return own;
  if (lacks_licenses(group)) return Reason::Licenses;
  if (const Reason limit = limit_of(group); limit != Reason::None) return limit;
  const std::uint32_t leader = group.begin()->second;
  reason_of_class(s_.backlog.slot(leader).job_class, &speaks);
  return first_of_partition_[s_.lanes[speaks]->partition] == leader ? Reason::Resources : Reason::Priority;
}

// ---- holds in force

void drop_broken_groups(EngineState& s) {
  std::map<JobId, std::uint32_t> held;
  for (const auto& [job, planned] : s.planned)
    if (const auto& slot = s.backlog.slot(s.backlog.find(job)); slot.job->het_job) ++held[slot.job->het_job];
  for (const auto& [id, count] : held) {
    const auto group = s.backlog.het_groups().find(id);
    const bool whole = group != s.backlog.het_groups().end() && s.backlog.is_whole(group->second);
    if (whole && count == group->second.size()) continue;
    for (auto at = s.planned.begin(); at != s.planned.end();) {
      if (s.backlog.slot(s.backlog.find(at->first)).job->het_job != id) {
        ++at;
        continue;
      }
      s.profile.remove(at->second.hold);
      at = s.planned.erase(at);
    }
  }
}

}  // namespace spur::sched
