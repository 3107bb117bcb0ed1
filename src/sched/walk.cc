// SPDX-License-Identifier: Apache-2.0
#include "sched/walk.h"

#include <algorithm>
#include <utility>

#include "sched/feasibility.h"
#include "sched/plan.h"
#include "sched/task_numbers.h"

namespace spur::sched {

using model::Reason;

Walk::Walk(EngineState& state, Mode mode)
    : s_(state),
      mode_(mode),
      now_(state.profile.now()),
      cursors_(state.cursors),
      holds_in_(state.view.partitions->size()),
      heap_(state.queue),
      limits_(limits_matter(state.view)) {
  if (limits_) tallies_ = state.view.tallies;
  cursors_.resize(state.lanes.size());
  heap_.clear();
  for (Cursor& cursor : cursors_) cursor.forget();
}

void Walk::decide() {
  plan_.wake_at = s_.backlog.next_change();
  for (const auto& [job, planned] : s_.planned) {
    const std::uint32_t slot = s_.backlog.find(job);
    if (s_.backlog.slot(slot).state == Backlog::State::Queued)
      held_of_class_[s_.backlog.slot(slot).job_class].push_back(slot);
    if (!planned.claim && !planned.follows) ++holds_in_[planned.partition];
  }
  if (!visit_claims()) return;
  visit_aside();
  for (std::uint32_t l = 0; l < s_.lanes.size(); ++l) {
    if (!s_.lanes[l] || s_.lanes[l]->lane.reason(s_.profile) != Reason::None) continue;
    s_.lanes[l]->lane.begin();
    if (may_matter(l)) join(l, nullptr);
  }
  push_groups();
  bool more = true;
  while (const auto item = more ? pop() : std::nullopt) more = visit(*item);
  if (more && s_.params.backfill == model::BackfillOrder::Smallest) join_behind();
  while (const auto item = more ? pop() : std::nullopt) more = visit(*item);
  behind_ = false;
  if (!plan_.more && mode_ == Mode::Full) propose_preemptions();
  plan_.looked_at = plan_.more ? plan_.tested : s_.backlog.queued();
}

Plan Walk::tell() {
  if (plan_.more) return std::move(plan_);
  find_firsts();
  foretell();
  write_waits();
  return std::move(plan_);
}

// ---- the queue

// Most lanes are full, and were when we last looked. They join when something is given back.
bool Walk::may_matter(std::uint32_t lane) const {
  LaneRecord& record = *s_.lanes[lane];
  return mode_ == Mode::Full || !record.lane.stays_full(s_.profile) || held_of_class_.contains(record.of_class) ||
         has_newcomers(record);
}

// Jobs that a quick call may make a hold for.
bool Walk::has_newcomers(const LaneRecord& lane) const {
  return holds_in_[lane.partition] < s_.params.promises &&
         std::ranges::any_of(
             class_of(lane).by_reason,
             [](const auto& list) { return list.first == Reason::None && list.second != kNone; });
}

const Backlog::JobClass& Walk::class_of(const LaneRecord& lane) const {
  return s_.backlog.classes()[lane.of_class];
}

const Backlog::Group& Walk::group_of(std::uint32_t slot) const {
  const Backlog::Slot& of = s_.backlog.slot(slot);
  return s_.backlog.classes()[of.job_class].groups[of.group];
}

// The one place that says in which order jobs are looked at.
Position Walk::position_of(const Turn& turn, const Backlog::Group& group, const LaneRecord& lane) const {
  const std::int64_t points = group.key[lane.nth];
  // Behind, age does not count: it would put long waiting large jobs before the small ones, and they have promises.
  if (behind_) return {lane.tier, points, turn.order, turn.job, lane.nth, true, lane.size};
  return {lane.tier, s_.scale.priority({points, turn.order}, now_), turn.order, turn.job, lane.nth};
}

// From the front, or behind `after`.
void Walk::join(std::uint32_t lane, const Position* after) {
  const LaneRecord& record = *s_.lanes[lane];
  const auto& groups = class_of(record).groups;
  Cursor& cursor = cursors_[lane];
  cursor.at.clear();
  cursor.cut = false;
  ++cursor.joined;
  for (const auto& group : groups) {
    cursor.at.push_back(after ? group.turns.lower_bound(
                                    [&](const Turn& turn) { return !(*after < position_of(turn, group, record)); })
                              : group.turns.begin());
  }
  push_next(lane);
}

void Walk::push_next(std::uint32_t lane) {
  const LaneRecord& record = *s_.lanes[lane];
  const auto& groups = class_of(record).groups;
  Cursor& cursor = cursors_[lane];
  cursor.in_walk = false;
  Item item{{}, lane, kNone, cursor.joined, false};
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    while (cursor.at[g] != groups[g].turns.end() && started(cursor.at[g]->slot)) ++cursor.at[g];
    if (cursor.at[g] == groups[g].turns.end()) continue;
    const Position position = position_of(*cursor.at[g], groups[g], record);
    if (cursor.in_walk && !(position < item.position)) continue;
    cursor.in_walk = true;
    cursor.group = g;
    item.position = position;
    item.slot = cursor.at[g]->slot;
  }
  if (!cursor.in_walk) return;
  heap_.push_back(item);
  std::push_heap(heap_.begin(), heap_.end());
}

