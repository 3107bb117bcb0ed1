// SPDX-License-Identifier: Apache-2.0
#include "sched/engine.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "base/check.h"
#include "sched/closures.h"
#include "sched/eligibility.h"
#include "sched/engine_state.h"
#include "sched/het_group.h"
#include "sched/reservations.h"
#include "sched/walk.h"

namespace spur::sched {
namespace {

using model::Job;
using model::JobPtr;
using model::NodePtr;

template <class T>
bool same(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a && b && *a == *b);
}

bool counts_as_array_task(const Job& job) {
  return job.array_job && model::is_active(job.state) && !(job.flags & model::kCompleting);
}

// Whom an active job makes room for, while it is still there; none if it does not.
JobId leaves_for(const Job& job) {
  const bool goes = is_set(job.preempt_at) && job.preempt_how != model::PreemptHow::Suspend;
  return goes ? job.preempted_for : JobId{};
}

bool is_aside(const Job& job) {
  return job.state == model::JobState::Suspended && job.preempt_how == model::PreemptHow::Suspend &&
         !(job.flags & model::kCompleting);
}

void count_leaving(EngineState& s, const Job& job, int sign) {
  const JobId beneficiary = leaves_for(job);
  if (!beneficiary) return;
  std::uint32_t& count = s.leaving[beneficiary];
  count += static_cast<std::uint32_t>(sign);
  if (count == 0) s.leaving.erase(beneficiary);
}

}  // namespace

Engine::Engine(Params params) : params_(params) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

// ---- seeing

void Engine::see(const model::View& view) {
  if (!state_ || !take_in(view)) rebuild(view);
}

void Engine::rebuild(const model::View& view) {
  ++rebuilds_;
  full_cycle_done_ = false;
  last_now_ = {};
  // `view` may be the old state's own.
  auto fresh = std::make_unique<EngineState>(view, params_);
  state_ = std::move(fresh);
  EngineState& s = *state_;
  for (const JobPtr& job : beside_) s.popular.count(*job, 1);
  s.view.active.for_each([&](std::uint32_t, const JobPtr& job) {
    if (job->allocation && !job->spec->licenses.empty()) s.profile.set_license_holder(*job);
    if (counts_as_array_task(*job)) s.backlog.count_array_task(job->array_job, 1);
    count_leaving(s, *job, 1);
    if (is_aside(*job)) s.aside[job->id] = job;
  });
  // The pending jobs are added by the first call, which knows the time: most of them need no begin time then.
}

// False if the view differs in what everything else is built on.
bool Engine::take_in(const model::View& view) {
  EngineState& s = *state_;
  if (!same(s.view.qos, view.qos) || !same(s.view.shares, view.shares) || s.view.accounts != view.accounts ||
      !same(s.view.config, view.config) || !same(s.view.partitions, view.partitions) ||
      !same(s.view.node_by_name, view.node_by_name) || s.view.nodes.size() != view.nodes.size() ||
      any_magnetic(s.view) != any_magnetic(view))
    return false;
  if (!count_jobs(view)) return false;
  std::vector<std::uint32_t> dirty;
  bool columns_changed = false;
  take_in_nodes(view, dirty, columns_changed);
  if (columns_changed) return false;
  take_in_active(view, dirty);
  if (s.backlog_filled) take_in_pending(view);
  // Lanes and the profile point into the partitions that they were made with.
  model::View next = view;
  next.config = s.view.config;
  next.partitions = s.view.partitions;
  const model::View old = std::exchange(s.view, std::move(next));
  std::ranges::sort(dirty);
  dirty.erase(std::unique(dirty.begin(), dirty.end()), dirty.end());
  for (const NodeNumber n : dirty) s.profile.refresh(n);
  return true;
}

