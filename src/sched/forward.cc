// SPDX-License-Identifier: Apache-2.0
#include "sched/forward.h"

#include <algorithm>
#include <utility>

#include "sched/node_ends.h"
#include "sched/priority.h"
#include "sched/request.h"
#include "sched/reservation_choice.h"
#include "text/words.h"

namespace spur::sched {
namespace {

using model::Job;
using model::JobPtr;
using model::JobState;
using model::Reason;
using model::Reservation;

// Until when no two jobs change places in the queue while nothing happens. Jobs of equal points never do. Others keep
// their distance as long as both age; it shrinks where one is of full age, does not age at all, or nobody knows from
// when on it does. A distance of less than a point is none: priorities are whole numbers.
Time order_settled_until(const model::View& view, Time now) {
  const model::ClusterConfig& config = *view.config;
  if (!config.priority.multifactor) return Time::max();
  if (config.priority.fairshare_weight > 0 && !view.shares->empty()) return now;  // reckoned anew from time to time
  if (config.age_weight == 0 || config.age_full.count() <= 0) return Time::max();
  const Duration full = config.age_full;
  const double per_micro =
      static_cast<double>(config.age_weight) * static_cast<double>(kPoint) / static_cast<double>(full.count());
  const PriorityScale scale(view);
  struct Place {
    double priority;
    std::int64_t points;
  };
  std::vector<Place> places;
  Time drifts_from = Time::max();
  const auto add = [&](const Job& job, const model::Partition* partition) {
    if (!partition || job.hold != model::Hold::None) return;
    const Rank rank = scale.rank(job, *partition);
    const Time since = scale.ages_since(rank.order);
    const bool ages = is_set(since) && since + full > now;
    drifts_from = std::min(drifts_from, ages ? since + full : now);
    const Duration age = is_set(since) ? std::min<Duration>(now - since, full) : Duration{0};
    places.push_back({static_cast<double>(rank.points) + per_micro * static_cast<double>(age.count()), rank.points});
  };
  view.pending.for_each([&](std::uint32_t, const JobPtr& job) {
    if (job->spec->partitions.empty()) add(*job, model::default_partition(view));
    for (const std::string& name : job->spec->partitions) add(*job, model::find_partition(view, name));
  });
  std::ranges::sort(places, {}, &Place::priority);
  double least = -1;
  for (std::size_t i = 1; i < places.size(); ++i)
    if (const double gap = places[i].priority - places[i - 1].priority;
        places[i].points != places[i - 1].points && (least < 0 || gap < least))
      least = gap;
  if (least < 0) return Time::max();
  const double slack = least - static_cast<double>(kPoint);
  if (slack <= 0) return now;
  // No further than age itself reaches: a greater distance is never made up for.
  if (slack > static_cast<double>(config.age_weight) * static_cast<double>(kPoint)) return Time::max();
  return drifts_from + Duration(static_cast<std::int64_t>(slack / per_micro));
}

// Something is on its way of which nobody knows how long it takes.
bool in_motion(const model::View& view, Time now) {
  bool found = false;
  view.active.for_each([&](std::uint32_t, const JobPtr& job) {
    const Time end = model::limit_end(*job);
    found = (job->flags & model::kCompleting) || is_set(job->preempt_at) || (is_set(end) && end <= now);
    return !found;
  });
  if (found) return true;
  view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) {
    found = (node->flags & (model::kNodePoweringDown | model::kNodePoweringUp)) ||
            (node->flags & model::kNodeNoResponse && node->registered && !node->down);
    return !found;
  });
  if (found) return true;
  view.pending.for_each([&](std::uint32_t, const JobPtr& job) {
    found = job->claim != nullptr;
    return !found;
  });
  return found;
}

// Reservations of which it is not certain what they will hold, or when they go.
bool may_shift(const Reservation& r, const model::View& view, Time now) {
  return r.has(model::kResvPurgeComp) || r.has(model::kResvReplace) || with_replacements(view, r, now);
}

constexpr Duration kForEver = hours(24 * 365);  // what ResvOverRun=UNLIMITED is more than

bool runs_in(const Job& job, const Reservation& r) {
  return job.allocation && job.allocation->reservation == r.name;
}

}  // namespace