void Walk::push_alone(std::uint32_t lane, std::uint32_t slot) {
  const auto& job = s_.backlog.slot(slot);
  const Position position = position_of({job.order, job.job->id, slot}, group_of(slot), *s_.lanes[lane]);
  if (last_ && !(*last_ < position)) return;
  heap_.push_back({position, lane, slot, 0, true});
  std::push_heap(heap_.begin(), heap_.end());
}

std::optional<Walk::Item> Walk::pop() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Item item = heap_.back();
    heap_.pop_back();
    if (!item.alone && item.joined != cursors_[item.lane].joined) continue;  // its lane has joined again since
    const bool been = last_ && !(*last_ < item.position);                    // it came with its lane and by itself
    if (!been) {
      last_ = item.position;
      return item;
    }
    if (!item.alone) {
      Cursor& cursor = cursors_[item.lane];
      ++cursor.at[cursor.group];
      push_next(item.lane);
    }
  }
  return std::nullopt;
}

// Where priorities know no age, or for a job that does not age, nobody is old: the first one has a promise anyway.
bool Walk::is_old(std::int64_t order) const {
  if (s_.params.patience == Duration{0}) return true;
  const Time since = s_.scale.ages_since(order);
  return is_set(since) && now_ - since > s_.params.patience;
}

// Somebody of its partition has a promise, and it cannot get one.
bool Walk::comes_later(const Item& item) const {
  return !behind_ && s_.params.backfill == model::BackfillOrder::Smallest &&
         holds_in_[s_.lanes[item.lane]->partition] > 0 && !is_old(item.position.order) &&
         !s_.planned.contains(item.position.job);
}

// The job and those behind it in its priority group, who are younger still. Except those with something to lose.
void Walk::put_off(const Item& item) {
  if (item.alone) return;
  Cursor& cursor = cursors_[item.lane];
  cursor.cut = true;
  cursor.at[cursor.group] = class_of(*s_.lanes[item.lane]).groups[cursor.group].turns.end();
  push_next(item.lane);
  if (const auto held = held_of_class_.find(s_.lanes[item.lane]->of_class); held != held_of_class_.end())
    for (const std::uint32_t slot : held->second) push_alone(item.lane, slot);
}

// The first one of the partition has its promise: all of its lanes at once that nobody else of may get one.
void Walk::put_off_all(std::size_t partition) {
  if (behind_ || s_.params.backfill != model::BackfillOrder::Smallest || s_.params.patience == Duration{0}) return;
  const auto gone = std::ranges::partition(heap_, [&](const Item& item) { return !is_put_off(item, partition); });
  std::vector<std::pair<std::uint32_t, std::uint32_t>> alone;  // lane, slot
  if (!held_of_class_.empty())
    for (const Item& item : gone)
      if (const auto held = held_of_class_.find(s_.lanes[item.lane]->of_class); held != held_of_class_.end())
        for (const std::uint32_t slot : held->second) alone.emplace_back(item.lane, slot);
  heap_.erase(gone.begin(), gone.end());
  std::make_heap(heap_.begin(), heap_.end());
  for (const auto& [lane, slot] : alone) push_alone(lane, slot);
}

