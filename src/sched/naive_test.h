// SPDX-License-Identifier: Apache-2.0
// The scheduler again, as plainly as it can be written: no classes, no caches, no incremental anything. Every job is
// tried at every moment on every node, and what is free then is summed up from a list of everything that anybody
// holds. It shares with the real one only the reading of a specification (request.h); the engine must agree with it
// in every detail.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sched/eligibility.h"
#include "sched/naive_choice_test.h"
#include "sched/plan.h"
#include "sched/priority.h"
#include "sched/request.h"
#include "sched/turn.h"

namespace spur::sched {

// A hold and whose it is, as the naive scheduler keeps it from one call to the next.
struct NaiveHold {
  model::JobSpec spec;  // as it was then
  TimeLimit limit;
  std::string partition;
  Time from, to;
  std::vector<NaiveWorld::Held> nodes;
  std::vector<NaiveWorld::HeldLicenses> licenses;
  std::string reservation{};
  std::shared_ptr<const model::Allocation> claim = {};  // what it is made of, if the job has one
  bool follows = false;                                 // of a component behind the first
};
using NaiveHolds = std::map<JobId, NaiveHold>;

class Naive : NaiveChoice {
 public:
  Naive(const model::View& view, const Params& params, Time now) : NaiveChoice(view, now), params_(params) {}

  // The full cycle.
  Plan run() {
    Plan plan = walk();
    plan.full = true;
    return plan;
  }
  // The quick answer: the holds stay, as far as they still make sense.
  Plan respond(const NaiveHolds& old) {
    quick_ = true;
    NaiveHolds standing;
    for (const auto& [id, hold] : old)
      if (still_stands(id, hold)) standing.emplace(id, hold);
    for (const auto& [id, hold] : standing) {
      const model::Job& job = **view_.pending.find(id.value);
      const auto all = components(job);
      if (std::ranges::all_of(all, [&](const model::Job* one) { return one && standing.contains(one->id); }))
        plan_again(id, hold);
    }
    return walk();
  }
  const NaiveHolds& holds() const { return holds_; }

