// SPDX-License-Identifier: Apache-2.0
#include "sched/backlog.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sched/eligibility.h"
#include "sched/request.h"

namespace spur::sched {

using model::Reason;

// ---- what happened

void Backlog::add(const model::Job& job) {
  std::uint32_t number = static_cast<std::uint32_t>(slots_.size());
  if (free_slots_.empty()) {
    slots_.emplace_back();
  } else {
    number = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[number] = {};
  slots_[number].job = &job;
  slot_of_[job.id] = number;
  settle(number);
}

void Backlog::remove(JobId job) {
  const auto at = slot_of_.find(job);
  SPUR_CHECK(at != slot_of_.end());
  unsettle(at->second);
  slots_[at->second] = {};
  free_slots_.push_back(at->second);
  slot_of_.erase(at);
}

void Backlog::change(const model::Job& job) {
  const std::uint32_t number = find(job.id);
  SPUR_CHECK(number != kNone);
  const Slot& slot = slots_[number];
  const model::Job& before = *slot.job;
  // Mostly only the reason changes, because we said so. (The old record is still there: the old view is.)
  if (slot.state == State::Queued && before.spec == job.spec && before.time_limit == job.time_limit &&
      before.hold == job.hold && before.dependency_never == job.dependency_never &&
      before.dependencies_left.empty() == job.dependencies_left.empty() && before.eligible == job.eligible &&
      before.accrue == job.accrue && before.priority == job.priority && before.site_factor == job.site_factor &&
      before.priority_by_hand == job.priority_by_hand && before.array_job == job.array_job &&
      before.array_max_running == job.array_max_running && before.claim == job.claim &&
      before.claimed_from == job.claimed_from && before.association == job.association &&
      (before.flags & model::kNotAging) == (job.flags & model::kNotAging)) {
    if (before.reason != job.reason) unlink(number);
    slots_[number].job = &job;
    if (before.reason != job.reason) link(number);
    return;
  }
  unsettle(number);
  slots_[number].job = &job;
  settle(number);
}

void Backlog::count_array_task(JobId array, int sign) {
  Array& record = arrays_[array];
  record.running += static_cast<std::uint32_t>(sign);
  if (!record.limited.empty()) arrays_to_review_.insert(array);
  if (record.running == 0 && record.limited.empty()) arrays_.erase(array);
}

void Backlog::begin(Time now) {
  now_ = now;
  while (!begins_.empty() && begins_.begin()->first <= now) {
    const std::uint32_t number = begins_.begin()->second;
    unsettle(number);
    settle(number);
  }
  while (!relaxes_.empty() && relaxes_.begin()->first <= now) {
    const std::uint32_t number = relaxes_.begin()->second;
    unsettle(number);
    settle(number);
  }
  for (const JobId array : std::exchange(arrays_to_review_, {})) review(array);
}

void Backlog::review(JobId array) {
  const auto at = arrays_.find(array);
  if (at == arrays_.end()) return;
  for (const std::uint32_t number : std::set(at->second.limited)) {
    const Slot& slot = slots_[number];
    if (slot.state == State::Own || slot.state == State::Begin) continue;
    if ((slot.state == State::Capped) == at_cap(*slot.job)) continue;
    unsettle(number);
    settle(number);
  }
}

// ---- one job

// Finds out where the job belongs and puts it there.
void Backlog::settle(std::uint32_t number) {
  Slot& slot = slots_[number];
  const model::Job& job = *slot.job;
  slot.begin = begin_of(job);
  if (is_limited(job)) arrays_[job.array_job].limited.insert(number);
  const Reason own = own_reason(job, Time::max());
  if (own != Reason::None || slot.begin > now_) {
    slot.state = own != Reason::None ? State::Own : State::Begin;
    if (slot.state == State::Begin) begins_.emplace(slot.begin, number);
    if (job.reason != (own != Reason::None ? own : Reason::BeginTime)) misinformed_.insert(number);
    return;
  }
  slot.relax = relaxes_at(view_, job);
  if (slot.relax != Time::max() && slot.relax > now_) relaxes_.emplace(slot.relax, number);
  slot.job_class = class_of(job, slot.relax <= now_);
  ++classes_[slot.job_class].members;
  link(number);
  if (is_limited(job) && at_cap(job)) {
    slot.state = State::Capped;
    capped_.insert(number);
  } else {
    enqueue(number);
  }
}

void Backlog::enqueue(std::uint32_t number) {
  Slot& slot = slots_[number];
  slot.state = slot.job->het_job ? State::Grouped : State::Queued;
  ++queued_;
  if (slot.job->claim) claimed_.insert(number);
  Standing standing = standing_of(*slot.job, view_, scale_);
  slot.order = standing.order;
  JobClass& mine = classes_[slot.job_class];
  const auto [at, added] =
      mine.group_by_key.try_emplace(std::move(standing.points), static_cast<std::uint32_t>(mine.groups.size()));
  if (added) mine.groups.push_back({at->first, {}});
  slot.group = at->second;
  if (slot.state == State::Grouped)
    het_groups_[slot.job->het_job][slot.job->het_offset] = number;
  else
    mine.groups[slot.group].turns.insert({slot.order, slot.job->id, number});
}

// The reverse of settle.
void Backlog::unsettle(std::uint32_t number) {
  Slot& slot = slots_[number];
  const model::Job& job = *slot.job;
  if (is_limited(job)) {
    const auto at = arrays_.find(job.array_job);
    at->second.limited.erase(number);
    if (at->second.running == 0 && at->second.limited.empty()) arrays_.erase(at);
  }
  misinformed_.erase(number);
  claimed_.erase(number);
  if (slot.state == State::Begin) begins_.erase({slot.begin, number});
  relaxes_.erase({slot.relax, number});
  if (slot.state == State::Capped) capped_.erase(number);
  if (slot.state == State::Queued) {
    --queued_;
    classes_[slot.job_class].groups[slot.group].turns.erase({slot.order, job.id, number});
  }
  if (slot.state == State::Grouped) {
    --queued_;
    const auto at = het_groups_.find(job.het_job);
    at->second.erase(job.het_offset);
    if (at->second.empty()) het_groups_.erase(at);
  }
  if (slot.job_class != kNone) leave_class(number);
  slot.state = State::Own;
}

bool Backlog::at_cap(const model::Job& job) const {
  return running_tasks(job.array_job) >= job.array_max_running;
}

// ---- classes

std::uint32_t Backlog::class_of(const model::Job& job, bool relaxed) {
  const std::uint32_t association = by_asker_ ? job.association : 0;
  const auto fits = [&](std::uint32_t c) {
    return classes_[c].spec && classes_[c].limit == job.time_limit && classes_[c].relaxed == relaxed &&
           classes_[c].association == association &&
           (classes_[c].spec == job.spec ||
            (same_wish(*classes_[c].spec, *job.spec) && (!by_asker_ || same_asker(*classes_[c].spec, *job.spec))));
  };
  if (last_class_ != kNone && fits(last_class_)) return last_class_;
  const std::uint64_t hash = wish_hash(*job.spec) ^ job.time_limit.raw() ^ (relaxed ? 0x5bd1e995u : 0u) ^
                             static_cast<std::uint64_t>(to_micros(job.spec->deadline)) * 0x9e3779b97f4a7c15u;
  const auto [first, last] = class_by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (fits(at->second)) return last_class_ = at->second;
  last_class_ = static_cast<std::uint32_t>(classes_.size());
  if (free_classes_.empty()) {
    classes_.emplace_back();
  } else {
    last_class_ = free_classes_.back();
    free_classes_.pop_back();
  }
  classes_[last_class_] = {job.spec, job.time_limit, relaxed, association, hash, {}, {}, 0, {}};
  class_by_hash_.emplace(hash, last_class_);
  changed_classes_.push_back(last_class_);
  return last_class_;
}

void Backlog::leave_class(std::uint32_t number) {
  unlink(number);
  const std::uint32_t c = std::exchange(slots_[number].job_class, kNone);
  if (--classes_[c].members > 0) return;
  auto [at, last] = class_by_hash_.equal_range(classes_[c].hash);
  while (at->second != c) ++at;
  class_by_hash_.erase(at);
  classes_[c] = {};
  free_classes_.push_back(c);
  changed_classes_.push_back(c);
}

void Backlog::link(std::uint32_t number) {
  Slot& slot = slots_[number];
  auto& lists = classes_[slot.job_class].by_reason;
  auto list = std::ranges::find(lists, slot.job->reason, &std::pair<Reason, std::uint32_t>::first);
  if (list == lists.end()) list = lists.insert(lists.end(), {slot.job->reason, kNone});
  slot.previous = kNone;
  slot.next = list->second;
  if (slot.next != kNone) slots_[slot.next].previous = number;
  list->second = number;
}

void Backlog::unlink(std::uint32_t number) {
  Slot& slot = slots_[number];
  if (slot.next != kNone) slots_[slot.next].previous = slot.previous;
  if (slot.previous != kNone) {
    slots_[slot.previous].next = slot.next;
  } else {
    auto& lists = classes_[slot.job_class].by_reason;
    std::ranges::find(lists, slot.job->reason, &std::pair<Reason, std::uint32_t>::first)->second = slot.next;
  }
}

// ---- look-up

Time Backlog::next_change() const {
  Time next = begins_.empty() ? Time{} : begins_.begin()->first;
  if (!relaxes_.empty() && (!is_set(next) || relaxes_.begin()->first < next)) next = relaxes_.begin()->first;
  return next;
}

std::uint32_t Backlog::find(JobId job) const {
  const auto at = slot_of_.find(job);
  return at == slot_of_.end() ? kNone : at->second;
}

std::uint32_t Backlog::running_tasks(JobId array) const {
  const auto at = arrays_.find(array);
  return at == arrays_.end() ? 0 : at->second.running;
}

const std::set<std::uint32_t>& Backlog::limited(JobId array) const {
  static const std::set<std::uint32_t> none;
  const auto at = arrays_.find(array);
  return at == arrays_.end() ? none : at->second.limited;
}

}  // namespace spur::sched
