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
#include "sched/naive_world_test.h"
#include "sched/plan.h"
#include "sched/priority.h"
#include "sched/request.h"

namespace spur::sched {

class Naive : NaiveWorld {
 public:
  Naive(const model::View& view, const Params& params, Time now)
      : NaiveWorld(view, now), params_(params), columns_(view) {}

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
  struct Offer {
    std::uint32_t node = 0;
    Amount tasks = 0;
    Amounts free;
    Amounts judged;  // by what best fit is judged: free now, or the whole node for later
  };
  struct Part {
    std::uint32_t node;
    Amount tasks;
    std::vector<Amount> job_gres;
  };
  struct Planned {
    Time from, to;
  };

  // ---- the queue
  std::vector<Record> queue() {
    std::vector<Record> records;
    const PriorityScale scale(view_);
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
                           scale.priority(*job, *partition, now_), static_cast<std::uint32_t>(left_[job->id]++)});
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
    size.features = {};
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

  // ---- one node
  bool allowed(const Request& request, std::uint32_t n) const {
    const auto& node = *nodes_[n].record;
    if (std::ranges::find(request.excluded, n) != request.excluded.end()) return false;
    if (static_cast<Amount>(node.hardware.tmp_disk_mib) < request.tmp_disk_mib) return false;
    std::size_t has = 0;
    for (const auto& name : request.features.names)
      if (std::ranges::find(node.active_features, name) != node.active_features.end()) ++has;
    return request.features.any ? has > 0 : has == request.features.names.size();
  }
  Amount gres_of(const GresNeed& need, const Amounts& free) const {
    Amount sum = 0;
    for (const auto column : need.columns) {
      const auto at = free.gres.find({columns_.gres_name(column), columns_.gres_type(column)});
      if (at != free.gres.end()) sum += at->second;
    }
    return sum;
  }
  Amount cpus_needed(const Request& request, const Node& node, Amount tasks) const {
    Amount cpus =
        std::max(request.cpus_per_task * (request.overcommit ? 1 : std::max<Amount>(tasks, 1)), request.min_cpus);
    while (cpus % node.unit != 0) ++cpus;
    return cpus;
  }
  // Counts upwards: do so many tasks fit, and one more?
  bool tasks_fit(const Request& request, const Node& node, const Amounts& free, Amount tasks) const {
    const Amount cpus = cpus_needed(request, node, tasks);
    if (cpus > free.cpu) return false;
    const std::string& partition = (*view_.partitions)[request.partition].config.name;
    if (!request.exclusive && free.partition_cpu.contains(partition) && cpus > free.partition_cpu.at(partition))
      return false;
    if (request.exclusive && (free.cpu != node.total.cpu || free.gres != node.total.gres)) return false;
    if (request.memory == MemoryNeed::PerNode && free.mem < request.memory_mib) return false;
    if (request.memory == MemoryNeed::WholeNode && free.mem < node.total.mem) return false;
    if (request.memory == MemoryNeed::PerCpu && free.mem < request.memory_mib * cpus) return false;
    for (const auto& need : request.gres_per_node)
      if (gres_of(need, free) < need.count) return false;
    for (const auto& need : request.gres_per_task)
      if (gres_of(need, free) < need.count * tasks) return false;
    for (const auto& need : request.gres_per_job)
      if (gres_of(need, free) < 1) return false;
    return true;
  }
  Amount most_tasks(const Request& request, const Node& node, const Amounts& free) const {
    if (!request.tasks_fixed)
      return tasks_fit(request, node, free, request.tasks_per_node) ? request.tasks_per_node : 0;
    Amount most = request.tasks;
    if (request.tasks_per_node) most = std::min<Amount>(most, request.tasks_per_node);
    Amount tasks = 0;
    while (tasks < most && tasks_fit(request, node, free, tasks + 1)) ++tasks;
    return tasks;
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

  std::vector<Part> choose_by_weight(const Request& request, const std::vector<Offer>& offers) {
    std::set<std::uint32_t> weights;
    for (const auto& offer : offers) weights.insert(nodes_[offer.node].record->weight);
    for (const auto weight : weights) {
      std::vector<Offer> allowed_now;
      for (const auto& offer : offers) {
        const bool required = std::ranges::find(request.required, offer.node) != request.required.end();
        if (required || nodes_[offer.node].record->weight <= weight) allowed_now.push_back(offer);
      }
      if (auto parts = choose(request, allowed_now); !parts.empty()) return parts;
    }
    return {};
  }

  // weight, GRES left over, CPUs left over, number
  std::tuple<std::uint32_t, Amount, Amount, std::uint32_t> fit(const Request& request, const Offer& offer,
                                                               Amount tasks,
                                                               const std::vector<Amount>& job_gres) const {
    const Node& node = nodes_[offer.node];
    Amount gres = offer.judged.gres_sum(), cpus = offer.judged.cpu - cpus_needed(request, node, tasks);
    for (const auto& need : request.gres_per_node) gres -= need.count;
    for (const auto& need : request.gres_per_task) gres -= need.count * std::max<Amount>(tasks, 1);
    for (std::size_t i = 0; i < job_gres.size(); ++i)
      gres -= std::min(gres_of(request.gres_per_job[i], offer.free), std::max<Amount>(job_gres[i], 1));
    return {node.record->weight, gres, request.least_loaded ? -cpus : cpus, offer.node};
  }

  std::vector<Part> choose(const Request& request, std::vector<Offer> offers) {
    if (offers.size() < request.min_nodes) return {};
    Amount wanted = request.min_nodes;
    if (request.spread) {
      Amount most = std::min<Amount>(static_cast<Amount>(offers.size()), request.max_nodes);
      if (request.tasks_fixed) most = std::min<Amount>(most, request.tasks);
      wanted = std::max(wanted, most);
    }
    if (wanted > request.max_nodes) return {};
    Amount tasks_left = request.tasks_fixed ? request.tasks : 0;
    std::vector<Amount> gres_left;
    for (const auto& need : request.gres_per_job) gres_left.push_back(need.count);
    std::vector<Offer> chosen;

    const auto after_next = [&] { return std::max<Amount>(0, wanted - static_cast<Amount>(chosen.size()) - 1); };
    const auto next_tasks = [&] {
      return request.tasks_fixed ? std::max<Amount>(0, tasks_left - after_next()) : request.tasks_per_node;
    };
    const auto next_gres = [&] {
      std::vector<Amount> next;
      for (const auto left : gres_left) next.push_back(std::max<Amount>(0, left - after_next()));
      return next;
    };
    const auto take = [&](std::size_t i) {
      const auto tasks = next_tasks();
      const auto gres = next_gres();
      if (request.tasks_fixed) tasks_left -= std::min(offers[i].tasks, tasks);
      for (std::size_t g = 0; g < gres.size(); ++g)
        gres_left[g] -= std::min(gres_of(request.gres_per_job[g], offers[i].free), gres[g]);
      chosen.push_back(offers[i]);
      offers.erase(offers.begin() + static_cast<std::ptrdiff_t>(i));
    };
    for (const auto n : request.required) {
      const auto at = std::ranges::find(offers, n, &Offer::node);
      if (at == offers.end()) return {};
      take(static_cast<std::size_t>(at - offers.begin()));
    }
    const auto open = [&] {
      return static_cast<Amount>(chosen.size()) < wanted || tasks_left > 0 ||
             std::ranges::any_of(gres_left, [](Amount left) { return left > 0; });
    };
    while (open()) {
      if (offers.empty() || chosen.size() >= request.max_nodes) return {};
      const auto tasks = next_tasks();
      const auto gres = next_gres();
      // Those that can take all of it come first, by best fit; then the roomiest.
      const auto rank = [&](const Offer& offer) {
        bool all = offer.tasks >= tasks;
        Amount room = 0;
        for (std::size_t g = 0; g < gres.size(); ++g) {
          const Amount has = gres_of(request.gres_per_job[g], offer.free);
          all = all && has >= gres[g];
          room += std::min(has, gres[g]);
        }
        const Amount useful = std::min(offer.tasks, tasks);
        return std::tuple(all ? 0 : 1, all ? 0 : -room, all ? 0 : -useful, fit(request, offer, useful, gres));
      };
      std::size_t best = 0;
      for (std::size_t i = 1; i < offers.size(); ++i)
        if (rank(offers[i]) < rank(offers[best])) best = i;
      take(best);
    }
    return lay_out(request, chosen);
  }

  std::vector<Part> lay_out(const Request& request, std::vector<Offer> chosen) {
    std::ranges::sort(chosen, {}, &Offer::node);
    std::vector<Part> parts;
    for (const auto& offer : chosen)
      parts.push_back({offer.node, request.tasks_fixed ? 0 : Amount{request.tasks_per_node},
                       std::vector<Amount>(request.gres_per_job.size())});
    // One for each while there are some; what remains goes to the first that have room (evenly on whole nodes).
    Amount tasks = request.tasks_fixed ? request.tasks : 0;
    for (std::size_t i = 0; i < parts.size() && tasks > 0; ++i) ++parts[i].tasks, --tasks;
    while (tasks > 0) {
      for (std::size_t i = 0; i < parts.size() && tasks > 0; ++i) {
        Amount more = std::min(tasks, chosen[i].tasks - parts[i].tasks);
        if (request.exclusive) more = std::min<Amount>(more, 1);
        parts[i].tasks += more;
        tasks -= more;
      }
    }
    for (std::size_t g = 0; g < request.gres_per_job.size(); ++g) {
      Amount left = request.gres_per_job[g].count;
      for (auto& part : parts)
        if (left > 0) ++part.job_gres[g], --left;
      for (std::size_t i = 0; i < parts.size() && left > 0; ++i) {
        const Amount more = std::min(left, gres_of(request.gres_per_job[g], chosen[i].free) - parts[i].job_gres[g]);
        parts[i].job_gres[g] += more;
        left -= more;
      }
    }
    return parts;
  }

  // What a part takes out of `free`.
  Amounts amounts_of(const Request& request, const Part& part, Amounts free) {
    const Node& node = nodes_[part.node];
    Amounts take;
    const Amount cpus = cpus_needed(request, node, part.tasks);
    take.cpu = request.exclusive ? node.total.cpu : cpus;
    const std::string& partition = (*view_.partitions)[request.partition].config.name;
    if (node.total.partition_cpu.contains(partition)) take.partition_cpu[partition] = take.cpu;
    if (consumable()) {
      if (request.memory == MemoryNeed::PerNode) take.mem = request.memory_mib;
      if (request.memory == MemoryNeed::WholeNode) take.mem = node.total.mem;
      if (request.memory == MemoryNeed::PerCpu) take.mem = request.memory_mib * cpus;
    }
    if (request.exclusive) {
      take.gres = node.total.gres;
      return take;
    }
    const auto take_gres = [&](const GresNeed& need, Amount count) {
      for (const auto column : need.columns)
        for (const Gres kind{columns_.gres_name(column), columns_.gres_type(column)};
             count > 0 && free.gres[kind] > 0; --count)
          ++take.gres[kind], --free.gres[kind];
    };
    for (const auto& need : request.gres_per_node) take_gres(need, need.count);
    for (const auto& need : request.gres_per_task) take_gres(need, need.count * std::max<Amount>(part.tasks, 1));
    for (std::size_t g = 0; g < part.job_gres.size(); ++g) take_gres(request.gres_per_job[g], part.job_gres[g]);
    return take;
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
      allocation->nodes.push_back(grant(part, take));
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
    starts_.push_back({job.id, task, std::move(allocation)});
  }
  model::NodeGrant grant(const Part& part, const Amounts& take) {
    Node& node = nodes_[part.node];
    model::NodeGrant grant;
    grant.node = NodeIndex(part.node);
    grant.tasks = static_cast<std::uint32_t>(part.tasks);
    grant.memory_mib = static_cast<std::uint64_t>(take.mem);
    for (Amount core = 0; core < node.total.cpu / node.unit && static_cast<Amount>(grant.cpus.size()) < take.cpu;
         ++core) {
      bool free = true;
      for (Amount cpu = core * node.unit; cpu < (core + 1) * node.unit; ++cpu)
        free = free && node.cpus_free.contains(static_cast<int>(cpu));
      for (Amount cpu = core * node.unit; free && cpu < (core + 1) * node.unit; ++cpu) {
        grant.cpus.push_back(static_cast<std::uint16_t>(cpu));
        node.cpus_free.erase(static_cast<int>(cpu));
      }
    }
    for (const auto& [kind, count] : take.gres) {
      if (count == 0) continue;
      model::DeviceGrant devices{kind.first, kind.second, {}};
      for (Amount i = 0; i < count; ++i) {
        auto& free = node.devices_free[kind];
        devices.indices.push_back(*free.begin());
        free.erase(free.begin());
      }
      grant.devices.push_back(std::move(devices));
    }
    return grant;
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
  Columns columns_;
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
