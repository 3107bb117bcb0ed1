// SPDX-License-Identifier: Apache-2.0
// The naive scheduler's view of one job: what it asks for, where it can never run, where it fits now, when it will,
// and what starting or planning it takes away from the others.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sched/eligibility.h"
#include "sched/naive_beside_test.h"
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

class NaivePlace : protected NaiveBeside {
 protected:
  NaivePlace(const model::View& view, const Params& params, Time now) : NaiveBeside(view, now), params_(params) {}

  struct Record {
    const model::Job* job;
    const model::Partition* partition;
    std::uint32_t tier, priority;
    std::int64_t order;
    std::uint32_t nth;
  };
  struct Found {
    Time when;
    std::vector<Part> parts;
    Request request;
    const model::Reservation* entry;
  };

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

  // ---- what it asks for
  static std::vector<const model::Partition*> partitions_of(const model::View& view, const model::Job& job) {
    std::vector<const model::Partition*> found;
    if (job.spec->partitions.empty() && model::default_partition(view))
      found.push_back(model::default_partition(view));
    for (const auto& name : job.spec->partitions)
      if (const auto* partition = model::find_partition(view, name)) found.push_back(partition);
    return found;
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

  // ---- why never
  model::Reason never_runs(const Record& record, const Result<Request>& request) {
    using model::Reason;
    const auto& config = record.partition->config;
    if (config.state == model::PartitionState::Down) return Reason::PartitionDown;
    if (config.state == model::PartitionState::Inactive) return Reason::PartitionInactive;
    if (request && request->min_nodes > request->max_nodes) return Reason::PartitionNodeLimit;
    const TimeLimit limit = request ? request->limit : limit_in(config, record.job->time_limit);
    const model::Qos* qos = model::find_qos(view_, record.job->spec->qos);
    const bool any_time = request && qos && (qos->flags & model::kQosPartitionTimeLimit);
    if (!any_time && config.max_time.is_finite() &&
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
    on_empty_ = true;
    auto parts = choose_by_weight(request, offers);
    on_empty_ = false;
    return parts;
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
    for (const auto& one : open_to(*record.job))
      for (const Request& version : versions(request)) {
        entry_ = one.entry;
        chosen = version;
        if (auto parts = place_beside(record, version); !parts.empty()) return parts;
      }
    return {};
  }
  std::size_t jobs_per_core(const Record& record) const {
    return model::jobs_per_core(record.partition->config, *record.job->spec);
  }
  Sharer as_sharer(const Record& record, std::uint32_t node) const {
    return {node, record.partition->config.name, entry_ ? entry_->name : "", {}, {}};
  }
  // Among others, on cores with as few jobs as possible.
  std::vector<Part> place_beside(const Record& record, const Request& request) {
    const Time end = request.end_of_run(now_);
    if (request.exclusive || !ends_in_time(request, now_) || !licensed(request, now_, end)) return {};
    for (std::size_t most = 2; most <= jobs_per_core(record); ++most) {
      std::vector<Offer> offers;
      bool some = false;
      for (const auto index : record.partition->nodes) {
        const Node& node = nodes_[index.value];
        if (!node.record->usable() || !allowed(request, index.value)) continue;
        if (Reservations::confined(entry_) && !Reservations::reserved_part(entry_, index)) continue;
        if (taken_by_others(request, index.value, now_, end)) continue;
        const Sharer who = as_sharer(record, index.value);
        const bool shared = !cores_beside(who).empty();
        some = some || shared;
        const Amounts free = shared ? free_beside(who, end, most) : free_during(index.value, now_, end);
        if (const Amount tasks = most_tasks(request, node, free)) offers.push_back({index.value, tasks, free, free});
      }
      auto parts = some ? choose_by_weight(request, offers) : std::vector<Part>{};
      beside_most_ = most;
      if (!parts.empty()) return parts;
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
    beside_most_ = 0;
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

  // ---- starting and planning
  // False: over a limit by what it would get.
  bool start(const Record& record, const Request& request, const Request& whole, const std::vector<Part>& parts) {
    const model::Job& job = *record.job;
    Time end = request.end_of_run(now_);
    const auto before = nodes_;
    auto allocation = std::make_shared<model::Allocation>();
    allocation->partition = record.partition->config.name;
    if (entry_) allocation->reservation = entry_->name;
    std::vector<Held> taken, longer;
    std::vector<std::set<model::CpuNumber>> shared;
    const auto free_on = [&](std::uint32_t node) {
      return beside_most_ ? free_beside(as_sharer(record, node), end, beside_most_) : free_during(node, now_, end);
    };
    const auto rails = rails_of(parts, free_on);
    for (const auto& part : parts) {
      Amounts take = amounts_of(request, part, rails, free_on(part.node));
      const auto cores = beside_most_ ? take_beside(as_sharer(record, part.node), end, beside_most_, take)
                                      : std::map<Amount, Core>{};
      taken.push_back({part.node, now_, end, take, {}, allocation->reservation, request.user, request.user_alone});
      allocation->nodes.push_back(grant(request, part, take));
      add_cores(part.node, cores, allocation->nodes.back(), longer);
    }
    for (Held& held : longer) {
      held.reservation = allocation->reservation;
      held.user = request.user;
      held.user_alone = request.user_alone;
    }
    number(request, allocation->nodes);
    TimeLimit limit;
    if (request.least_limit.is_finite()) {
      limit = request.limit == whole.limit ? whole.limit
              : beside_most_               ? limit_until(whole, now_, deadline_or(whole, end))
                                           : limit_until(whole, now_, lasts(whole, taken));
      Request run = request;
      run.limit = limit;
      end = run.end_of_run(now_);
      for (auto& one : taken) one.to = end;
    }
    for (auto& one : longer) one.to = end;
    if (!job.het_job && limits_.of(job, *allocation, limit) != model::Reason::None) {
      nodes_ = before;
      return false;
    }
    limits_.started(job, *allocation, limit);
    held_.insert(held_.end(), taken.begin(), taken.end());
    for (const auto& one : longer)
      if (one.from < one.to) held_.push_back(one);
    if (jobs_per_core(record) > 1 && !request.exclusive)
      for (const auto& grant : allocation->nodes) {
        Sharer who = as_sharer(record, grant.node.value);
        who.cpus.insert(grant.cpus.begin(), grant.cpus.end());
        who.until = end;
        sharers_.push_back(who);
      }
    held_licenses_.push_back({now_, end, {request.licenses.begin(), request.licenses.end()}, {}});
    std::optional<std::uint32_t> task;
    if (job.is_array_rest()) {
      task = tasks_[job.id].lowest();
      tasks_[job.id].erase(*task);
    }
    if (job.array_job) ++array_running_[job.array_job];
    if (!task || tasks_[job.id].empty()) gone_.insert(job.id);
    starts_.push_back({job.id, task, std::move(allocation), limit});
    return true;
  }
  static Time deadline_or(const Request& request, Time end) {
    return is_set(request.deadline) ? std::min(end, request.deadline) : end;
  }
  // Cores that others have, too: what they would give back they do not as long as the job is there.
  void add_cores(std::uint32_t n, const std::map<Amount, Core>& cores, model::NodeGrant& grant,
                 std::vector<Held>& longer) const {
    const Node& node = nodes_[n];
    for (const auto& [first, core] : cores) {
      Held held{n, core.until, {}, {}, {}};
      held.what.cpu = node.unit;
      if (node.cpus_per_socket) held.what.socket[static_cast<int>(first / node.cpus_per_socket)] = node.unit;
      longer.push_back(held);
      for (Amount cpu = first; cpu < first + node.unit; ++cpu)
        grant.cpus.push_back(static_cast<model::CpuNumber>(cpu));
    }
    std::ranges::sort(grant.cpus);
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
    const auto rails = rails_of(parts, [&](std::uint32_t node) { return free_during(node, when, end); });
    for (const auto& part : parts)
      hold.nodes.push_back({part.node, when, end, amounts_of(request, part, rails, free_during(part.node, when, end)),
                            job, hold.reservation, request.user, request.user_alone});
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

  static constexpr JobId kTrial{0xfffffff0u};
  const Params& params_;
  NaiveHolds holds_;
  std::size_t beside_most_ = 0;  // so many jobs on a core where the last place found was beside others; else 0
  bool quick_ = false;
  bool behind_ = false;
  std::map<JobId, IndexSet> tasks_;
  std::set<JobId> gone_;
  std::vector<Start> starts_;
  bool more_ = false;
};

}  // namespace spur::sched