void Engine::take_in_nodes(const model::View& view, std::vector<std::uint32_t>& dirty, bool& columns_changed) {
  CowMap<NodePtr>::diff(state_->view.nodes, view.nodes, [&](std::uint32_t n, const NodePtr* a, const NodePtr* b) {
    if (!a || !b) {
      columns_changed = true;
      return;
    }
    dirty.push_back(n);
    // Rare: a node came back with something else in it, so its columns mean something else, in holds as well.
    columns_changed |= (*a)->hardware != (*b)->hardware;
  });
}

// Of all jobs, whatever becomes of them. False if users begin or cease to matter.
bool Engine::count_jobs(const model::View& view) {
  EngineState& s = *state_;
  const bool before = s.users_matter();
  const auto count = [&](std::uint32_t, const JobPtr* a, const JobPtr* b) {
    if (a && EngineState::is_alone_job(**a)) --s.alone_jobs;
    if (b && EngineState::is_alone_job(**b)) ++s.alone_jobs;
    if (a) s.popular.count(**a, -1);
    if (b) s.popular.count(**b, 1);
  };
  CowMap<JobPtr>::diff(s.view.pending, view.pending, count);
  CowMap<JobPtr>::diff(s.view.active, view.active, count);
  return s.users_matter() == before;
}

void Engine::take_in_active(const model::View& view, std::vector<std::uint32_t>& dirty) {
  EngineState& s = *state_;
  CowMap<JobPtr>::diff(s.view.active, view.active, [&](std::uint32_t, const JobPtr* a, const JobPtr* b) {
    const auto for_each_grant = [&](const JobPtr* job, const model::View& then, auto f) {
      if (!job || !(*job)->allocation) return;
      for (const auto& grant : (*job)->allocation->nodes) {
        if (grant.node.value >= view.nodes.size()) continue;
        dirty.push_back(grant.node.value);
        if (std::ranges::binary_search((*then.nodes.find(grant.node.value))->jobs, (*job)->id)) f(**job, grant);
      }
    };
    for_each_grant(a, s.view, [&](const Job& job, const model::NodeGrant& grant) { s.profile.job_went(job, grant); });
    for_each_grant(b, view, [&](const Job& job, const model::NodeGrant& grant) { s.profile.job_came(job, grant); });
    if (a && counts_as_array_task(**a)) s.backlog.count_array_task((*a)->array_job, -1);
    if (b && counts_as_array_task(**b)) s.backlog.count_array_task((*b)->array_job, 1);
    if (a) count_leaving(s, **a, -1);
    if (b) count_leaving(s, **b, 1);
    if (a) s.aside.erase((*a)->id);
    if (b && is_aside(**b)) s.aside[(*b)->id] = *b;
    if (b && (*b)->allocation && !(*b)->spec->licenses.empty())
      s.profile.set_license_holder(**b);
    else
      s.profile.remove_license_holder(b ? (*b)->id : (*a)->id);
  });
}

void Engine::take_in_pending(const model::View& view) {
  Backlog& backlog = state_->backlog;
  CowMap<JobPtr>::diff(state_->view.pending, view.pending, [&](std::uint32_t, const JobPtr* a, const JobPtr* b) {
    if (!b)
      backlog.remove((*a)->id);
    else if (!a)
      backlog.add(**b);
    else
      backlog.change(**b);
  });
}

// ---- calls

Plan Engine::plan(Time now) {
  prepare(now);
  close_reserved();
  drop_holds(true);
  Walk walk(*state_, Walk::Mode::Full);
  walk.decide();
  const bool lost = is_lost();
  Plan made = walk.tell();
  made.full = true;
  full_cycle_done_ = true;
  last_full_ = now;
  if (lost) {
    ++lost_track_;
    rebuild(model::View(state_->view));
  }
  return made;
}

Plan Engine::respond(Time now) {
  prepare(now);
  if (!full_cycle_done_ || claims_call()) return plan(now);
  close_reserved();
  drop_holds(false);
  Walk walk(*state_, Walk::Mode::Quick);
  walk.decide();
  return walk.tell();
}