 private:
  struct Record {
    const model::Job* job;
    const model::Partition* partition;
    std::uint32_t tier, priority;
    std::int64_t order;
    std::uint32_t nth;
  };
  Plan walk() {
    const auto records = queue();
    bool going = visit_claims(records);
    for (const Record& record : records)
      if (going && !comes_later(record)) going = visit(record);
    if (params_.backfill == model::BackfillOrder::Smallest) {
      behind_ = true;
      for (const Record& record : in_order_of_backfill(records))
        if (going && !holds_.contains(record.job->id)) going = visit(record);
    }
    Plan plan;
    plan.starts = std::move(starts_);
    plan.more = more_;
    const auto reasons = why_all_wait(records);
    const auto expected = foretell(records);
    view_.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
      if (own_reason(*job, now_) == model::Reason::BeginTime)
        plan.wake_at = is_set(plan.wake_at) ? std::min(plan.wake_at, begin_of(*job)) : begin_of(*job);
      if (own_reason(*job, now_) == model::Reason::None)
        if (const Time relaxes = relaxes_at(view_, *job); relaxes > now_ && relaxes != Time::max())
          plan.wake_at = is_set(plan.wake_at) ? std::min(plan.wake_at, relaxes) : relaxes;
      if (more_ || gone_.contains(job->id)) return;
      Wait wait{job->id, reasons.at(job->id), {}};
      wait.promised = holds_.contains(job->id);
      const NaiveHold* hold = wait.promised                ? &holds_[job->id]
                              : expected.contains(job->id) ? &expected.at(job->id)
                                                           : nullptr;
      if (hold && hold->from < kNever) {
        wait.expected_start = hold->from;
        for (const auto& held : hold->nodes) wait.nodes.push_back(NodeIndex(held.node));
        std::ranges::sort(wait.nodes);
      }
      if (wait.reason != job->reason || is_set(wait.expected_start)) plan.waits.push_back(wait);
    });
    return plan;
  }

  // ---- the policy
  std::size_t holds_in(const model::Partition& partition) const {
    std::size_t count = 0;
    for (const auto& [id, hold] : holds_)
      count += !hold.claim && !hold.follows && hold.partition == partition.config.name;
    return count;
  }
  bool is_old(const Record& record) const {
    const Time since = PriorityScale(view_).ages_since(record.order);
    return params_.patience == Duration{0} || (is_set(since) && now_ - since > params_.patience);
  }
  bool comes_later(const Record& record) const {
    return params_.backfill == model::BackfillOrder::Smallest && holds_in(*record.partition) > 0 && !is_old(record) &&
           !holds_.contains(record.job->id);
  }
  std::vector<Record> in_order_of_backfill(std::vector<Record> records) const {
    const PriorityScale scale(view_);
    const auto key = [&](const Record& r) {
      const auto request = request_of(r);
      std::int64_t size = request ? size_in(view_, *r.partition, *request) : 0;
      if (r.job->het_job) size = size_of_group(*r.job);
      return std::tuple(-std::int64_t{r.tier}, -scale.rank(*r.job, *r.partition).points, size, r.order, r.job->id,
                        r.nth);
    };
    std::ranges::stable_sort(records, {}, key);
    return records;
  }

  // ---- the queue
  static std::vector<const model::Partition*> partitions_of(const model::View& view, const model::Job& job) {
    std::vector<const model::Partition*> found;
    if (job.spec->partitions.empty() && model::default_partition(view))
      found.push_back(model::default_partition(view));
    for (const auto& name : job.spec->partitions)
      if (const auto* partition = model::find_partition(view, name)) found.push_back(partition);
    return found;
  }
  std::vector<Record> queue() {
    std::vector<Record> records;
    const PriorityScale scale(view_);
    view_.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
      if (own_reason(*job, now_) != model::Reason::None) return;
      if (job->is_array_rest()) tasks_[job->id] = *job->array_pending;
      // A heterogeneous job is in the queue once, as its first component, and only if all of it may run.
      if (job->het_job && (job->is_het_follower() || blocked_by(*job) != model::Reason::None)) return;
      std::uint32_t nth = 0;
      for (const auto* partition : partitions_of(view_, *job)) {
        const Record record{job.get(),
                            partition,
                            partition->config.priority_tier,
                            scale.priority(*job, *partition, now_),
                            scale.rank(*job, *partition).order,
                            nth++};
        if (!job->het_job || never_runs(record, request_of(record)) == model::Reason::None) records.push_back(record);
      }
    });
    std::ranges::stable_sort(records, [](const Record& a, const Record& b) {
      return std::tuple(b.tier, b.priority, a.order, a.job->id, a.nth) <
             std::tuple(a.tier, a.priority, b.order, b.job->id, b.nth);
    });
    return records;
  }
  Result<Request> request_of(const Record& record) const {
    const auto number = static_cast<std::size_t>(record.partition - view_.partitions->data());
    auto request = make_request(view_, columns_, *record.job->spec, number, record.job->time_limit);
    if (request && relaxes_at(view_, *record.job) <= now_) request->most_leaves = 0;
    return request;
  }
  // The requests to try: for the whole limit, then for the shortest run that will do.
  static std::vector<Request> versions(const Request& request) {
    std::vector<Request> list{request};
    if (request.least_limit.is_finite()) {
      list.push_back(request);
      list.back().limit = TimeLimit::of_minutes(std::max(1u, request.least_limit.minutes_value()));
    }
    return list;
  }
  bool at_array_limit(const model::Job& job) {
    return job.array_job && job.array_max_running && array_running_[job.array_job] >= job.array_max_running;
  }

  bool visit(const Record& record) {
    if (record.job->het_job) return visit_group(record);
    const model::Job& job = *record.job;
    const auto request = request_of(record);
    if (gone_.contains(job.id) || never_runs(record, request) != model::Reason::None) return true;
    const auto held = holds_.find(job.id);
    std::optional<NaiveHold> old;
    if (held != holds_.end()) old = held->second;
    unplan(job.id);
    while (!gone_.contains(job.id)) {
      if (at_array_limit(job)) return true;
      Request chosen;
      const auto parts = place_now(record, *request, chosen);
      if (parts.empty()) break;
      if (starts_.size() >= params_.max_starts) {
        if (old) plan_again(job.id, *old);
        return !(more_ = true);
      }
      start(record, chosen, *request, parts);
      old.reset();
    }
    if (gone_.contains(job.id)) return true;
    if (quick_ && (old || job.reason != model::Reason::None)) {
      if (old) plan_again(job.id, *old);
      return true;
    }
    if (old && old->claim) return plan_again(job.id, *old), true;
    if (!old) {
      const std::size_t holds = holds_in(*record.partition);
      if (behind_ || holds >= params_.promises || (holds > 0 && !is_old(record))) return true;
    }
    const auto later = earliest(record, *request);
    if (later && (!old || later->when < old->from))
      plan_later(record, *later);
    else if (old)
      plan_again(job.id, *old);
    return true;
  }

  // ---- when those who are promised nothing can expect to start, in the order of the queue
  NaiveHolds foretell(const std::vector<Record>& records) {
    NaiveHolds expected;
    const std::size_t promised = holds_.size();
    for (const Record& record : records) {
      if (quick_ || more_ || promised + expected.size() >= params_.forecasts) break;
      const JobId id = record.job->id;
      if (gone_.contains(id) || holds_.contains(id) || expected.contains(id) || at_array_limit(*record.job)) continue;
      if (never_runs(record, request_of(record)) != model::Reason::None) continue;
      if (record.job->het_job) {
        foretell_group(record, records, expected);
        continue;
      }
      std::optional<Found> best;
      const Record* where = nullptr;
      for (const Record* other : records_of(*record.job, records)) {
        const auto request = request_of(*other);
        if (never_runs(*other, request) != model::Reason::None) continue;
        auto later = earliest(*other, *request);
        if (!later || (best && later->when >= best->when)) continue;
        best = std::move(later);
        where = other;
      }
      if (!best) continue;
      const auto holds = holds_;
      plan_later(*where, *best);
      expected[id] = holds_.at(id);
      holds_ = holds;
    }
    return expected;
  }

  static std::vector<const Record*> records_of(const model::Job& job, const std::vector<Record>& records) {
    std::vector<const Record*> found;
    for (const Record& record : records)
      if (record.job == &job) found.push_back(&record);
    std::ranges::sort(found, {}, [](const Record* r) { return std::pair(~r->tier, r->nth); });
    return found;
  }

  // ---- those for whom others had to go come first, for what was promised to them
  bool visit_claims(const std::vector<Record>& records) {
    std::map<std::pair<Time, JobId>, const model::Job*> claimed;
    for (const Record& record : records)
      if (record.job->claim && !at_array_limit(*record.job))
        claimed[{record.job->claimed_from, record.job->id}] = record.job;
    std::vector<const Record*> open;
    for (const auto& [key, job] : claimed) {
      const Record* record = record_of_claim(*job, records);
      const auto held = holds_.find(job->id);
      if (!record && held != holds_.end() && held->second.claim) unplan(job->id);
      if (!record) continue;
      open.push_back(record);
      keep_claim(*record, now_ + seconds(leaving_.contains(job->id) ? 1 : 0));
    }
    const auto waits = [&](const Record* record) { return leaving_.contains(record->job->id); };
    std::erase_if(open, [&](const Record* record) { return !waits(record) && !more_ && start_claim(*record); });
    for (const Record* record : open) keep_claim(*record, now_);
    std::erase_if(open, [&](const Record* record) {
      if (waits(record) && !more_) start_claim(*record);
      return waits(record);
    });
    while (!open.empty() && !more_) {
      const model::Job& last = *open.back()->job;
      if (last.claimed_from + view_.config->kill_wait + seconds(120) < now_) unplan(last.id);
      open.pop_back();
      std::erase_if(open, [&](const Record* record) { return !more_ && start_claim(*record); });
    }
    return !more_;
  }
  const Record* record_of_claim(const model::Job& job, const std::vector<Record>& records) {
    for (const auto& grant : job.claim->nodes)
      if (!nodes_[grant.node.value].record->usable()) return nullptr;
    for (const Record& record : records)
      if (record.job == &job && record.partition->config.name == job.claim->partition &&
          never_runs(record, request_of(record)) == model::Reason::None)
        return &record;
    return nullptr;
  }
  bool start_claim(const Record& record) {
    const model::Job& job = *record.job;
    if (at_array_limit(job)) return false;
    const auto request = request_of(record);
    const NaiveHold old = holds_.at(job.id);
    unplan(job.id);
    const auto parts = place_claim(*request, *job.claim);
    if (!parts.empty() && starts_.size() < params_.max_starts) {
      start(record, *request, *request, parts);
      return true;
    }
    plan_again(job.id, old);
    return more_ = !parts.empty();
  }
  std::vector<Part> place_claim(const Request& request, const model::Allocation& claim) {
    entry_ = nullptr;
    const Time end = request.end_of_run(now_);
    if (!licensed(request, now_, end)) return {};
    std::vector<Offer> offers;
    for (const auto& grant : claim.nodes) {
      const Amounts free = free_during(grant.node.value, now_, end);
      const Amount tasks = most_tasks(request, nodes_[grant.node.value], free);
      if (tasks == 0) return {};
      offers.push_back({grant.node.value, tasks, free, free});
    }
    return choose_by_weight(request, offers);
  }
  void keep_claim(const Record& record, Time soonest) {
    unplan(record.job->id);
    const Request request = *request_of(record);
    model::Job as_started = *record.job;
    as_started.allocation = as_started.claim;
    const JobId job = record.job->id;
    const Time from = std::max(record.job->claimed_from, soonest), to = request.end_of_run(from);
    NaiveHold hold{*record.job->spec, record.job->time_limit, record.partition->config.name, from, to, {}, {}, {},
                   record.job->claim};
    for (const auto& grant : record.job->claim->nodes)
      hold.nodes.push_back({grant.node.value, from, to, of_grant(as_started, grant), job});
    hold.licenses.push_back({from, to, {request.licenses.begin(), request.licenses.end()}, job});
    plan_again(job, hold);
  }

  // ---- why everyone who is left waits, seen from the end of the walk
  std::map<JobId, model::Reason> why_all_wait(const std::vector<Record>& records) {
    using model::Reason;
    std::map<JobId, Reason> reasons;
    std::set<JobId> could_run;
    std::map<std::string, JobId> first = quick_ ? told_to_be_first(records) : std::map<std::string, JobId>{};
    view_.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
      const Reason own = own_reason(*job, now_);
      reasons[job->id] = own != Reason::None                  ? own
                         : partitions_of(view_, *job).empty() ? Reason::PartitionConfig
                                                              : Reason::None;
    });
    for (const Record& record : records) {
      const JobId id = record.job->id;
      if (gone_.contains(id)) continue;
      if (record.job->het_job) {
        if (licensed_group(*record.job)) first.try_emplace(record.partition->config.name, id);
        continue;
      }
      const auto request = request_of(record);
      Reason reason = never_runs(record, request);
      if (reason == Reason::None) {
        if (at_array_limit(*record.job))
          reason = Reason::JobArrayTaskLimit;
        else if (!licensed_now(record, *request))
          reason = Reason::Licenses;
        else
          reason = first.try_emplace(record.partition->config.name, id).first->second == id ? Reason::Resources
                                                                                            : Reason::Priority;
        if (could_run.insert(id).second) reasons[id] = reason;  // the first partition in which it can run speaks
      } else if (reasons[id] == Reason::None) {
        reasons[id] = reason;
      }
    }
    view_.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
      if (job->het_job && own_reason(*job, now_) == Reason::None && !gone_.contains(job->id))
        reasons[job->id] = reason_in_group(*job, first);
    });
    return reasons;
  }

  // In a quick call, whoever waited for resources goes on doing so.
  std::map<std::string, JobId> told_to_be_first(const std::vector<Record>& records) {
    std::map<std::string, JobId> first;
    std::set<JobId> could_run;
    for (const Record& record : records) {
      const auto request = request_of(record);
      if (gone_.contains(record.job->id) || never_runs(record, request) != model::Reason::None) continue;
      if (!could_run.insert(record.job->id).second || record.job->reason != model::Reason::Resources) continue;
      if (at_array_limit(*record.job) || !licensed_now(record, *request)) continue;
      if (record.job->het_job && !licensed_group(*record.job)) continue;
      first.try_emplace(record.partition->config.name, record.job->id);
    }
    return first;
  }

  // ---- why never
  model::Reason never_runs(const Record& record, const Result<Request>& request) {
    using model::Reason;
    const auto& config = record.partition->config;
    if (config.state == model::PartitionState::Down) return Reason::PartitionDown;
    if (config.state == model::PartitionState::Inactive) return Reason::PartitionInactive;
    if (request && request->min_nodes > request->max_nodes) return Reason::PartitionNodeLimit;
    const TimeLimit limit = request ? request->limit : limit_in(config, record.job->time_limit);
    if (config.max_time.is_finite() &&
        (!limit.is_finite() || limit.minutes_value() > config.max_time.minutes_value()))
      return Reason::PartitionTimeLimit;
    if (!request) return Reason::BadConstraints;
    if (!ends_in_time(versions(*request).back(), now_)) return Reason::DeadLine;
    if (open_to(*record.job).empty()) return Reason::Reservation;
    if (!place_on_empty(record, *request, true).empty()) return Reason::None;
    Request size = *request;
    size.memory = MemoryNeed::None;
    size.tmp_disk_mib = 0;
    size.min_sockets = size.min_cores = size.min_threads = 0;
    size.features = {};
    size.contiguous = false;
    size.most_leaves = size.segment = 0;
    size.required = size.excluded = size.task_nodes = {};
    size.gres_per_node = size.gres_per_task = size.gres_per_job = {};
    if (place_on_empty(record, size, false).empty()) return Reason::PartitionConfig;
    if (place_on_empty(record, *request, false).empty()) return Reason::BadConstraints;
    return Reason::ReqNodeNotAvail;
  }
  static bool ends_in_time(const Request& request, Time start) {
    if (!is_set(request.deadline)) return true;
    if (!request.limit.is_finite()) return start < request.deadline;
    return request.end_of_run(start) <= request.deadline;
  }

  // ---- all nodes
  std::vector<Part> place_on_empty(const Record& record, const Request& request, bool usable_only) {
    std::vector<Offer> offers;
    for (const auto index : record.partition->nodes) {
      const Node& node = nodes_[index.value];
      if ((usable_only && !node.record->usable()) || !allowed(request, index.value)) continue;
      if (const Amount tasks = most_tasks(request, node, node.total))
        offers.push_back({index.value, tasks, node.total, node.total});
    }
    return choose_by_weight(request, offers);
  }
  // In each reservation for the whole limit, then for a short run.
  std::vector<Part> place_now(const Record& record, const Request& request, Request& chosen) {
    for (const auto& one : open_to(*record.job))
      for (const Request& version : versions(request)) {
        entry_ = one.entry;
        chosen = version;
        if (!ends_in_time(version, now_)) continue;
        if (auto parts = place_here(record, version, now_); !parts.empty()) return parts;
      }
    return {};
  }
  std::vector<Reservations::Open> open_to(const model::Job& job) const {
    return Reservations(view_, now_, reservation_horizon(now_)).open_now(*job.spec);
  }
  bool licensed_now(const Record& record, const Request& request) {
    const auto open = open_to(*record.job);
    return std::ranges::any_of(open, [&](const auto& one) {
      entry_ = one.entry;
      return licensed(request, now_, versions(request).back().end_of_run(now_));
    });
  }
  std::vector<Part> place_here(const Record& record, const Request& request, Time when) {
    const Time end = request.end_of_run(when);
    if (!licensed(request, when, end)) return {};
    std::vector<Offer> offers;
    for (const auto index : record.partition->nodes) {
      const Node& node = nodes_[index.value];
      if (!node.record->usable() || !allowed(request, index.value)) continue;
      if (Reservations::confined(entry_) && !Reservations::reserved_part(entry_, index)) continue;
      if (taken_by_others(request, index.value, when, end)) continue;
      Amounts free = free_during(index.value, when, end);
      if (const Amount tasks = most_tasks(request, node, free)) offers.push_back({index.value, tasks, free, free});
    }
    return choose_by_weight(request, offers);
  }

  // ---- heterogeneous jobs
  struct Found {
    Time when;
    std::vector<Part> parts;
    Request request;
    const model::Reservation* entry;
  };
  struct Placed {
    Record record;
    Found found;
  };
  // Null where a component does not wait. None for any other job.
  std::vector<const model::Job*> components(const model::Job& job) const {
    std::vector<const model::Job*> found;
    for (std::uint32_t i = 0; job.het_job && i < job.het_size; ++i) {
      const auto* other = view_.pending.find(job.het_job.value + i);
      found.push_back(other && (*other)->het_job == job.het_job ? other->get() : nullptr);
    }
    return found;
  }
  // Where a component can run, the partition that speaks for it first.
  std::vector<Record> places_of(const model::Job& job) {
    std::vector<Record> found;
    std::uint32_t nth = 0;
    for (const auto* partition : partitions_of(view_, job)) {
      const Record record{&job, partition, partition->config.priority_tier, 0, 0, nth++};
      if (never_runs(record, request_of(record)) == model::Reason::None) found.push_back(record);
    }
    std::ranges::stable_sort(found, {}, [](const Record& r) { return ~r.tier; });
    return found;
  }
  model::Reason never_in_any(const model::Job& job) {
    if (!places_of(job).empty()) return model::Reason::None;
    std::vector<Record> all;
    for (const auto* partition : partitions_of(view_, job))
      all.push_back({&job, partition, partition->config.priority_tier, 0, 0, 0});
    std::ranges::stable_sort(all, {}, [](const Record& r) { return ~r.tier; });
    return all.empty() ? model::Reason::PartitionConfig : never_runs(all[0], request_of(all[0]));
  }
  // What keeps the whole from starting, whatever is free.
  model::Reason blocked_by(const model::Job& job) {
    using model::Reason;
    for (const model::Job* one : components(job)) {
      if (!one) return Reason::Cleaning;
      if (own_reason(*one, now_) != Reason::None) return own_reason(*one, now_);
    }
    for (const model::Job* one : components(job))
      if (const Reason never = never_in_any(*one); never != Reason::None) return never;
    return Reason::None;
  }
  bool licensed_group(const model::Job& job) {
    return std::ranges::all_of(components(job), [&](const model::Job* one) {
      const Record place = places_of(*one).front();
      return licensed_now(place, *request_of(place));
    });
  }
  std::int64_t size_of_group(const model::Job& job) const {
    std::int64_t size = 0;
    for (const model::Job* one : components(job)) {
      const Record place = const_cast<Naive*>(this)->places_of(*one).front();
      size += size_in(view_, *place.partition, *request_of(place));
    }
    return size;
  }
  model::Reason reason_in_group(const model::Job& job, const std::map<std::string, JobId>& first) {
    using model::Reason;
    if (const Reason never = never_in_any(job); never != Reason::None) return never;
    if (const Reason blocked = blocked_by(job); blocked != Reason::None) return blocked;
    if (!licensed_group(job)) return Reason::Licenses;
    const auto at = first.find(places_of(*components(job)[0]).front().partition->config.name);
    return at != first.end() && at->second == job.het_job ? Reason::Resources : Reason::Priority;
  }
  // One component after the other, each on other nodes than those before; whoever finds no room comes first next
  // time.
  std::vector<Placed> place_group(const Record& first, Time when) {
    const auto all = components(*first.job);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < all.size(); ++i) order.push_back(i);
    std::set<std::size_t> came_first;
    while (true) {
      std::map<std::size_t, Placed> placed;
      std::set<std::uint32_t> taken;
      for (const std::size_t i : order) {
        const auto places = i == 0 ? std::vector<Record>{first} : places_of(*all[i]);
        for (const Record& place : places)
          if (!placed.contains(i))
            if (auto found = place_component(place, when, taken)) placed.emplace(i, Placed{place, *found});
        if (!placed.contains(i)) break;
        const Found& found = placed.at(i).found;
        for (const Part& part : found.parts) taken.insert(part.node);
        held_licenses_.push_back({when,
                                  found.request.end_of_run(when),
                                  {found.request.licenses.begin(), found.request.licenses.end()},
                                  kTrial});
      }
      std::erase_if(held_licenses_, [](const HeldLicenses& held) { return held.planned_for == kTrial; });
      if (placed.size() == all.size()) {
        std::vector<Placed> list;
        for (auto& [i, one] : placed) list.push_back(std::move(one));
        return list;
      }
      const std::size_t failed = placed.size();
      if (failed == 0 || !came_first.insert(order[failed]).second) return {};
      const std::size_t component = order[failed];
      order.erase(order.begin() + static_cast<std::ptrdiff_t>(failed));
      order.insert(order.begin(), component);
    }
  }
  std::optional<Found> place_component(const Record& place, Time when, const std::set<std::uint32_t>& taken) {
    const auto request = request_of(place);
    for (const auto& one : open_to(*place.job)) {
      if (when >= one.until) continue;
      for (Request version : versions(*request)) {
        if (!ends_in_time(version, when)) continue;
        Request other = version;
        std::set<std::uint32_t> excluded(taken);
        excluded.insert(version.excluded.begin(), version.excluded.end());
        other.excluded.assign(excluded.begin(), excluded.end());
        entry_ = one.entry;
        if (auto parts = place_here(place, other, when); !parts.empty())
          return Found{when, std::move(parts), std::move(version), entry_};
      }
    }
    return std::nullopt;
  }
  std::vector<Placed> earliest_group(const Record& first) {
    bool licenses = false;
    for (const model::Job* one : components(*first.job)) licenses |= !one->spec->licenses.empty();
    std::set<Time> moments{now_};
    for (const auto& held : held_)
      if (nodes_[held.node].record->usable()) moments.insert(held.to);
    for (const auto& held : held_licenses_)
      if (licenses && !held.what.empty()) moments.insert(held.from), moments.insert(held.to);
    for (const Time t : moments) {
      if (t < now_) continue;
      if (auto placed = place_group(first, t); !placed.empty()) return placed;
    }
    return {};
  }
  bool visit_group(const Record& record) {
    const model::Job& leader = *record.job;
    if (gone_.contains(leader.id)) return true;
    std::vector<std::pair<JobId, NaiveHold>> old;
    for (const model::Job* one : components(leader))
      if (holds_.contains(one->id)) old.emplace_back(one->id, holds_.at(one->id));
    const auto restore = [&] {
      for (const auto& [id, hold] : old) plan_again(id, hold);
      return true;
    };
    for (const auto& [id, hold] : old) unplan(id);
    const auto placed = place_group(record, now_);
    if (!placed.empty()) {
      if (!starts_.empty() && starts_.size() + placed.size() > params_.max_starts) {
        restore();
        return !(more_ = true);
      }
      for (const auto& [where, found] : placed) {
        entry_ = found.entry;
        start(where, found.request, *request_of(where), found.parts);
        starts_.back().group = leader.id;
      }
      return true;
    }
    if (quick_ && (!old.empty() || leader.reason != model::Reason::None)) return restore();
    if (old.empty()) {
      const std::size_t holds = holds_in(*record.partition);
      if (behind_ || holds >= params_.promises || (holds > 0 && !is_old(record))) return true;
    }
    const auto later = earliest_group(record);
    if (later.empty() || (!old.empty() && later[0].found.when >= old[0].second.from)) return restore();
    for (const auto& [where, found] : later) {
      plan_later(where, found);
      holds_[where.job->id].follows = where.job->is_het_follower();
    }
    return true;
  }
  void foretell_group(const Record& record, const std::vector<Record>& records, NaiveHolds& expected) {
    std::vector<Placed> best;
    for (const Record* first : records_of(*record.job, records)) {
      auto later = earliest_group(*first);
      if (!later.empty() && (best.empty() || later[0].found.when < best[0].found.when)) best = std::move(later);
    }
    const auto holds = holds_;
    for (const auto& [where, found] : best) {
      plan_later(where, found);
      expected[where.job->id] = holds_.at(where.job->id);
    }
    holds_ = holds;
  }

  // ---- starting and planning
  void start(const Record& record, const Request& request, const Request& whole, const std::vector<Part>& parts) {
    const model::Job& job = *record.job;
    Time end = request.end_of_run(now_);
    auto allocation = std::make_shared<model::Allocation>();
    allocation->partition = record.partition->config.name;
    if (entry_) allocation->reservation = entry_->name;
    std::vector<Held> taken;
    for (const auto& part : parts) {
      const Amounts take = amounts_of(request, part, free_during(part.node, now_, end));
      taken.push_back({part.node, now_, end, take, {}, allocation->reservation, request.user, request.user_alone});
      allocation->nodes.push_back(grant(request, part, take));
    }
    number(request, allocation->nodes);
    TimeLimit limit;
    if (request.least_limit.is_finite()) {
      limit = request.limit == whole.limit ? whole.limit : limit_until(whole, now_, lasts(whole, taken));
      Request run = request;
      run.limit = limit;
      end = run.end_of_run(now_);
      for (auto& one : taken) one.to = end;
    }
    held_.insert(held_.end(), taken.begin(), taken.end());
    held_licenses_.push_back({now_, end, {request.licenses.begin(), request.licenses.end()}, {}});
    std::optional<std::uint32_t> task;
    if (job.is_array_rest()) {
      task = tasks_[job.id].lowest();
      tasks_[job.id].erase(*task);
    }
    if (job.array_job) ++array_running_[job.array_job];
    if (!task || tasks_[job.id].empty()) gone_.insert(job.id);
    starts_.push_back({job.id, task, std::move(allocation), limit});
  }
  // Until when all of that stays free.
  Time lasts(const Request& request, const std::vector<Held>& taken) const {
    std::set<Time> moments;
    for (const auto& held : held_) moments.insert({held.from, held.to});
    for (const auto& held : held_licenses_) moments.insert({held.from, held.to});
    for (const Time t : moments) {
      if (t <= now_) continue;
      bool there = licensed(request, t, t + Duration(1));
      for (const auto& one : taken)
        there = there && has_at_least(free_at(one.node, t), one.what) &&
                !taken_by_others(request, one.node, t, t + Duration(1));
      if (!there) return is_set(request.deadline) ? std::min(t, request.deadline) : t;
    }
    return is_set(request.deadline) ? request.deadline : Time::max();
  }
  static bool has_at_least(const Amounts& free, const Amounts& take) {
    const auto enough = [](const auto& have, const auto& want) {
      for (const auto& [key, n] : want)
        if (n > 0 && (!have.contains(key) || have.at(key) < n)) return false;
      return true;
    };
    return (take.cpu <= 0 || free.cpu >= take.cpu) && (take.mem <= 0 || free.mem >= take.mem) &&
           enough(free.socket, take.socket) && enough(free.device, take.device) && enough(free.gres, take.gres) &&
           enough(free.partition_cpu, take.partition_cpu);
  }
  // One task, or a plane of them, for each node in turn, as long as the node has room.
  static void number(const Request& request, std::vector<model::NodeGrant>& nodes) {
    using Nodes = model::Distribution::Nodes;
    const auto way = request.distribution.nodes;
    std::uint32_t task = 0;
    for (const auto n : request.task_nodes)
      for (std::uint32_t i = 0; i < request.lot; ++i, ++task)
        for (auto& grant : nodes)
          if (grant.node.value == n && nodes.size() > 1) grant.task_ids.push_back(task);
    if ((way != Nodes::Cyclic && way != Nodes::Plane) || nodes.size() == 1) return;
    const std::uint32_t step = way == Nodes::Cyclic ? 1 : std::max(1u, request.distribution.plane_size);
    std::uint32_t all = 0, next = 0;
    for (const auto& grant : nodes) all += grant.tasks;
    while (next < all)
      for (auto& grant : nodes)
        for (std::uint32_t i = 0; i < step && grant.task_ids.size() < grant.tasks; ++i)
          grant.task_ids.push_back(next++);
  }

  // In whichever reservation and for whichever limit it is the soonest.
  std::optional<Found> earliest(const Record& record, const Request& request) {
    std::optional<Found> later;
    for (const auto& one : open_to(*record.job)) {
      std::optional<Found> here;
      for (const Request& version : versions(request))
        if (auto found = earliest(record, version, one); found && (!here || found->when < here->when)) here = found;
      if (here && (!later || here->when < later->when)) later = here;
    }
    return later;
  }
  std::optional<Found> earliest(const Record& record, const Request& request, const Reservations::Open& open) {
    entry_ = open.entry;
    std::set<Time> moments{now_};
    for (const auto& held : held_)
      if (nodes_[held.node].record->usable()) moments.insert(held.to);
    for (const auto& held : held_licenses_)
      if (!request.licenses.empty() && !held.what.empty()) moments.insert(held.from), moments.insert(held.to);
    for (const Time t : moments) {
      if (!ends_in_time(request, t) || t >= open.until) return std::nullopt;
      if (auto parts = place_here(record, request, t); !parts.empty())
        return Found{t, std::move(parts), request, entry_};
    }
    return std::nullopt;
  }
  void plan_later(const Record& record, const Found& found) {
    const auto& [when, parts, request, entry] = found;
    const JobId job = record.job->id;
    entry_ = entry;
    const Time end = request.end_of_run(when);
    NaiveHold hold{
        *record.job->spec, record.job->time_limit, record.partition->config.name, when, end, {}, {}, {}, {}};
    if (entry_) hold.reservation = entry_->name;
    for (const auto& part : parts)
      hold.nodes.push_back({part.node, when, end, amounts_of(request, part, free_during(part.node, when, end)), job,
                            hold.reservation, request.user, request.user_alone});
    hold.licenses.push_back({when, end, {request.licenses.begin(), request.licenses.end()}, job});
    plan_again(job, hold);
  }
  // What should have begun by now is kept from now on.
  void plan_again(JobId job, const NaiveHold& hold) {
    holds_[job] = hold;
    for (auto held : hold.nodes) held.from = std::max(held.from, now_), held_.push_back(held);
    for (auto held : hold.licenses) held.from = std::max(held.from, now_), held_licenses_.push_back(held);
  }
  void unplan(JobId job) {
    holds_.erase(job);
    std::erase_if(held_, [&](const Held& held) { return held.planned_for == job; });
    std::erase_if(held_licenses_, [&](const HeldLicenses& held) { return held.planned_for == job; });
  }
  bool still_stands(JobId id, const NaiveHold& hold) {
    const auto* job = view_.pending.find(id.value);
    if (!job || own_reason(**job, now_) != model::Reason::None || at_array_limit(**job)) return false;
    if (hold.to <= now_ || (*job)->time_limit != hold.limit || !same_wish(*(*job)->spec, hold.spec)) return false;
    if (hold.claim && hold.claim != (*job)->claim) return false;
    for (const auto* partition : partitions_of(view_, **job)) {
      const Record record{job->get(), partition, 0, 0, 0, 0};
      if (partition->config.name == hold.partition)
        return never_runs(record, request_of(record)) == model::Reason::None &&
               std::ranges::any_of(open_to(**job), [&](const auto& one) {
                 return (one.entry ? one.entry->name : "") == hold.reservation && hold.from < one.until;
               });
    }
    return false;
  }

  static constexpr JobId kTrial{0xfffffff0u};
  const Params& params_;
  NaiveHolds holds_;
  bool quick_ = false;
  bool behind_ = false;
  std::map<JobId, IndexSet> tasks_;
  std::set<JobId> gone_;
  std::vector<Start> starts_;
  bool more_ = false;
};

}  // namespace spur::sched
