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
#include "sched/naive_world_test.h"
#include "sched/plan.h"
#include "sched/request.h"

namespace spur::sched {

// A hold and whose it is, as the naive scheduler keeps it from one call to the next.
struct NaiveHold {
  model::JobSpec spec;  // as it was then
  TimeLimit limit;
  std::string partition;
  Time from, to;
  std::vector<NaiveWorld::Held> nodes;
  std::vector<NaiveWorld::HeldLicenses> licenses;
};
using NaiveHolds = std::map<JobId, NaiveHold>;

class Naive : NaiveWorld {
 public:
  Naive(const model::View& view, const Params& params, Time now)
      : NaiveWorld(view, now), params_(params), columns_(view) {}

  // The full cycle.
  Plan run() {
    Plan plan = walk();
    plan.full = true;
    return plan;
  }
  // The quick answer: the holds stay, as far as they still make sense.
  Plan respond(const NaiveHolds& old) {
    quick_ = true;
    for (const auto& [id, hold] : old)
      if (still_stands(id, hold)) plan_again(id, hold);
    return walk();
  }
  const NaiveHolds& holds() const { return holds_; }

 private:
  struct Record {
    const model::Job* job;
    const model::Partition* partition;
    std::uint32_t tier, priority;
    Time since;
    std::uint32_t nth;
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

  Plan walk() {
    const auto records = queue();
    for (const Record& record : records)
      if (!visit(record)) break;
    Plan plan;
    plan.starts = std::move(starts_);
    plan.more = more_;
    const auto reasons = why_all_wait(records);
    view_.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
      if (own_reason(*job, now_) == model::Reason::BeginTime)
        plan.wake_at = is_set(plan.wake_at) ? std::min(plan.wake_at, begin_of(*job)) : begin_of(*job);
      if (more_ || gone_.contains(job->id)) return;
      Wait wait{job->id, reasons.at(job->id), {}};
      if (holds_.contains(job->id) && holds_[job->id].from < kNever) wait.expected_start = holds_[job->id].from;
      if (wait.reason != job->reason || is_set(wait.expected_start)) plan.waits.push_back(wait);
    });
    return plan;
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
    const auto& config = *view_.config;
    view_.pending.for_each([&](std::uint32_t, const model::JobPtr& job) {
      if (own_reason(*job, now_) != model::Reason::None) return;
      if (job->is_array_rest()) tasks_[job->id] = *job->array_pending;
      const Time since = is_set(job->accrue) ? job->accrue : job->eligible;
      std::uint32_t nth = 0;
      for (const auto* partition : partitions_of(view_, *job))
        records.push_back({job.get(), partition, partition->config.priority_tier, priority_at(*job, config, now_),
                           config.age_weight > 0 ? since : Time{}, nth++});
    });
    std::ranges::stable_sort(records, [](const Record& a, const Record& b) {
      return std::tuple(b.tier, b.priority, a.since, a.job->id, a.nth) <
             std::tuple(a.tier, a.priority, b.since, b.job->id, b.nth);
    });
    return records;
  }
  Result<Request> request_of(const Record& record) const {
    const auto number = static_cast<std::size_t>(record.partition - view_.partitions->data());
    return make_request(view_, columns_, *record.job->spec, number, record.job->time_limit);
  }
  bool at_array_limit(const model::Job& job) {
    return job.array_job && job.array_max_running && array_running_[job.array_job] >= job.array_max_running;
  }