Forward::Forward(model::View view, const Params& params, Time now)
    : world_(std::move(view)), engine_(params), dependencies_(world_.view()), now_(now) {
  const model::View& seen = world_.view();
  order_settled_until_ = order_settled_until(seen, now);
  foreseeable_ = dependencies_.foresees_all() && !in_motion(seen, now) &&
                 std::ranges::none_of(*seen.reservations, [&](const auto& r) { return may_shift(r, seen, now); });
  seen.active.for_each([&](std::uint32_t, const JobPtr& job) {
    expect(*job);
    const Time end = expected_end(*job, now_);
    running_.push_back({job, end < kNever ? end : Time{}});
  });
  work_ = seen.pending.size() / 8;
  last_event_ = now_;
  for (const Reservation& r : *seen.reservations)
    if (!r.has(model::kResvTimeFloat)) last_event_ = std::max(last_event_, r.end);
  seen.pending.for_each([&](std::uint32_t, const JobPtr& job) { expect(*job); });
}

// What time will do to the job by itself.
void Forward::expect(const Job& job) {
  const auto add = [&](Time at, Due what) { moments_.push({at, what, job.id.value}); };
  if (world_.view().active.contains(job.id.value)) {
    const Time end = expected_end(job, now_);
    if (end < kNever) add(end, Due::End);
    return;
  }
  if (is_set(job.spec->deadline)) add(std::max(job.spec->deadline, now_), Due::Deadline);
  if (job.spec->immediate_seconds > 0)
    add(std::max(job.submitted + seconds(job.spec->immediate_seconds), now_), Due::Immediate);
}

Time Forward::next() const {
  if (!played_) return now_;
  Time next;
  const auto at = [&](Time t) {
    if (is_set(t) && (!is_set(next) || t < next)) next = t;
  };
  if (!moments_.empty()) at(std::get<Time>(moments_.top()));
  at(wake_at_);
  Time turn = Time::max();
  for (const Reservation& r : *world_.view().reservations) {
    if (r.has(model::kResvTimeFloat)) continue;
    if (r.end > now_)
      turn = std::min(turn, r.start > now_ ? r.start : r.end);
    else if (const Duration overrun = world_.view().config->reservation_overrun; overrun < kForEver)
      at(r.end + overrun);  // jobs in it have gone on so far
  }
  // What recurs without anybody ever starting by it goes on like that for ever.
  constexpr Duration kPeriod = hours(8 * 24);
  if (turn < Time::max() && (is_set(next) || turn <= last_event_ + kPeriod)) at(turn);
  return next;
}

bool Forward::play(const Started& started) {
  now_ = next();
  played_ = true;
  if ((!moments_.empty() && std::get<Time>(moments_.top()) <= now_) || (is_set(wake_at_) && wake_at_ <= now_))
    last_event_ = std::max(last_event_, now_);
  happen();
  return schedule(started);
}

// ---- what time does

void Forward::happen() {
  while (!moments_.empty() && std::get<Time>(moments_.top()) <= now_) {
    const auto [at, what, id] = moments_.top();
    moments_.pop();
    const JobPtr* found = what == Due::End ? world_.view().active.find(id) : world_.view().pending.find(id);
    if (!found) continue;  // has started, or was cancelled
    const JobPtr job = *found;
    switch (what) {
      case Due::End:
        end(*job, JobState::Completed, Reason::None);
        break;
      case Due::Deadline:
        end(*job, JobState::Deadline, Reason::DeadLine);
        break;
      case Due::Immediate:
        end(*job, JobState::Cancelled, Reason::Resources);
        break;
    }
  }
  turn_reservations();
  review();
}

void Forward::end(const Job& job, JobState how, Reason why) {
  if (!dependencies_.any() && how == JobState::Completed) return world_.finish(job.id);
  world_.complete(job.id, how, why, now_);
  dependencies_.note(&job, model::find_job(world_.view(), job.id));
}

