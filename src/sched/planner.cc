// SPDX-License-Identifier: Apache-2.0
#include "sched/planner.h"

#include <algorithm>
#include <utility>

#include "sched/eligibility.h"
#include "sched/feasibility.h"
#include "sched/occupancy.h"

namespace spur::sched {
namespace {

using model::Reason;

// With several partitions, the one in which the job could run speaks for it.
bool is_final_word(Reason reason) {
  return reason == Reason::Resources || reason == Reason::Priority || reason == Reason::Licenses ||
         reason == Reason::JobArrayTaskLimit;
}

}  // namespace

Planner::Planner(const model::View& view, const Params& params, Time now)
    : view_(view),
      params_(params),
      now_(now),
      capacity_(view),
      profile_(view, capacity_, now),
      grants_(capacity_),
      first_waiting_(view.partitions->size(), -1) {}

Plan Planner::run() {
  gather();
  sort_queue(queue_);
  for (const auto& entry : queue_)
    if (!visit(entry)) break;
  write_waits();
  return std::move(plan_);
}

// ---- gathering

void Planner::gather() {
  slots_.reserve(view_.pending.size());
  queue_.reserve(view_.pending.size());
  const PriorityScale scale(view_);
  view_.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
    const auto slot_number = static_cast<std::uint32_t>(slots_.size());
    Slot& slot = slots_.emplace_back();
    slot.job = job.get();
    slot.reason = own_reason(*job, now_);
    if (slot.reason == Reason::BeginTime) {
      const Time begin = begin_of(*job);
      if (!is_set(plan_.wake_at) || begin < plan_.wake_at) plan_.wake_at = begin;
    }
    if (slot.reason != Reason::None) return;
    if (job->is_array_rest()) slot.task = job->array_pending->lowest();

    const auto& lanes = classes_[class_of(*job)].lanes;
    if (lanes.empty()) slot.reason = Reason::PartitionConfig;  // its partitions were taken away
    for (std::uint32_t nth = 0; nth < lanes.size(); ++nth) {
      const auto& partition = (*view_.partitions)[lanes_[lanes[nth]].request().partition];
      const std::uint32_t priority = scale.priority(*job, partition, now_);
      queue_.push_back({partition.config.priority_tier, priority, job->id, slot_number, lanes[nth], nth});
    }
    slot.entries_left = static_cast<std::uint32_t>(lanes.size());
  });
}

std::uint32_t Planner::class_of(const model::Job& job) {
  const auto fits = [&](std::uint32_t c) {
    return classes_[c].limit == job.time_limit &&
           (classes_[c].spec == job.spec.get() || same_wish(*classes_[c].spec, *job.spec));
  };
  if (!classes_.empty() && fits(last_class_)) return last_class_;
  const std::uint64_t hash = wish_hash(*job.spec) ^ job.time_limit.raw();
  const auto [first, last] = class_by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (fits(at->second)) return last_class_ = at->second;
  last_class_ = make_class(*job.spec, job.time_limit);
  class_by_hash_.emplace(hash, last_class_);
  return last_class_;
}

std::uint32_t Planner::make_class(const model::JobSpec& spec, TimeLimit limit) {
  JobClass made{&spec, limit, {}};
  const auto& partitions = *view_.partitions;
  const auto add = [&](const model::Partition* partition) {
    if (!partition) return;
    made.lanes.push_back(static_cast<std::uint32_t>(lanes_.size()));
    lanes_.emplace_back(view_, capacity_, spec, static_cast<std::size_t>(partition - partitions.data()), limit, now_);
  };
  if (spec.partitions.empty()) add(model::default_partition(view_));
  for (const auto& name : spec.partitions) add(model::find_partition(view_, name));
  classes_.push_back(std::move(made));
  return static_cast<std::uint32_t>(classes_.size()) - 1;
}

// ---- the walk

bool Planner::visit(const QueueEntry& entry) {
  Slot& slot = slots_[entry.slot];
  Lane& lane = lanes_[entry.lane];
  if (slot.started) return true;
  if (const Reason reason = lane.reason(); reason != Reason::None) {
    if (slot.reason == Reason::None) slot.reason = reason;
    --slot.entries_left;
    return true;
  }
  // A hold that the job got in an earlier partition must not stand in its own way here.
  if (slot.hold >= 0) profile_.remove(hold_of(slot));
  while (!slot.started) {
    if (array_is_at_limit(*slot.job)) {
      if (slot.hold >= 0) drop_hold(slot);
      slot.reason = Reason::JobArrayTaskLimit;
      --slot.entries_left;
      return true;
    }
    std::vector<Share> shares;
    if (lane.full_since != generation_ || slot.hold >= 0) shares = lane.fit_now(profile_);
    if (shares.empty()) break;
    if (plan_.starts.size() >= params_.max_starts) {
      plan_.more = true;
      return false;
    }
    if (slot.hold >= 0) drop_hold(slot);
    start(slot, lane.request(), shares);
  }
  if (!slot.started) wait(slot, lane);
  --slot.entries_left;
  return true;
}

