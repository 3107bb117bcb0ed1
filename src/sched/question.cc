// SPDX-License-Identifier: Apache-2.0
#include "sched/question.h"

#include <algorithm>
#include <tuple>

#include "sched/eligibility.h"
#include "sched/priority.h"

namespace spur::sched {
namespace {

// Holds for jobs far back cost time and say little: nothing is expected for those behind so many.
constexpr std::size_t kMostPlanned = 1000;

std::uint32_t highest_tier(const model::View& view, const model::Job& job) {
  std::uint32_t tier = 0;
  if (job.spec->partitions.empty())
    if (const auto* partition = model::default_partition(view)) tier = partition->config.priority_tier;
  for (const auto& name : job.spec->partitions)
    if (const auto* partition = model::find_partition(view, name))
      tier = std::max(tier, partition->config.priority_tier);
  return tier;
}

// Of all partitions: it may be asked what would be in another one.
std::uint32_t lowest_tier(const model::View& view) {
  std::uint32_t tier = 0xffffffffu;
  for (const auto& partition : *view.partitions) tier = std::min(tier, partition.config.priority_tier);
  return tier;
}

}  // namespace

bool Answer::sooner_than(const Answer& other) const {
  if (starts_now || other.starts_now) return starts_now && !other.starts_now;
  if (!is_set(start)) return false;
  return !is_set(other.start) || start < other.start;
}

Question::Question(const model::View& view, const Params& params, const model::Job& job, Time now, std::uint32_t most)
    : job_(job), now_(now), params_(settled(params, *view.config)), most_(most), base_(view) {
  std::vector<model::JobPtr> beside;
  const std::size_t place = sort_out_others(view, beside);
  params_.max_starts = 0xffffffffu;
  params_.forecasts = 0;
  decides_ = Engine(params_);
  decides_alone_ = Engine(params_);
  if (place < kMostPlanned) params_.forecasts = static_cast<std::uint32_t>(place + 1);
  expects_ = Engine(params_);
  for (Engine* engine : {&decides_, &decides_alone_, &expects_}) engine->count_beside(beside);
  alone_ = base_;
  for (const JobId id : ahead_) alone_.pending.erase(id.value);
}

// By its best tier another job may come first, by our worst one we may come last: whoever could be looked at before
// this job in any partition stays; the others go beside. How many come first in the queue.
std::size_t Question::sort_out_others(const model::View& view, std::vector<model::JobPtr>& beside) {
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::uint32_t>;
  const PriorityScale scale(view);
  const auto rank = [&](const model::Job& job, std::uint32_t tier, Time now) {
    static const model::Partition kAnywhere{};  // the order among equals is the same in all
    const auto order = scale.rank(job, kAnywhere).order;
    return Place{~tier, ~scale.priority(job, now), order, job.id.value};
  };
  model::Job free = job_;
  if (free.hold != model::Hold::None) {  // where it would stand
    free.hold = model::Hold::None;
    free.priority = std::max(1u, free.priority);
  }
  const Place ours = rank(free, lowest_tier(view), now_);
  const bool all_stay = params_.backfill == model::BackfillOrder::Smallest;
  std::size_t first = 0;
  std::vector<std::pair<Place, JobId>> ahead;
  view.pending.for_each([&](std::uint32_t, const model::JobPtr& other) {
    if (other->id == job_.id) return;
    const Place theirs = rank(*other, highest_tier(view, *other), now_);
    const bool waits = own_reason(*other, now_) == model::Reason::None;
    first += waits && theirs < ours;
    if (waits && (all_stay || theirs < ours))
      ahead.emplace_back(theirs, other->id);
    else
      beside.push_back(other);
  });
  std::ranges::sort(ahead);
  for (const auto& [where, id] : ahead) ahead_.push_back(id);
  for (const model::JobPtr& other : beside) base_.pending.erase(other->id.value);
  return first;
}

std::vector<const model::Partition*> Question::partitions() const {
  std::vector<const model::Partition*> found;
  if (job_.spec->partitions.empty())
    if (const auto* partition = model::default_partition(base_)) found.push_back(partition);
  for (const auto& name : job_.spec->partitions)
    if (const auto* partition = model::find_partition(base_, name)) found.push_back(partition);
  return found;
}

Answer Question::answer(const Edit& edit) {
  return ask(params_.forecasts > 0 ? expects_ : decides_, base_, edit);
}

Answer Question::answer_now(const Edit& edit, Queue queue) {
  return queue == Queue::Gone ? ask(decides_alone_, alone_, edit) : ask(decides_, base_, edit);
}

Answer Question::ask(Engine& engine, const model::View& base, const Edit& edit) {
  ++asked_;
  WhatIf world(base);
  if (edit) edit(world);
  engine.see(world.view());
  const Plan plan = engine.plan(now_);
  Answer answer;
  const model::JobPtr* job = world.view().jobs.find(job_.id.value);
  if (job) answer.reason = (*job)->reason;
  for (const auto& start : plan.starts) {
    if (start.job != job_.id) continue;
    answer.starts_now = true;
    answer.start = now_;
    answer.reason = model::Reason::None;
    return answer;
  }
  for (const auto& wait : plan.waits) {
    if (wait.job != job_.id) continue;
    answer.reason = wait.reason;
    answer.start = wait.expected_start;
    answer.promised = wait.promised;
  }
  return answer;
}

}  // namespace spur::sched