void Forward::review() {
  if (!dependencies_.any()) return;
  for (auto changed = dependencies_.review(world_.view(), now_); !changed.empty();
       changed = dependencies_.review(world_.view(), now_)) {
    for (JobPtr& job : changed) {
      const JobPtr before = *world_.view().pending.find(job->id.value);
      if (model::is_final(job->state)) {
        end(*before, job->state, Reason::DependencyNeverSatisfied);
        continue;
      }
      dependencies_.note(before.get(), job.get());
      world_.replace_pending(std::move(job));
    }
  }
}

// ---- reservations: state/apply_reservations_due.cc is the real thing

void Forward::turn_reservations() {
  const auto before = world_.view().reservations;
  std::vector<Reservation> list;
  std::vector<const Reservation*> gone;
  for (const Reservation& r : *before) {
    if (r.has(model::kResvTimeFloat) || r.end > now_) {
      list.push_back(r);
      continue;
    }
    std::vector<JobPtr> running;
    if (!r.has(model::kResvFlex))
      world_.view().active.for_each([&](std::uint32_t, const JobPtr& job) {
        if (runs_in(*job, r)) running.push_back(job);
      });
    const Duration overrun = world_.view().config->reservation_overrun;
    if (!running.empty() && (overrun >= kForEver || r.end + overrun > now_)) {
      list.push_back(r);
      continue;
    }
    for (const JobPtr& job : running) end(*job, JobState::Timeout, Reason::TimeLimit);
    if (!r.has(model::kResvRecurring)) {
      gone.push_back(&r);
      continue;
    }
    const model::Occurrence next = model::occurrence_after(r, now_);
    list.push_back(r);
    list.back().start = next.start;
    list.back().end = next.end;
    list.back().active = false;
  }
  for (Reservation& r : list) r.active |= r.start <= now_ && !r.has(model::kResvTimeFloat);
  if (list != *before) world_.set_reservations(std::move(list));
  for (const Reservation* r : gone) leave(*r);
}

// Jobs that asked for it go on without, or are held.
void Forward::leave(const Reservation& r) {
  std::vector<JobPtr> waiting;
  world_.view().pending.for_each([&](std::uint32_t, const JobPtr& job) {
    if (model::names_reservation(job->spec->reservation, r.name)) waiting.push_back(job);
  });
  for (const JobPtr& job : waiting) {
    auto spec = std::make_shared<model::JobSpec>(*job->spec);
    std::string left;
    for (const std::string_view name : text::split(job->spec->reservation, ','))
      if (name != r.name) left += (left.empty() ? "" : ",") + std::string(name);
    auto next = std::make_shared<Job>(*job);
    if (left.empty() && !r.has(model::kResvNoHoldJobs)) {
      if (next->hold == model::Hold::None) next->hold = model::Hold::User;
      next->priority = 0;
    }
    spec->reservation = std::move(left);
    next->spec = std::move(spec);
    dependencies_.note(job.get(), next.get());
    world_.replace_pending(std::move(next));
  }
}

// ---- what the planner does

bool Forward::schedule(const Started& started) {
  for (bool again = true; again;) {
    engine_.see(world_.view());
    const Plan plan = engine_.plan(now_);
    ++plans_;
    work_ += 1 + plan.tested + plan.starts.size() + world_.view().nodes.size() / 20;
    wake_at_ = plan.wake_at;
    if (!plan.given_up.empty() || !plan.resumes.empty()) foreseeable_ = false;
    if (!plan.starts.empty()) last_event_ = std::max(last_event_, now_);
    for (const Start& start : plan.starts)
      if (!begin(start, started)) return false;
    world_.note(plan.waits);
    if (!plan.preemptions.empty()) foreseeable_ = false;
    again = !plan.starts.empty() && (plan.more || dependencies_.any());
    if (again) review();  // those who waited for a start may follow at once
  }
  return true;
}

bool Forward::begin(const Start& start, const Started& started) {
  const JobPtr before = *world_.view().pending.find(start.job.value);
  const JobId id = world_.start(start, now_);
  const JobPtr job = *world_.view().active.find(id.value);
  dependencies_.note(id == start.job ? before.get() : nullptr, job.get());
  if (id != start.job) dependencies_.note(before.get(), world_.view().pending.find(start.job.value)->get());
  expect(*job);
  const Time end = expected_end(*job, now_);
  return started({job, end < kNever ? end : Time{}}, start.job);
}

}  // namespace spur::sched