bool Planner::array_is_at_limit(const model::Job& job) {
  if (!job.array_job || job.array_max_running == 0) return false;
  if (!array_running_) array_running_ = running_array_tasks(view_);
  const auto running = array_running_->find(job.array_job);
  return running != array_running_->end() && running->second >= job.array_max_running;
}

void Planner::wait(Slot& slot, Lane& lane) {
  const Request& request = lane.request();
  if (slot.hold < 0) lane.full_since = generation_;
  Reason reason = Reason::Resources;
  if (!profile_.licenses_suffice(request, now_, request.end_of_run(now_))) {
    reason = Reason::Licenses;
  } else {
    // The first that waits in its partition waits for resources, the others for it. It may have started elsewhere
    // since.
    std::int64_t& first = first_waiting_[request.partition];
    if (first >= 0 && !slots_[static_cast<std::size_t>(first)].started)
      reason = Reason::Priority;
    else
      first = &slot - slots_.data();
  }
  if (!is_final_word(slot.reason)) slot.reason = reason;
  plan_later(slot, lane);
}

void Planner::plan_later(Slot& slot, Lane& lane) {
  if (slot.hold >= 0) {
    // Planned in an earlier partition already: move only if it is sooner here.
    Hold& old = hold_of(slot);
    auto sooner = lane.fit_after(profile_, now_);
    if (sooner && sooner->start < old.start) {
      old = *std::move(sooner);
      ++generation_;
    }
    profile_.add(old);
    return;
  }
  if (holds_made_ >= params_.reservations) return;
  auto hold = lane.fit_later(profile_, lane.planned_in == generation_);
  lane.planned_in = generation_;
  if (!hold) return;
  profile_.add(*hold);
  slot.hold = static_cast<std::int32_t>(holds_.size());
  holds_.push_back(*std::move(hold));
  ++holds_made_;
}

// The hold is out of the profile already.
void Planner::drop_hold(Slot& slot) {
  slot.hold = -1;
  --holds_made_;
  ++generation_;
}

// ---- starting

void Planner::start(Slot& slot, const Request& request, const std::vector<Share>& shares) {
  const Time end = request.end_of_run(now_);
  const std::size_t width = capacity_.width();
  auto allocation = std::make_shared<model::Allocation>();
  allocation->partition = (*view_.partitions)[request.partition].config.name;
  allocation->nodes.reserve(shares.size());
  rows_.resize(shares.size() * width);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    Amount* take = &rows_[i * width];
    take_of_share(request, capacity_, shares[i], profile_.least(shares[i].node, now_, end), take);
    allocation->nodes.push_back(grants_.grant(shares[i], take));
  }
  profile_.start(request, shares, rows_);

  const model::Job& job = *slot.job;
  plan_.starts.push_back({job.id, slot.task, std::move(allocation)});
  if (job.array_job && job.array_max_running > 0) ++(*array_running_)[job.array_job];
  if (slot.task) slot.task = job.array_pending->next_after(*slot.task);
  slot.started = !slot.task;
}

void Planner::write_waits() {
  for (const auto& slot : slots_) {
    if (slot.started || slot.entries_left > 0) continue;
    Wait wait{slot.job->id, slot.reason, {}};
    if (slot.hold >= 0) {
      const Time start = hold_of(slot).start;
      if (start < kNever) wait.expected_start = start;
    }
    if (wait.reason != slot.job->reason || is_set(wait.expected_start)) plan_.waits.push_back(wait);
  }
}

// ---- what if

Result<Forecast> Planner::forecast(const model::JobSpec& spec) {
  std::optional<Hold> best;
  std::size_t best_partition = 0;
  ErrorCode error = ErrorCode::NodeConfigUnavailable;
  const std::uint32_t made = make_class(spec, spec.time_limit);
  for (const std::uint32_t number : classes_[made].lanes) {
    Lane& lane = lanes_[number];
    const Reason reason = lane.reason();
    if (reason == Reason::PartitionDown) error = ErrorCode::PartitionDown;
    if (reason == Reason::PartitionInactive) error = ErrorCode::PartitionUnavailable;
    if (reason != Reason::None) continue;
    std::optional<Hold> hold;
    if (spec.begin <= now_)
      if (auto shares = lane.fit_now(profile_); !shares.empty())
        hold = profile_.make_hold(lane.request(), now_, std::move(shares));
    if (!hold) hold = lane.fit_after(profile_, std::max(now_, spec.begin));
    if (!hold || (best && hold->start >= best->start)) continue;
    best = *std::move(hold);
    best_partition = lane.request().partition;
  }
  if (!best) return fail(error, std::string(slurm_message(error)));
  Forecast forecast;
  // Slurm takes jobs without a limit to run for a year.
  forecast.start = best->start < kNever ? best->start : now_ + hours(365 * 24);
  forecast.partition = (*view_.partitions)[best_partition].config.name;
  for (std::size_t i = 0; i < best->shares.size(); ++i) {
    forecast.nodes.push_back(NodeIndex(best->shares[i].node));
    forecast.cpus += static_cast<std::uint32_t>(best->rows[i * capacity_.width() + Columns::kCpu]);
  }
  return forecast;
}

}  // namespace spur::sched