bool Walk::is_put_off(const Item& item, std::size_t partition) {
  Cursor& cursor = cursors_[item.lane];
  if (item.alone || s_.lanes[item.lane]->partition != partition || item.joined != cursor.joined) return false;
  const auto& groups = class_of(*s_.lanes[item.lane]).groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    // Who comes after it is younger.
    if (cursor.at[g] == groups[g].turns.end()) continue;
    if (is_old(cursor.at[g]->order) || s_.planned.contains(cursor.at[g]->job)) return false;
  }
  for (std::size_t g = 0; g < groups.size(); ++g) cursor.at[g] = groups[g].turns.end();
  cursor.in_walk = false;
  cursor.cut = true;
  return true;
}

// All who have neither started nor a promise.
void Walk::join_behind() {
  behind_ = true;
  last_.reset();
  heap_.clear();
  for (std::uint32_t l = 0; l < s_.lanes.size(); ++l) {
    if (!s_.lanes[l] || s_.lanes[l]->lane.reason(s_.profile) != Reason::None) continue;
    if (mode_ == Mode::Full ? !s_.lanes[l]->lane.is_full(s_.profile) : !s_.lanes[l]->lane.stays_full(s_.profile))
      join(l, nullptr);
  }
  push_groups();
}

// No job behind this place will do better, unless it has a hold or may get one.
void Walk::leave(std::uint32_t lane) {
  cursors_[lane].in_walk = false;
  if (behind_) return;
  const LaneRecord& record = *s_.lanes[lane];
  if (const auto held = held_of_class_.find(record.of_class); held != held_of_class_.end())
    for (const std::uint32_t slot : held->second) push_alone(lane, slot);
  if (mode_ == Mode::Full || holds_in_[record.partition] >= s_.params.promises) return;
  for (const auto& [reason, first] : class_of(record).by_reason)
    for (std::uint32_t slot = first; reason == Reason::None && slot != kNone; slot = s_.backlog.slot(slot).next)
      if (s_.backlog.slot(slot).state == Backlog::State::Queued) push_alone(lane, slot);
}

void Walk::all_join_again() {
  for (std::uint32_t l = 0; l < s_.lanes.size(); ++l) {
    if (!s_.lanes[l] || (cursors_[l].in_walk && !cursors_[l].cut) ||
        s_.lanes[l]->lane.reason(s_.profile) != Reason::None)
      continue;
    if (mode_ == Mode::Full || cursors_[l].in_walk || !s_.lanes[l]->lane.stays_full(s_.profile) ||
        has_newcomers(*s_.lanes[l]))
      join(l, &*last_);
  }
}

// ---- deciding

bool Walk::visit(const Item& item) {
  if (is_group(item)) return visit_group(item);
  if (comes_later(item)) {
    put_off(item);
    return true;
  }
  ++plan_.tested;
  const auto gains = s_.profile.gains().end();
  Lane& lane = s_.lanes[item.lane]->lane;
  bool fits_no_more = false, limited = false;
  if (!started(item.slot)) {
    const auto at = s_.planned.find(s_.backlog.slot(item.slot).job->id);
    PlannedStart* planned = at == s_.planned.end() ? nullptr : &at->second;
    if (behind_ && planned) {  // had its turn
      Cursor& cursor = cursors_[item.lane];
      ++cursor.at[cursor.group];
      push_next(item.lane);
      return true;
    }
    const Try outcome = try_to_start(item, planned);
    if (outcome == Try::Enough) return false;
    limited = outcome == Try::Limited;
    fits_no_more = outcome == Try::NoRoom;
    if (fits_no_more) plan_later(item, planned);
  }
  if (!item.alone) {
    const bool holds_left =
        mode_ == Mode::Full && !behind_ && holds_in_[s_.lanes[item.lane]->partition] < s_.params.promises &&
        may_be_planned(item);  // nor may those behind it
    if (limited || (fits_no_more && (!holds_left || lane.has_no_time(s_.profile)))) {
      leave(item.lane);
    } else {
      Cursor& cursor = cursors_[item.lane];
      ++cursor.at[cursor.group];
      push_next(item.lane);
    }
  }
  if (gains != s_.profile.gains().end()) all_join_again();
  return true;
}

