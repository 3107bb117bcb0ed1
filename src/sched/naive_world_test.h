// SPDX-License-Identifier: Apache-2.0
// The naive scheduler's picture of the cluster: everything that anybody holds, as a list. What is free at a moment is
// what there is less what is held then, summed up anew each time.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sched/plan.h"
#include "sched/request.h"

namespace spur::sched {

class NaiveWorld {
 public:
  NaiveWorld(const model::View& view, Time now) : view_(view), now_(now) {
    view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) { add_node(*node); });
    view.active.for_each([&](std::uint32_t, const model::JobPtr& job) { add_running(*job); });
  }

  using Gres = std::pair<std::string, std::string>;  // name, type
  // An amount of everything a node has. "cpu", "mem", GRES, and what a partition may still use.
  struct Amounts {
    Amount cpu = 0, mem = 0;
    std::map<Gres, Amount> gres;
    std::map<std::string, Amount> partition_cpu;
    void add(const Amounts& other, Amount sign) {
      cpu += sign * other.cpu;
      mem += sign * other.mem;
      for (const auto& [key, n] : other.gres) gres[key] += sign * n;
      for (const auto& [key, n] : other.partition_cpu) partition_cpu[key] += sign * n;
    }
    void lower_to(const Amounts& other) {
      cpu = std::min(cpu, other.cpu);
      mem = std::min(mem, other.mem);
      for (const auto& [key, n] : other.gres) gres.try_emplace(key, n);
      for (auto& [key, n] : gres) n = other.gres.contains(key) ? std::min(n, other.gres.at(key)) : n;
      for (auto& [key, n] : partition_cpu) n = std::min(n, other.partition_cpu.at(key));
    }
    void at_least_nothing() {
      cpu = std::max<Amount>(cpu, 0);
      mem = std::max<Amount>(mem, 0);
      for (auto& [key, n] : gres) n = std::max<Amount>(n, 0);
      for (auto& [key, n] : partition_cpu) n = std::max<Amount>(n, 0);
    }
    Amount gres_sum() const {
      Amount sum = 0;
      for (const auto& [key, n] : gres) sum += n;
      return sum;
    }
  };
  struct Node {
    const model::Node* record = nullptr;
    Amount unit = 1;
    Amounts total;
    std::set<int> cpus_free;
    std::map<Gres, std::set<std::uint32_t>> devices_free;
  };
  struct Held {  // by a running job, a job started just now, or one that is planned
    std::uint32_t node;
    Time from, to;
    Amounts what;
    JobId planned_for;
  };
  struct HeldLicenses {
    Time from, to;
    std::map<std::size_t, Amount> what;
    JobId planned_for;
  };
  // ---- what there is
  void add_node(const model::Node& record) {
    Node node;
    node.record = &record;
    const auto& hw = record.hardware;
    if (view_.config->cores_whole && hw.threads_per_core > 1 &&
        hw.sockets * hw.cores_per_socket * hw.threads_per_core <= hw.cpus)
      node.unit = hw.threads_per_core;
    node.total.cpu = hw.cpus;
    node.total.mem = static_cast<Amount>(hw.memory_mib);
    for (int cpu = 0; cpu < static_cast<int>(hw.cpus); ++cpu)
      if (!in_use(record.cpus_in_use, static_cast<std::size_t>(cpu))) node.cpus_free.insert(cpu);
    std::map<std::string, std::uint32_t> next;
    for (const auto& gres : hw.gres) {
      for (std::uint64_t i = 0; i < gres.count; ++i) {
        const std::uint32_t index = next[gres.name]++;
        ++node.total.gres[{gres.name, gres.type}];
        bool used = false;
        for (const auto& books : record.devices_in_use)
          if (books.gres == gres.name) used = in_use(books.bits, index);
        if (!used) node.devices_free[{gres.name, gres.type}].insert(index);
      }
    }
    for (const auto& partition : *view_.partitions)
      if (partition.config.max_cpus_per_node)
        node.total.partition_cpu[partition.config.name] = *partition.config.max_cpus_per_node;
    nodes_.push_back(std::move(node));
  }
  static bool in_use(const std::vector<std::uint64_t>& bits, std::size_t i) {
    return i / 64 < bits.size() && (bits[i / 64] >> (i % 64) & 1);
  }

  void add_running(const model::Job& job) {
    Time end = kNever;
    if (job.flags & model::kCompleting)
      end = now_ + seconds(1);
    else if (job.state == model::JobState::Running && job.time_limit.is_finite())
      end = std::max(job.started + job.time_limit.duration() + job.suspended_total, now_ + seconds(1));
    for (const auto& grant : job.allocation->nodes) {
      const auto& jobs = nodes_[grant.node.value].record->jobs;
      if (std::ranges::find(jobs, job.id) == jobs.end()) continue;
      held_.push_back({grant.node.value, now_, end, of_grant(job, grant), {}});
    }
    HeldLicenses licenses{now_, end, {}, {}};
    for (const auto& license : job.spec->licenses)
      for (std::size_t i = 0; i < view_.config->licenses.size(); ++i)
        if (view_.config->licenses[i].name == license.name) licenses.what[i] += license.count;
    held_licenses_.push_back(licenses);
    if (job.array_job && model::is_active(job.state) && !(job.flags & model::kCompleting))
      ++array_running_[job.array_job];
  }
  Amounts of_grant(const model::Job& job, const model::NodeGrant& grant) {
    const Node& node = nodes_[grant.node.value];
    Amounts amounts;
    if (!is_set(job.suspended_at)) {
      std::set<Amount> cores;
      for (const auto cpu : grant.cpus) cores.insert(cpu / node.unit);
      amounts.cpu = static_cast<Amount>(cores.size()) * node.unit;
      if (node.total.partition_cpu.contains(job.allocation->partition))
        amounts.partition_cpu[job.allocation->partition] = static_cast<Amount>(grant.cpus.size());
    }
    if (consumable()) amounts.mem = static_cast<Amount>(grant.memory_mib);
    for (const auto& devices : grant.devices)
      amounts.gres[{devices.gres, devices.type}] += static_cast<Amount>(devices.indices.size());
    return amounts;
  }
  bool consumable() const { return view_.config->memory_as == model::MemoryAs::Consumable; }

  Amounts free_at(std::uint32_t n, Time t) const {
    Amounts free = nodes_[n].total;
    for (const auto& held : held_)
      if (held.node == n && held.from <= t && t < held.to) free.add(held.what, -1);
    return free;
  }
  // The least of everything during [from, to).
  Amounts free_during(std::uint32_t n, Time from, Time to) const {
    Amounts free = free_at(n, from);
    for (const auto& held : held_)
      for (const Time t : {held.from, held.to})
        if (held.node == n && from < t && t < to) free.lower_to(free_at(n, t));
    free.at_least_nothing();  // a hold may be kept for longer than the node can keep it
    std::erase_if(free.gres, [&](const auto& gres) { return !nodes_[n].total.gres.contains(gres.first); });
    return free;
  }
  bool licensed(const Request& request, Time from, Time to) const {
    const auto enough_at = [&](Time t) {
      for (const auto& [license, count] : request.licenses) {
        Amount free = view_.config->licenses[license].count;
        for (const auto& held : held_licenses_)
          if (held.from <= t && t < held.to && held.what.contains(license)) free -= held.what.at(license);
        if (free < count) return false;
      }
      return true;
    };
    if (!enough_at(from)) return false;
    for (const auto& held : held_licenses_)
      for (const Time t : {held.from, held.to})
        if (from < t && t < to && !enough_at(t)) return false;
    return true;
  }

  const model::View& view_;
  Time now_;
  std::vector<Node> nodes_;
  std::vector<Held> held_;
  std::vector<HeldLicenses> held_licenses_;
  std::map<JobId, std::uint32_t> array_running_;
};

}  // namespace spur::sched
