// SPDX-License-Identifier: Apache-2.0
// The scheduler again, as plainly as it can be written: no classes, no caches, no incremental anything. Every job is
// tried at every moment on every node, and what is free then is summed up from a list of everything that anybody
// holds. It shares with the real one only the reading of a specification (request.h); plan() must agree with it in
// every detail.
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
#include "sched/request.h"

namespace spur::sched {

class Naive : NaiveChoice {
 public:
  Naive(const model::View& view, const Params& params, Time now) : NaiveChoice(view, now), params_(params) {}

  Plan run() {
    for (Record& record : queue()) {
      if (!visit(record)) break;
      --left_[record.job->id];
    }
    Plan plan;
    plan.starts = std::move(starts_);
    plan.more = more_;
    view_.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
      if (reason_[job->id] == model::Reason::BeginTime && own_reason(*job, now_) != model::Reason::None)
        plan.wake_at = is_set(plan.wake_at) ? std::min(plan.wake_at, begin_of(*job)) : begin_of(*job);
      if (gone_.contains(job->id) || left_[job->id] > 0) return;
      Wait wait{job->id, reason_[job->id], {}};
      if (holds_.contains(job->id) && holds_[job->id].from < kNever) wait.expected_start = holds_[job->id].from;
      if (wait.reason != job->reason || is_set(wait.expected_start)) plan.waits.push_back(wait);
    });
    return plan;
  }

 private:
  struct Record {
    const model::Job* job;
    const model::Partition* partition;
    std::uint32_t tier, priority, nth;
  };
  struct Planned {
    Time from, to;
  };

  // ---- the queue
  std::vector<Record> queue() {
    std::vector<Record> records;
    view_.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
      reason_[job->id] = own_reason(*job, now_);
      if (reason_[job->id] != model::Reason::None) return;
      if (job->is_array_rest()) tasks_[job->id] = *job->array_pending;
      std::vector<std::string> names = job->spec->partitions;
      if (names.empty() && model::default_partition(view_))
        names.push_back(model::default_partition(view_)->config.name);
      reason_[job->id] = model::Reason::PartitionConfig;
      for (const auto& name : names) {
        const auto* partition = model::find_partition(view_, name);
        if (!partition) continue;
        reason_[job->id] = model::Reason::None;
        records.push_back({job.get(), partition, partition->config.priority_tier,
                           priority_at(*job, *view_.config, now_), static_cast<std::uint32_t>(left_[job->id]++)});
      }
    });
    std::ranges::stable_sort(records, [](const Record& a, const Record& b) {
      return std::tuple(b.tier, b.priority, a.job->id, a.nth) < std::tuple(a.tier, a.priority, b.job->id, b.nth);
    });
    return records;
  }

  bool visit(const Record& record) {
    const model::Job& job = *record.job;
    if (gone_.contains(job.id)) return true;
    const auto number = static_cast<std::size_t>(record.partition - view_.partitions->data());
    const auto request = make_request(view_, columns_, *job.spec, number, job.time_limit);
    const model::Reason never = never_runs(record, request);
    if (never != model::Reason::None) {
      if (reason_[job.id] == model::Reason::None) reason_[job.id] = never;
      return true;
    }
    std::optional<Planned> old;
    std::vector<Held> old_held;
    if (holds_.contains(job.id)) {
      old = holds_[job.id];
      for (const auto& held : held_)
        if (held.planned_for == job.id) old_held.push_back(held);
    }
    const auto old_licenses = licenses_planned_for(job.id);
    unplan(job.id);
    while (!gone_.contains(job.id)) {
      if (job.array_job && job.array_max_running && array_running_[job.array_job] >= job.array_max_running) {
        reason_[job.id] = model::Reason::JobArrayTaskLimit;
        return true;
      }
      const auto parts = place(record, *request, now_);
      if (parts.empty()) break;
      if (starts_.size() >= params_.max_starts) return !(more_ = true);
      start(record, *request, parts);
      old.reset();
    }
    if (gone_.contains(job.id)) return true;
    wait(record, *request);
    if (!old && holds_.size() >= params_.reservations) return true;
    const auto later = earliest(record, *request);
    if (later && (!old || later->first < old->from)) {
      plan_later(job.id, *request, later->first, later->second);
    } else if (old) {
      holds_[job.id] = *old;
      held_.insert(held_.end(), old_held.begin(), old_held.end());
      held_licenses_.insert(held_licenses_.end(), old_licenses.begin(), old_licenses.end());
    }
    return true;
  }

  void wait(const Record& record, const Request& request) {
    using model::Reason;
    Reason reason = Reason::Resources;
    if (!licensed(request, now_, request.end_of_run(now_)))
      reason = Reason::Licenses;
    else if (const JobId first = first_waits_[record.partition->config.name]; first && !gone_.contains(first))
      reason = Reason::Priority;
    else
      first_waits_[record.partition->config.name] = record.job->id;
    const Reason was = reason_[record.job->id];
    if (was != Reason::Resources && was != Reason::Priority && was != Reason::Licenses &&
        was != Reason::JobArrayTaskLimit)
      reason_[record.job->id] = reason;
  }

  // ---- why never
  model::Reason never_runs(const Record& record, const Result<Request>& request) {
    using model::Reason;
    const auto& config = record.partition->config;
    if (config.state == model::PartitionState::Down) return Reason::PartitionDown;
    if (config.state == model::PartitionState::Inactive) return Reason::PartitionInactive;
    if (request && request->min_nodes > request->max_nodes) return Reason::PartitionNodeLimit;
    const TimeLimit limit = limit_in(config, record.job->time_limit);
    if (config.max_time.is_finite() &&
        (!limit.is_finite() || limit.minutes_value() > config.max_time.minutes_value()))
      return Reason::PartitionTimeLimit;
    if (!request) return Reason::BadConstraints;
    if (!ends_in_time(*request, now_)) return Reason::DeadLine;
    Request size = *request;
    size.memory = MemoryNeed::None;
    size.tmp_disk_mib = 0;
    size.min_sockets = size.min_cores = size.min_threads = 0;
    size.features = {};
    size.contiguous = false;
    size.most_leaves = size.segment = 0;
    size.required = size.excluded = {};
    size.gres_per_node = size.gres_per_task = size.gres_per_job = {};
    if (place_on_empty(record, size, false).empty()) return Reason::PartitionConfig;
    if (place_on_empty(record, *request, false).empty()) return Reason::BadConstraints;
    return place_on_empty(record, *request, true).empty() ? Reason::ReqNodeNotAvail : Reason::None;
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
  std::vector<Part> place(const Record& record, const Request& request, Time when) {
    const Time end = request.end_of_run(when);
    if (!licensed(request, when, end)) return {};
    std::vector<Offer> offers;
    for (const auto index : record.partition->nodes) {
      const Node& node = nodes_[index.value];
      if (!node.record->usable() || !allowed(request, index.value)) continue;
      Amounts free = free_during(index.value, when, end);
      if (const Amount tasks = most_tasks(request, node, free))
        offers.push_back({index.value, tasks, free, when == now_ ? free : node.total});
    }
    return choose_by_weight(request, offers);
  }

  // ---- starting and planning
  void start(const Record& record, const Request& request, const std::vector<Part>& parts) {
    const model::Job& job = *record.job;
    const Time end = request.end_of_run(now_);
    auto allocation = std::make_shared<model::Allocation>();
    allocation->partition = record.partition->config.name;
    std::vector<Held> taken;
    for (const auto& part : parts) {
      const Amounts take = amounts_of(request, part, free_during(part.node, now_, end));
      taken.push_back({part.node, now_, end, take, {}});
      allocation->nodes.push_back(grant(request, part, take));
    }
    number(request, allocation->nodes);
    held_.insert(held_.end(), taken.begin(), taken.end());
    held_licenses_.push_back({now_, end, {request.licenses.begin(), request.licenses.end()}, {}});
    std::optional<std::uint32_t> task;
    if (job.is_array_rest()) {
      task = tasks_[job.id].lowest();
      tasks_[job.id].erase(*task);
    }
    if (job.array_job) ++array_running_[job.array_job];
    if (!task || tasks_[job.id].empty()) gone_.insert(job.id);
    starts_.push_back({job.id, task, std::move(allocation)});
  }
  // One task, or a plane of them, for each node in turn, as long as the node has room.
  static void number(const Request& request, std::vector<model::NodeGrant>& nodes) {
    using Nodes = model::Distribution::Nodes;
    const auto way = request.distribution.nodes;
    if ((way != Nodes::Cyclic && way != Nodes::Plane) || nodes.size() == 1) return;
    const std::uint32_t step = way == Nodes::Cyclic ? 1 : std::max(1u, request.distribution.plane_size);
    std::uint32_t all = 0, next = 0;
    for (const auto& grant : nodes) all += grant.tasks;
    while (next < all)
      for (auto& grant : nodes)
        for (std::uint32_t i = 0; i < step && grant.task_ids.size() < grant.tasks; ++i)
          grant.task_ids.push_back(next++);
  }

  std::optional<std::pair<Time, std::vector<Part>>> earliest(const Record& record, const Request& request) {
    std::set<Time> moments{now_};
    for (const auto& held : held_) moments.insert(held.to);
    for (const auto& held : held_licenses_) moments.insert(held.to);
    for (const Time t : moments) {
      if (!ends_in_time(request, t)) return std::nullopt;
      if (auto parts = place(record, request, t); !parts.empty()) return std::pair(t, std::move(parts));
    }
    return std::nullopt;
  }
  void plan_later(JobId job, const Request& request, Time when, const std::vector<Part>& parts) {
    const Time end = request.end_of_run(when);
    std::vector<Held> taken;
    for (const auto& part : parts)
      taken.push_back({part.node, when, end, amounts_of(request, part, free_during(part.node, when, end)), job});
    held_.insert(held_.end(), taken.begin(), taken.end());
    held_licenses_.push_back({when, end, {request.licenses.begin(), request.licenses.end()}, job});
    holds_[job] = {when, end};
  }
  void unplan(JobId job) {
    holds_.erase(job);
    std::erase_if(held_, [&](const Held& held) { return held.planned_for == job; });
    std::erase_if(held_licenses_, [&](const HeldLicenses& held) { return held.planned_for == job; });
  }
  std::vector<HeldLicenses> licenses_planned_for(JobId job) const {
    std::vector<HeldLicenses> found;
    for (const auto& held : held_licenses_)
      if (held.planned_for == job) found.push_back(held);
    return found;
  }

  const Params& params_;
  std::map<JobId, Planned> holds_;
  std::map<JobId, model::Reason> reason_;
  std::map<JobId, IndexSet> tasks_;
  std::map<JobId, int> left_;  // records of the job not visited yet
  std::set<JobId> gone_;
  std::map<std::string, JobId> first_waits_;  // by partition
  std::vector<Start> starts_;
  bool more_ = false;
};

}  // namespace spur::sched