// Who gets a claim, or can start by it now, comes before others' planned starts; so those have to be made anew.
bool Engine::claims_call() const {
  const EngineState& s = *state_;
  return std::ranges::any_of(s.backlog.claimed(), [&](std::uint32_t slot) {
    const Job& job = *s.backlog.slot(slot).job;
    const auto at = s.planned.find(job.id);
    const bool held = at != s.planned.end() && at->second.claim == job.claim;
    return held ? !s.leaving.contains(job.id) : job.claimed_from >= last_full_;
  });
}

void Engine::prepare(Time now) {
  SPUR_CHECK_MSG(state_, "an engine must have seen something");
  if (now < last_now_) {
    auto held = full_cycle_done_ ? planned() : std::vector<PlannedStart>{};
    const bool had = full_cycle_done_;
    rebuild(state_->view);
    if (had) adopt(std::move(held));
  }
  last_now_ = now;
  for (const Hold& hold : state_->foretold) state_->profile.forget(hold);
  state_->foretold.clear();
  for (const auto& [job, aside] : state_->aside_holds) state_->profile.remove(aside.hold);
  state_->aside_holds.clear();
  if (state_->popular.take_changed()) state_->profile.set_popular(state_->popular.shapes());
  state_->profile.begin(now);
  state_->backlog.begin(now);
  if (!std::exchange(state_->backlog_filled, true))
    state_->view.pending.for_each([&](std::uint32_t, const JobPtr& job) { state_->backlog.add(*job); });
  make_lanes();
}

// Lanes of classes that came; those of classes that went are given up.
void Engine::make_lanes() {
  EngineState& s = *state_;
  const auto& partitions = *s.view.partitions;
  for (const std::uint32_t c : s.backlog.take_changed_classes()) {
    if (s.lanes_of_class.size() <= c) s.lanes_of_class.resize(c + 1);
    for (const std::uint32_t lane : std::exchange(s.lanes_of_class[c], {})) {
      s.lanes[lane].reset();
      s.free_lanes.push_back(lane);
    }
    const auto& job_class = s.backlog.classes()[c];
    if (!job_class.spec) continue;
    std::uint32_t nth = 0;
    const auto add = [&](const model::Partition* partition) {
      if (!partition) return;
      std::uint32_t lane = static_cast<std::uint32_t>(s.lanes.size());
      if (s.free_lanes.empty()) {
        s.lanes.emplace_back();
      } else {
        lane = s.free_lanes.back();
        s.free_lanes.pop_back();
      }
      s.lanes[lane] = std::make_unique<LaneRecord>(s.view, s.profile.capacity(), job_class, c,
                                                   static_cast<std::size_t>(partition - partitions.data()), nth++);
      s.lanes_of_class[c].push_back(lane);
    };
    if (job_class.spec->partitions.empty()) add(model::default_partition(s.view));
    for (const auto& name : job_class.spec->partitions) add(model::find_partition(s.view, name));
    std::ranges::stable_sort(s.lanes_of_class[c], std::greater{}, [&](std::uint32_t l) { return s.lanes[l]->tier; });
  }
}

// Looks again when the list changed, something is over, dates that recur have come near, or a date moves with time.
void Engine::close_reserved() {
  EngineState& s = *state_;
  const bool over = std::ranges::any_of(s.closed, [&](const Hold& hold) { return hold.end <= last_now_; });
  const bool floats = std::ranges::any_of(*s.view.reservations,
                                          [](const model::Reservation& r) { return r.has(model::kResvTimeFloat); });
  const Time until = reservation_horizon(last_now_);
  if (s.closed_for == s.view.reservations && s.closed_until == until && !over && !floats) return;
  s.closed_for = s.view.reservations;
  s.closed_until = until;
  std::deque<Hold> wanted = closures(s.view, s.profile.capacity(), last_now_);
  if (wanted == s.closed) return;
  for (const Hold& hold : s.closed) s.profile.remove(hold);
  s.closed = std::move(wanted);
  for (const Hold& hold : s.closed) s.profile.add(hold);
}