  bool visit(const Record& record) {
    const model::Job& job = *record.job;
    const auto request = request_of(record);
    if (gone_.contains(job.id) || never_runs(record, request) != model::Reason::None) return true;
    const auto held = holds_.find(job.id);
    std::optional<NaiveHold> old;
    if (held != holds_.end()) old = held->second;
    unplan(job.id);
    while (!gone_.contains(job.id)) {
      if (at_array_limit(job)) return true;
      const auto parts = place(record, *request, now_);
      if (parts.empty()) break;
      if (starts_.size() >= params_.max_starts) {
        if (old) plan_again(job.id, *old);
        return !(more_ = true);
      }
      start(record, *request, parts);
      old.reset();
    }
    if (gone_.contains(job.id)) return true;
    if (quick_ && (old || job.reason != model::Reason::None)) {
      if (old) plan_again(job.id, *old);
      return true;
    }
    if (!old && holds_.size() >= params_.reservations) return true;
    const auto later = earliest(record, *request);
    if (later && (!old || later->first < old->from))
      plan_later(record, *request, later->first, later->second);
    else if (old)
      plan_again(job.id, *old);
    return true;
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
      const auto request = request_of(record);
      Reason reason = never_runs(record, request);
      if (reason == Reason::None) {
        if (at_array_limit(*record.job))
          reason = Reason::JobArrayTaskLimit;
        else if (!licensed(*request, now_, request->end_of_run(now_)))
          reason = Reason::Licenses;
        else
          reason = first.try_emplace(record.partition->config.name, id).first->second == id ? Reason::Resources
                                                                                            : Reason::Priority;
        if (could_run.insert(id).second) reasons[id] = reason;  // the first partition in which it can run speaks
      } else if (reasons[id] == Reason::None) {
        reasons[id] = reason;
      }
    }
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
      if (at_array_limit(*record.job) || !licensed(*request, now_, request->end_of_run(now_))) continue;
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
  bool wanted(const GresNeed& need, const std::string& name, const std::string& type) const {
    for (const auto id : need.gres)
      if (columns_.gres_name(id) == name && columns_.gres_type(id) == type) return true;
    return false;
  }
  // Free of a need: devices that nobody uses, or a count; of shares, the most that one device has.
  Amount gres_of(const GresNeed& need, const Node& node, const Amounts& free) const {
    Amount sum = 0;
    for (const auto& [kind, count] : free.gres)
      if (!need.is_shares() && wanted(need, kind.first, kind.second)) sum += count;
    for (const auto& [name, device] : node.devices) {
      if (!wanted(need, name.first, device.type)) continue;
      if (!need.is_shares())
        sum += free.device.at(name) == node.total.device.at(name);
      else if (node.shares == need.shares_of)
        sum = std::max(sum, free.device.at(name));
    }
    return sum;
  }
  // Shares for one task after the other.
  bool shares_fit(const Request& request, const GresNeed& need, const Node& node, Amounts free, Amount tasks) const {
    for (; tasks > 0; --tasks) {
      bool found = false;
      for (auto& [name, left] : free.device) {
        if (found || node.shares != need.shares_of || !wanted(need, name.first, node.devices.at(name).type)) continue;
        if (left < need.count) continue;
        found = true;
        left -= request.one_task_per_device ? left : need.count;
      }
      if (!found) return false;
    }
    return true;
  }
  Amount gpus_of(const Request& request, const std::vector<Amount>& job_gres) const {
    Amount gpus = 0;
    for (std::size_t i = 0; i < job_gres.size(); ++i)
      if (request.gres_per_job[i].is_gpu) gpus += job_gres[i];
    return gpus;
  }
  // What an offer has for the i-th need per job, with CPUs and memory for it.
  Amount job_gres_of(const Request& request, std::size_t i, const Node& node, const Amounts& free) const {
    Amount most = gres_of(request.gres_per_job[i], node, free);
    std::vector<Amount> job_gres(request.gres_per_job.size());
    for (; most > 0 && request.gres_per_job[i].is_gpu; --most) {
      job_gres[i] = most;
      const bool memory = request.memory != MemoryNeed::PerGpu || free.mem >= request.memory_mib * most;
      if (memory && cpus_fit(request, free, cpus_needed(request, node, 1, job_gres))) break;
    }
    return most;
  }
  Amount cpus_needed(const Request& request, const Node& node, Amount tasks,
                     const std::vector<Amount>& job_gres = {}) const {
    Amount cpus =
        std::max(request.cpus_per_task * (request.overcommit ? 1 : std::max<Amount>(tasks, 1)), request.min_cpus);
    cpus = std::max(cpus, request.cpus_per_gpu * gpus_of(request, job_gres));
    while (cpus % node.unit != 0) ++cpus;
    return cpus;
  }
  // Counts upwards: do so many tasks fit, and one more?
  bool tasks_fit(const Request& request, const Node& node, const Amounts& free, Amount tasks) const {
    const Amount cpus = cpus_needed(request, node, tasks);
    if (!cpus_fit(request, free, cpus)) return false;
    if (request.exclusive &&
        (free.cpu != node.total.cpu || free.gres != node.total.gres || free.device != node.total.device))
      return false;
    if (request.memory == MemoryNeed::PerNode && free.mem < request.memory_mib) return false;
    if (request.memory == MemoryNeed::WholeNode && free.mem < node.total.mem) return false;
    if (request.memory == MemoryNeed::PerTask && free.mem < request.memory_mib * tasks) return false;
    for (const auto& need : request.gres_per_node)
      if (gres_of(need, node, free) < need.count) return false;
    for (const auto& need : request.gres_per_task)
      if (need.is_shares() ? !shares_fit(request, need, node, free, tasks)
                           : gres_of(need, node, free) < need.count * tasks)
        return false;
    for (std::size_t i = 0; i < request.gres_per_job.size(); ++i)
      if (job_gres_of(request, i, node, free) < 1) return false;
    return true;
  }
  bool cpus_fit(const Request& request, const Amounts& free, Amount cpus) const {
    if (cpus > free.cpu) return false;
    const std::string& partition = (*view_.partitions)[request.partition].config.name;
    if (!request.exclusive && free.partition_cpu.contains(partition) && cpus > free.partition_cpu.at(partition))
      return false;
    return request.memory != MemoryNeed::PerCpu || free.mem >= request.memory_mib * cpus;
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
        offers.push_back({index.value, tasks, free, free});
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

  // Whether shares would come from a device that nobody uses.
  Amount begins(const GresNeed& need, const Node& node, const Amounts& free) const {
    for (const auto& [name, left] : free.device)
      if (node.shares == need.shares_of && wanted(need, name.first, node.devices.at(name).type) &&
          left < node.total.device.at(name) && left >= need.count)
        return 0;
    return 1;
  }
  // weight, GRES left over, CPUs left over, number
  std::tuple<std::uint32_t, Amount, Amount, std::uint32_t> fit(const Request& request, const Offer& offer,
                                                               Amount tasks,
                                                               const std::vector<Amount>& job_gres) const {
    const Node& node = nodes_[offer.node];
    std::vector<Amount> here;
    for (std::size_t i = 0; i < job_gres.size(); ++i)
      here.push_back(std::min(job_gres_of(request, i, node, offer.free), std::max<Amount>(job_gres[i], 1)));
    const Amount cpus = offer.judged.cpu - cpus_needed(request, node, tasks, here);
    Amount gres = 0;
    for (const auto& [kind, count] : offer.judged.gres) gres += count;
    for (const auto& [name, free] : offer.judged.device) gres += free == node.total.device.at(name);
    for (const auto& need : request.gres_per_node)
      gres -= need.is_shares() ? begins(need, node, offer.judged) : need.count;
    for (const auto& need : request.gres_per_task)
      gres -= need.is_shares() ? 0 : need.count * std::max<Amount>(tasks, 1);
    for (std::size_t i = 0; i < here.size(); ++i) gres -= request.gres_per_job[i].is_shares() ? 0 : here[i];
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
        gres_left[g] -= std::min(job_gres_of(request, g, nodes_[offers[i].node], offers[i].free), gres[g]);
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
          const Amount has = job_gres_of(request, g, nodes_[offer.node], offer.free);
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
        const Amount more =
            std::min(left, job_gres_of(request, g, nodes_[chosen[i].node], chosen[i].free) - parts[i].job_gres[g]);
        parts[i].job_gres[g] += more;
        left -= more;
      }
    }
    return parts;
  }

  // What a part takes out of `free`.
  Amounts amounts_of(const Request& request, const Part& part, const Amounts& free) {
    const Node& node = nodes_[part.node];
    Amounts take;
    const Amount cpus = cpus_needed(request, node, part.tasks, part.job_gres);
    take.cpu = request.exclusive ? node.total.cpu : cpus;
    const std::string& partition = (*view_.partitions)[request.partition].config.name;
    if (node.total.partition_cpu.contains(partition)) take.partition_cpu[partition] = take.cpu;
    const Amount tasks = std::max<Amount>(part.tasks, 1);
    if (consumable()) {
      if (request.memory == MemoryNeed::PerNode) take.mem = request.memory_mib;
      if (request.memory == MemoryNeed::WholeNode) take.mem = node.total.mem;
      if (request.memory == MemoryNeed::PerCpu) take.mem = request.memory_mib * cpus;
      if (request.memory == MemoryNeed::PerTask) take.mem = request.memory_mib * tasks;
      if (request.memory == MemoryNeed::PerGpu) take.mem = request.memory_mib * gpus_of(request, part.job_gres);
    }
    if (request.exclusive) {
      take.gres = node.total.gres;
      take.device = node.total.device;
      take.socket = node.total.socket;
      return take;
    }
    std::map<std::string, std::vector<std::pair<const GresNeed*, Amount>>> whole;  // by name
    const auto want = [&](const GresNeed& need, Amount count, Amount lots) {
      if (count == 0) return;
      if (need.is_shares())
        for (; lots > 0; --lots) take_shares(request, need, count, node, free, take);
      else
        whole[columns_.gres_name(need.gres[0])].emplace_back(&need, count * lots);
    };
    for (const auto& need : request.gres_per_node) want(need, need.count, 1);
    for (const auto& need : request.gres_per_task) want(need, need.count, tasks);
    for (std::size_t g = 0; g < part.job_gres.size(); ++g) want(request.gres_per_job[g], part.job_gres[g], 1);
    for (const auto& [name, wishes] : whole) take_devices(name, wishes, node, free, take);
    take_sockets(node, part.node, free, take);
    return take;
  }
  // From the device that has the least beyond.
  void take_shares(const Request& request, const GresNeed& need, Amount count, const Node& node, const Amounts& free,
                   Amounts& take) const {
    std::optional<std::tuple<Amount, std::string, DeviceName>> best;
    const bool apart = request.one_task_per_device && &need >= request.gres_per_task.data() &&
                       &need < request.gres_per_task.data() + request.gres_per_task.size();
    for (const auto& [name, device] : node.devices) {
      if (node.shares != need.shares_of || !wanted(need, name.first, device.type)) continue;
      const Amount left = free.device.at(name) - (take.device.contains(name) ? take.device.at(name) : 0);
      if (left < count || (apart && take.device.contains(name))) continue;
      const std::tuple candidate{left - count, device.type, name};
      if (!best || candidate < *best) best = candidate;
    }
    take.device[std::get<2>(*best)] += count;
  }
  // Every choice of so many devices, and the best of them; what is counted comes first.
  void take_devices(const std::string& name, const std::vector<std::pair<const GresNeed*, Amount>>& wishes,
                    const Node& node, const Amounts& free, Amounts& take) const {
    std::vector<Amount> left;
    for (const auto& [need, count] : wishes) {
      left.push_back(count);
      for (const auto& [kind, has] : free.gres)
        for (; kind.first == name && wanted(*need, name, kind.second) && left.back() > 0 && take.gres[kind] < has;
             --left.back())
          ++take.gres[kind];
    }
    std::vector<std::uint32_t> open;
    for (const auto& [device, what] : node.devices)
      if (device.first == name && free.device.at(device) == node.total.device.at(device))
        open.push_back(device.second);
    using Score = std::tuple<int, std::size_t, int, std::vector<std::uint32_t>>;
    std::optional<Score> best;
    for (std::uint32_t mask = 1; mask < 1u << open.size(); ++mask) {
      std::vector<std::uint32_t> in, out;
      for (std::size_t i = 0; i < open.size(); ++i) (mask >> i & 1 ? in : out).push_back(open[i]);
      bool right = true;
      std::size_t all = 0;
      for (std::size_t w = 0; w < wishes.size(); ++w) {
        const auto here = std::ranges::count_if(
            in, [&](std::uint32_t d) { return wanted(*wishes[w].first, name, node.devices.at({name, d}).type); });
        right = right && here == left[w];
        all += static_cast<std::size_t>(here);
      }
      if (!right || all != in.size()) continue;
      std::set<int> sockets;
      for (const auto d : in) {
        const auto& near = node.devices.at({name, d}).sockets;
        sockets.insert(near.begin(), near.end());
        for (int s = 0; near.empty() && s < 64; ++s) sockets.insert(s);
      }
      const Score score{-links(name, node, in), sockets.size(), -links(name, node, out), in};
      if (!best || score < *best) best = score;
    }
    if (best)
      for (const auto d : std::get<3>(*best)) take.device[{name, d}] = node.total.device.at({name, d});
  }
  static int links(const std::string& name, const Node& node, const std::vector<std::uint32_t>& devices) {
    const auto told = [&](std::uint32_t from, std::uint32_t to) {
      const auto& links = node.devices.at({name, from}).links;
      return to < links.size() ? std::max(0, links[to]) : 0;
    };
    int sum = 0;
    for (const auto a : devices)
      for (const auto b : devices)
        if (a < b) sum += std::max(told(a, b), told(b, a));
    return sum;
  }
  void take_sockets(const Node& node, std::uint32_t n, const Amounts& free, Amounts& take) const {
    if (!node.cpus_per_socket) return;
    std::set<int> near;
    bool says = false;
    for (const auto& [name, amount] : take.device) {
      const auto& sockets = node.devices.at(name).sockets;
      says = says || amount > 0;
      near.insert(sockets.begin(), sockets.end());
      for (const auto& [s, all] : node.total.socket)
        if (sockets.empty()) near.insert(s);
    }
    for (const auto& [s, all] : node.total.socket)
      if (!says) near.insert(s);
    Amount left = take.cpu;
    // All that is left from the fullest socket that has it; else all of the emptiest.
    while (left > 0) {
      std::vector<std::tuple<bool, bool, Amount, int>> order;
      for (const auto& [s, all] : node.total.socket) {
        const Amount room = free.socket.at(s) - take.socket[s];
        if (room > 0) order.emplace_back(!near.contains(s), room < left, room < left ? -room : room, s);
      }
      if (order.empty()) break;
      const int s = std::get<3>(*std::ranges::min_element(order));
      const Amount here = std::min(left, free.socket.at(s) - take.socket[s]);
      take.socket[s] += here;
      left -= here;
    }
    for (const auto& most : {unused_now(n).socket, node.total.socket})
      for (const auto& [s, has] : most) {
        const Amount here = std::max<Amount>(0, std::min(left, has - take.socket[s]));
        take.socket[s] += here;
        left -= here;
      }
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
  model::NodeGrant grant(const Request& request, const Part& part, const Amounts& take) {
    Node& node = nodes_[part.node];
    model::NodeGrant grant;
    grant.node = NodeIndex(part.node);
    grant.tasks = static_cast<std::uint32_t>(part.tasks) * request.lot;
    grant.memory_mib = static_cast<std::uint64_t>(take.mem);
    std::set<int> near;
    for (const auto& [name, amount] : take.device)
      if (amount > 0) near.insert(node.devices.at(name).near_cpus.begin(), node.devices.at(name).near_cpus.end());
    const Amount all = node.record->hardware.cpus;
    if (node.cpus_per_socket)
      for (const auto& [s, count] : take.socket)
        take_cores(node, s * node.cpus_per_socket, (s + 1) * node.cpus_per_socket, count, near, grant.cpus);
    else
      take_cores(node, 0, all, take.cpu, near, grant.cpus);
    std::ranges::sort(grant.cpus);
    std::map<Gres, model::DeviceGrant> devices;
    for (const auto& [name, amount] : take.device) {
      if (amount == 0) continue;
      const bool shares = !request.exclusive && takes_shares(request) && name.first == "gpu";
      const Gres kind{shares ? node.shares : name.first, node.devices.at(name).type};
      auto& made = devices[kind];
      made.gres = kind.first;
      made.type = kind.second;
      made.indices.push_back(name.second);
      if (shares) made.shares.push_back(static_cast<std::uint32_t>(amount));
    }
    for (const auto& [kind, count] : take.gres) {
      for (Amount i = 0; i < count; ++i) {
        auto& free = node.numbers_free[kind];
        devices[kind].gres = kind.first;
        devices[kind].type = kind.second;
        devices[kind].indices.push_back(*free.begin());
        free.erase(free.begin());
      }
    }
    for (auto& [kind, made] : devices) grant.devices.push_back(std::move(made));
    return grant;
  }
  static bool takes_shares(const Request& request) {
    for (const auto& needs : {request.gres_per_node, request.gres_per_task, request.gres_per_job})
      for (const auto& need : needs)
        if (need.is_shares()) return true;
    return false;
  }
  static void take_cores(Node& node, Amount first, Amount last, Amount count, const std::set<int>& near,
                         std::vector<std::uint16_t>& cpus) {
    for (const bool far : {false, true})
      for (Amount core = first; core < last && count > 0; core += node.unit) {
        if (!far && !near.empty() && !near.contains(static_cast<int>(core))) continue;
        bool free = true;
        for (Amount cpu = core; cpu < core + node.unit; ++cpu)
          free = free && node.cpus_free.contains(static_cast<int>(cpu));
        for (Amount cpu = core; free && cpu < core + node.unit; ++cpu, --count) {
          cpus.push_back(static_cast<std::uint16_t>(cpu));
          node.cpus_free.erase(static_cast<int>(cpu));
        }
      }
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
  void plan_later(const Record& record, const Request& request, Time when, const std::vector<Part>& parts) {
    const JobId job = record.job->id;
    const Time end = request.end_of_run(when);
    NaiveHold hold{*record.job->spec, record.job->time_limit, record.partition->config.name, when, end, {}, {}};
    for (const auto& part : parts)
      hold.nodes.push_back({part.node, when, end, amounts_of(request, part, free_during(part.node, when, end)), job});
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
    for (const auto* partition : partitions_of(view_, **job)) {
      const Record record{job->get(), partition, 0, 0, {}, 0};
      if (partition->config.name == hold.partition)
        return never_runs(record, request_of(record)) == model::Reason::None;
    }
    return false;
  }

  const Params& params_;
  Columns columns_;
  bool quick_ = false;
  NaiveHolds holds_;
  std::map<JobId, IndexSet> tasks_;
  std::set<JobId> gone_;
  std::vector<Start> starts_;
  bool more_ = false;
};

}  // namespace spur::sched