// `planned` is its hold; null when it has none any more.
Walk::Try Walk::try_to_start(const Item& item, PlannedStart*& planned) {
  Lane& lane = s_.lanes[item.lane]->lane;
  const model::Job& job = *s_.backlog.slot(item.slot).job;
  while (!started(item.slot)) {
    const bool limited = limit_of(item.lane, tallies_) != Reason::None;
    if (limited || at_cap(job)) {
      give_back(planned);
      return limited ? Try::Limited : Try::Started;
    }
    auto shares = planned ? fit_without_hold(item, *planned) : lane.fit_now(s_.profile);
    if (shares.empty()) shares = lane.fit_beside(s_.profile, planned ? &planned->hold : nullptr);
    if (shares.empty()) return Try::NoRoom;
    if (plan_.starts.size() >= s_.params.max_starts) {
      plan_.more = true;
      return Try::Enough;
    }
    give_back(planned);
    if (!start(item, shares)) return Try::TooMuch;
  }
  return Try::Started;
}

// A job must not stand in its own way. Where it found no room even so, it finds none until some node gains.
std::vector<Share> Walk::fit_without_hold(const Item& item, PlannedStart& planned) {
  LaneRecord& record = *s_.lanes[item.lane];
  if (record.lane.has_entries() || s_.profile.heeds_users(record.lane.request()) ||
      !record.lane.request().places_freely())
    return record.lane.fit_now_without(s_.profile, planned.hold);
  const std::uint64_t now = s_.profile.gains().end();
  auto note = std::ranges::find(planned.no_room, record.partition, &std::pair<std::size_t, std::uint64_t>::first);
  if (note != planned.no_room.end() && !record.lane.can_use_gains(s_.profile, note->second)) {
    note->second = now;
    return {};
  }
  auto shares = record.lane.fit_now_without(s_.profile, planned.hold);
  if (!shares.empty() || !record.lane.request().licenses.empty()) return shares;  // licences come without nodes
  if (note == planned.no_room.end()) note = planned.no_room.insert(note, {record.partition, now});
  note->second = now;
  return {};
}

void Walk::give_back(PlannedStart*& planned) {
  if (!planned) return;
  s_.profile.remove(planned->hold);
  if (!planned->claim && !planned->follows) --holds_in_[planned->partition];
  s_.planned.erase(planned->job);
  planned = nullptr;
}

bool Walk::may_get_hold(const Item& item) const {
  const std::uint32_t holds = holds_in_[s_.lanes[item.lane]->partition];
  if (behind_ || holds >= s_.params.promises || (holds > 0 && !is_old(item.position.order))) return false;
  if (!may_be_planned(item)) return false;
  return mode_ == Mode::Full || s_.backlog.slot(item.slot).job->reason == Reason::None;
}

void Walk::plan_later(const Item& item, PlannedStart* planned) {
  Lane& lane = s_.lanes[item.lane]->lane;
  if (!planned) {
    if (!may_get_hold(item)) return;
    if (auto hold = lane.fit_later(s_.profile)) keep(item, *std::move(hold));
    return;
  }
  if (mode_ == Mode::Quick || planned->claim) return;
  // Planned in an earlier partition already: move only if it is sooner here.
  s_.profile.lift(planned->hold);
  auto sooner = lane.fit_after(s_.profile, now_);
  s_.profile.restore(planned->hold);
  if (!sooner || sooner->start >= planned->hold.start) return;
  give_back(planned);
  keep(item, *std::move(sooner));
}