// All of them, or those that have become void: the job is gone, may not start, or wants something else; the partition
// cannot take it any more; the time is over.
void Engine::drop_holds(bool all) {
  EngineState& s = *state_;
  for (auto at = s.planned.begin(); at != s.planned.end();) {
    const PlannedStart& planned = at->second;
    const auto stands = [&] {
      const std::uint32_t number = s.backlog.find(planned.job);
      if (number == kNone || planned.hold.end <= last_now_) return false;
      const auto& slot = s.backlog.slot(number);
      if (slot.state != Backlog::State::Queued && slot.state != Backlog::State::Grouped) return false;
      if (slot.job->time_limit != planned.limit) return false;
      if (planned.claim && planned.claim != slot.job->claim) return false;
      if (slot.job->spec != planned.spec && !same_wish(*slot.job->spec, *planned.spec)) return false;
      for (const std::uint32_t lane : s.lanes_of_class[slot.job_class])
        if (s.lanes[lane]->partition == planned.partition)
          return s.lanes[lane]->lane.reason(s.profile) == model::Reason::None &&
                 s.lanes[lane]->lane.may_use(s.profile, planned.hold.reservation, planned.hold.start);
      return false;
    };
    if (!all && stands()) {
      ++at;
      continue;
    }
    s.profile.remove(planned.hold);
    at = s.planned.erase(at);
  }
  if (!s.backlog.het_groups().empty()) drop_broken_groups(s);
}

std::vector<PlannedStart> Engine::planned() const {
  std::vector<PlannedStart> found;
  for (const auto& [job, planned] : state_->planned) found.push_back(planned);
  return found;
}

void Engine::adopt(std::vector<PlannedStart> planned) {
  drop_holds(true);
  for (auto& one : planned) {
    const JobId job = one.job;
    one.no_room.clear();  // of another engine
    const auto [at, added] = state_->planned.insert_or_assign(job, std::move(one));
    state_->profile.add(at->second.hold);
  }
  full_cycle_done_ = true;
}

bool Engine::is_lost() {
  EngineState& s = *state_;
  if (s.lanes.empty()) return false;
  watched_ = (watched_ + 1) % s.lanes.size();
  auto& record = s.lanes[watched_];
  return record && record->lane.reason(s.profile) == model::Reason::None && record->lane.is_wrongly_full(s.profile);
}

// ---- what if

Result<Forecast> Engine::forecast(const model::JobSpec& spec, Time now) {
  if (!full_cycle_done_) return will_run(model::View(state_->view), spec, now);
  prepare(std::max(now, last_now_));
  close_reserved();
  drop_holds(false);
  return forecast(spec);
}

Result<Forecast> Engine::forecast(const std::vector<const model::JobSpec*>& components, Time now) {
  if (components.size() == 1) return forecast(*components[0], now);
  if (!full_cycle_done_) plan(now);
  prepare(std::max(now, last_now_));
  close_reserved();
  drop_holds(false);
  return forecast(components);
}

