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

#include "sched/naive_groups_test.h"

namespace spur::sched {

class Naive : NaiveGroups {
 public:
  Naive(const model::View& view, const Params& params, Time now) : NaiveGroups(view, params, now) {}

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
      if (at_array_limit(job) || limits_.of(job, *record.partition) != model::Reason::None) return true;
      Request chosen;
      const auto parts = place_now(record, *request, chosen);
      if (parts.empty()) break;
      if (starts_.size() >= params_.max_starts) {
        if (old) plan_again(job.id, *old);
        return !(more_ = true);
      }
      if (!start(record, chosen, *request, parts)) return true;
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
      if (!limits_.may_be_planned(job, *record.partition, record.priority)) return true;
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
      if (limits_.told(*record.job, *record.partition) != model::Reason::None) continue;
      if (record.job->het_job) {
        foretell_group(record, records, expected);
        continue;
      }
      std::optional<Found> best;
      const Record* where = nullptr;
      for (const Record* other : records_of(*record.job, records)) {
        const auto request = request_of(*other);
        if (never_runs(*other, request) != model::Reason::None) continue;
        if (limits_.told(*other->job, *other->partition) != model::Reason::None) continue;
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
    if (at_array_limit(job) || limits_.of(job, *record.partition) != model::Reason::None) return false;
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
    beside_most_ = 0;
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
        else if (const Reason limit = limits_.told(*record.job, *record.partition); limit != Reason::None)
          reason = limit;
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
      if (limits_.told(*record.job, *record.partition) != model::Reason::None) continue;
      if (record.job->het_job && !licensed_group(*record.job)) continue;
      first.try_emplace(record.partition->config.name, record.job->id);
    }
    return first;
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
};

}  // namespace spur::sched