void Walk::keep(const Item& item, Hold hold) {
  const model::Job& job = *s_.backlog.slot(item.slot).job;
  const LaneRecord& record = *s_.lanes[item.lane];
  PlannedStart planned{job.id, job.spec, job.time_limit, record.partition, std::move(hold), {}, {}};
  const auto [at, added] = s_.planned.insert_or_assign(job.id, std::move(planned));
  s_.profile.add(at->second.hold);
  held_of_class_[record.of_class].push_back(item.slot);
  if (++holds_in_[record.partition] == 1) put_off_all(record.partition);
  // It may yet start in another partition, whose lane may have left the walk.
  for (const std::uint32_t other : s_.lanes_of_class[record.of_class])
    if (other != item.lane && (!cursors_[other].in_walk || cursors_[other].cut) &&
        s_.lanes[other]->lane.reason(s_.profile) == Reason::None)
      push_alone(other, item.slot);
}

bool Walk::at_cap(const model::Job& job) const {
  if (!job.array_job || job.array_max_running == 0) return false;
  const auto more = array_starts_.find(job.array_job);
  return s_.backlog.running_tasks(job.array_job) + (more == array_starts_.end() ? 0 : more->second) >=
         job.array_max_running;
}

bool Walk::started(std::uint32_t slot) const {
  if (done_.empty()) return false;
  const auto at = done_.find(slot);
  return at != done_.end() && at->second.started;
}

std::vector<model::NodeGrant> Walk::grant_all(const Request& request, const std::vector<Share>& shares) {
  const Capacity& capacity = s_.profile.capacity();
  const Time end = request.end_of_run(now_);
  std::vector<model::NodeGrant> grants;
  grants.reserve(shares.size());
  const auto row_of = [&](const Share& share) { return s_.profile.least(share.node, now_, end); };
  const std::uint64_t rails = common_rails(request, capacity, shares, row_of);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    Amount* take = &rows_[i * capacity.width()];
    take_of_share(request, capacity, shares[i], rails, row_of(shares[i]), take);
    grants.push_back(grants_->grant(request, shares[i], take));
  }
  return grants;
}

bool Walk::start(const Item& item, const std::vector<Share>& shares) {
  const LaneRecord& record = *s_.lanes[item.lane];
  const Request& request = record.lane.chosen();
  const CoreSet* set = record.lane.beside();
  if (!grants_) grants_.emplace(s_.profile.capacity());
  auto allocation = std::make_shared<model::Allocation>();
  allocation->partition = (*s_.view.partitions)[record.partition].config.name;
  const Entered inside(s_.profile, record.lane.entry());
  if (record.lane.entry()) allocation->reservation = record.lane.entry()->name;
  rows_.resize(shares.size() * s_.profile.capacity().width());
  std::vector<model::NodeGrant> idle;  // of one beside others: what nobody has
  std::vector<std::vector<SharedCore>> beside;
  if (set) {
    beside = grant_beside(request, *set, shares, idle);
    allocation->nodes = with_cores(s_.profile.capacity(), idle, beside);
  } else {
    allocation->nodes = grant_all(request, shares);
  }
  number_tasks(request, allocation->nodes);
  const model::Job& job = *s_.backlog.slot(item.slot).job;
  TimeLimit limit;  // where it may vary
  const bool varies = request.least_limit.is_finite();
  if (varies) {
    // Beside others it was only looked at for as long as it runs at least.
    const Time until = set ? request.end_of_run(now_) : s_.profile.lasts(request, shares, rows_);
    limit = record.lane.limit_of_run(now_, until);
  }
  if (!count_start(job, allocation, limit)) {
    for (const model::NodeGrant& grant : set ? idle : allocation->nodes) grants_->give_back(grant, Grants::Gone::All);
    return false;
  }
  std::optional<Request> run;
  if (varies) run.emplace(request).limit = limit;
  const Request& runs = run ? *run : request;
  s_.profile.start(runs, shares, rows_);
  if (record.lane.shares_cores()) share_cores(*allocation, beside, runs.end_of_run(now_));
  Done& done = done_[item.slot];
  if (job.is_array_rest() && !done.task) done.task = job.array_pending->lowest();
  plan_.starts.push_back({job.id, done.task, std::move(allocation), limit});
  if (job.array_job && job.array_max_running > 0) ++array_starts_[job.array_job];
  if (done.task) done.task = job.array_pending->next_after(*done.task);
  done.started = !done.task;
  return true;
}

}  // namespace spur::sched