Result<Forecast> Engine::forecast(const model::JobSpec& spec) {
  using model::Reason;
  EngineState& s = *state_;
  Profile& profile = s.profile;
  const Time now = profile.now();
  std::optional<Hold> best;
  std::size_t best_partition = 0;
  ErrorCode error = ErrorCode::NodeConfigUnavailable;
  const auto consider = [&](const model::Partition* partition) {
    if (!partition) return;
    const auto number = static_cast<std::size_t>(partition - s.view.partitions->data());
    Lane lane(s.view, profile.capacity(), spec, number, spec.time_limit, false);
    const Reason reason = lane.reason(profile);
    if (reason == Reason::PartitionDown) error = ErrorCode::PartitionDown;
    if (reason == Reason::PartitionInactive) error = ErrorCode::PartitionUnavailable;
    if (reason == Reason::Reservation) error = ErrorCode::ReservationNotUsable;
    if (reason != Reason::None) return;
    std::optional<Hold> hold;
    if (spec.begin <= now) {
      if (auto shares = lane.fit_now(profile); !shares.empty()) {
        const Entered inside(profile, lane.entry());
        hold = profile.make_hold(lane.chosen(), now, std::move(shares));
      } else if (auto among = lane.fit_beside(profile, nullptr); !among.empty()) {
        const Entered inside(profile, lane.entry());
        hold = profile.make_hold_beside(lane.chosen(), *lane.beside(), std::move(among));
      }
    }
    if (!hold) hold = lane.fit_after(profile, std::max(now, spec.begin));
    if (!hold || (best && hold->start >= best->start)) return;
    best = *std::move(hold);
    best_partition = number;
  };
  if (spec.partitions.empty()) consider(model::default_partition(s.view));
  for (const auto& name : spec.partitions) consider(model::find_partition(s.view, name));
  if (!best) return fail(error, std::string(slurm_message(error)));
  Forecast forecast;
  // Slurm takes jobs without a limit to run for a year.
  forecast.start = best->start < kNever ? best->start : now + hours(365 * 24);
  forecast.partition = (*s.view.partitions)[best_partition].config.name;
  for (std::size_t i = 0; i < best->shares.size(); ++i) {
    forecast.nodes.push_back(NodeIndex(best->shares[i].node));
    forecast.cpus += static_cast<std::uint32_t>(best->rows[i * profile.capacity().width() + Columns::kCpu]);
  }
  return forecast;
}

Result<Forecast> Engine::forecast(const std::vector<const model::JobSpec*>& components) {
  EngineState& s = *state_;
  Time from = s.profile.now();
  std::deque<Lane> made;
  std::vector<std::vector<std::pair<std::size_t, Lane*>>> choices;  // by component: with their partitions
  for (const model::JobSpec* spec : components) {
    from = std::max(from, spec->begin);
    auto& lanes = choices.emplace_back();
    const auto consider = [&](const model::Partition* partition) {
      if (!partition) return;
      const auto number = static_cast<std::size_t>(partition - s.view.partitions->data());
      Lane& lane = made.emplace_back(s.view, s.profile.capacity(), *spec, number, spec->time_limit, false);
      if (lane.reason(s.profile) == model::Reason::None) lanes.emplace_back(number, &lane);
    };
    if (spec->partitions.empty()) consider(model::default_partition(s.view));
    for (const auto& name : spec->partitions) consider(model::find_partition(s.view, name));
    std::ranges::stable_sort(lanes, std::greater{},
                             [&](const auto& lane) { return (*s.view.partitions)[lane.first].config.priority_tier; });
  }
  std::vector<HetPart> best;
  std::size_t partition = 0;
  for (const auto& first : choices[0]) {
    std::vector<std::vector<Lane*>> lanes{{first.second}};
    for (std::size_t i = 1; i < choices.size(); ++i) {
      lanes.emplace_back();
      for (const auto& choice : choices[i]) lanes.back().push_back(choice.second);
    }
    auto parts = HetSearch(s.profile, std::move(lanes)).fit_after(from);
    if (parts.empty() || (!best.empty() && parts[0].fit.hold.start >= best[0].fit.hold.start)) continue;
    best = std::move(parts);
    partition = first.first;
  }
  const ErrorCode error = ErrorCode::NodeConfigUnavailable;
  if (best.empty()) return fail(error, std::string(slurm_message(error)));
  Forecast forecast;
  const Time start = best[0].fit.hold.start;
  forecast.start = start < kNever ? start : s.profile.now() + hours(365 * 24);
  forecast.partition = (*s.view.partitions)[partition].config.name;
  for (const HetPart& part : best)
    for (std::size_t i = 0; i < part.fit.hold.shares.size(); ++i) {
      forecast.nodes.push_back(NodeIndex(part.fit.hold.shares[i].node));
      forecast.cpus +=
          static_cast<std::uint32_t>(part.fit.hold.rows[i * s.profile.capacity().width() + Columns::kCpu]);
    }
  std::ranges::sort(forecast.nodes);
  return forecast;
}

}  // namespace spur::sched
