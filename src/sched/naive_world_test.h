// SPDX-License-Identifier: Apache-2.0
// The naive scheduler's picture of the cluster: everything that anybody holds, as a list. What is free at a moment is
// what there is less what is held then, summed up anew each time.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sched/closures.h"
#include "sched/naive_limits_test.h"
#include "sched/plan.h"
#include "sched/request.h"
#include "sched/reservations.h"

namespace spur::sched {

class NaiveWorld {
 public:
  NaiveWorld(const model::View& view, Time now) : view_(view), now_(now), limits_(view, now) {
    view.nodes.for_each([&](std::uint32_t, const model::NodePtr& node) { add_node(*node); });
    view.active.for_each([&](std::uint32_t, const model::JobPtr& job) { add_running(*job); });
    leave_to_the_last();
    close_reserved();
  }

  static constexpr JobId kReserved{0xffffffffu};
  using Gres = std::pair<std::string, std::string>;          // name, type
  using DeviceName = std::pair<std::string, std::uint32_t>;  // name, number
  // An amount of everything a node has: CPUs in all and by socket, memory, GRES that is counted, each device with its
  // shares, and what a partition may still use.
  struct Amounts {
    Amount cpu = 0, mem = 0;
    std::map<int, Amount> socket;
    std::map<DeviceName, Amount> device;
    std::map<Gres, Amount> gres;
    std::map<std::string, Amount> partition_cpu;
    void add(const Amounts& other, Amount sign) {
      cpu += sign * other.cpu;
      mem += sign * other.mem;
      for (const auto& [key, n] : other.socket) socket[key] += sign * n;
      for (const auto& [key, n] : other.device) device[key] += sign * n;
      for (const auto& [key, n] : other.gres) gres[key] += sign * n;
      for (const auto& [key, n] : other.partition_cpu) partition_cpu[key] += sign * n;
    }
    void lower_to(const Amounts& other) {
      cpu = std::min(cpu, other.cpu);
      mem = std::min(mem, other.mem);
      // A reservation of cores may name some that the node no longer has.
      for (auto& [key, n] : socket) n = std::min(n, other.socket.contains(key) ? other.socket.at(key) : Amount{0});
      for (auto& [key, n] : device) n = std::min(n, other.device.at(key));
      for (auto& [key, n] : gres) n = std::min(n, other.gres.at(key));
      for (auto& [key, n] : partition_cpu) n = std::min(n, other.partition_cpu.at(key));
    }
    void at_least_nothing() {
      cpu = std::max<Amount>(cpu, 0);
      mem = std::max<Amount>(mem, 0);
      for (auto& [key, n] : socket) n = std::max<Amount>(n, 0);
      for (auto& [key, n] : device) n = std::max<Amount>(n, 0);
      for (auto& [key, n] : gres) n = std::max<Amount>(n, 0);
      for (auto& [key, n] : partition_cpu) n = std::max<Amount>(n, 0);
    }
  };
  struct Device {
    std::string type;
    std::set<int> sockets, near_cpus;  // none: all
    std::vector<int> links;            // by number
  };
  struct Node {
    const model::Node* record = nullptr;
    Amount unit = 1;
    Amounts total;
    Amount cpus_per_socket = 0;  // 0: sockets are not told apart
    std::set<int> cpus_free;
    std::map<DeviceName, Device> devices;
    std::string shares;                                    // what shares of its GPUs are called, if they are shared
    std::map<Gres, std::set<std::uint32_t>> numbers_free;  // of GRES that is counted
  };
  struct Held {  // by a running job, a job started just now, or one that is planned
    std::uint32_t node;
    Time from, to;
    Amounts what;
    JobId planned_for;
    std::string reservation{};  // that the job runs in, or that closes this
    Uid user{};
    bool user_alone = false;
    bool closes() const { return planned_for == kReserved; }
  };
  struct HeldLicenses {
    Time from, to;
    std::map<std::size_t, Amount> what;
    JobId planned_for;
    std::string reservation{};
  };
  // A run that shares its cores, on one node.
  struct Sharer {
    std::uint32_t node;
    std::string partition, reservation;
    std::set<model::CpuNumber> cpus;
    Time until;
    JobId job{};
    std::size_t held = 0;  // position in held_
    bool shares_with(const Sharer& other) const {
      return node == other.node && partition == other.partition && reservation == other.reservation;
    }
  };
  // ---- of a core that several have only the last one gives something back
  void leave_to_the_last() {
    for (const Sharer& one : sharers_) {
      const model::Job& job = *model::find_job(view_, one.job);
      for (const auto& grant : job.allocation->nodes) {
        if (grant.node.value != one.node) continue;
        model::NodeGrant rest = grant;
        std::erase_if(rest.cpus, [&](model::CpuNumber cpu) {
          return std::ranges::any_of(sharers_, [&](const Sharer& other) {
            return other.shares_with(one) && other.cpus.contains(cpu) &&
                   std::pair(other.until, other.job) > std::pair(one.until, one.job);
          });
        });
        const Amounts left = of_grant(job, rest);
        held_[one.held].what.cpu = left.cpu;
        held_[one.held].what.socket = left.socket;
      }
    }
  }
  // ---- what reservations keep from everybody
  void close_reserved() {
    const Reservations reservations(view_, now_, reservation_horizon(now_));
    for (std::uint32_t n = 0; n < nodes_.size(); ++n)
      for (const auto& span : reservations.closed(NodeIndex(n), nullptr)) {
        if (span.to <= now_) continue;
        Amounts what = nodes_[n].total;
        if (!span.whole()) {
          what = {};
          const auto& hw = nodes_[n].record->hardware;
          const std::uint32_t threads = std::max(1u, hw.cpus / (hw.sockets * hw.cores_per_socket));
          const auto own = kept_for_the_system(hw);
          for (const auto core : span.cores)
            for (std::uint32_t t = 0; t < threads && core * threads + t < hw.cpus; ++t) {
              if (own.contains(static_cast<int>(core * threads + t))) continue;  // nobody has it anyway
              ++what.cpu;
              if (!nodes_[n].cpus_per_socket) continue;
              ++what.socket[static_cast<int>((core * threads + t) / nodes_[n].cpus_per_socket)];
            }
          for (const auto& devices : span.devices)
            for (const auto number : devices.indices)
              if (nodes_[n].devices.contains({devices.gres, number}))
                what.device[{devices.gres, number}] = nodes_[n].total.device.at({devices.gres, number});
        }
        held_.push_back({n, std::max(span.from, now_), span.to, what, kReserved, span.by->name});
      }
    for (const auto& span : reservations.closed_licenses(nullptr))
      for (std::size_t i = 0; i < view_.config->licenses.size(); ++i)
        if (view_.config->licenses[i].name == span.name && span.to > now_)
          held_licenses_.push_back({std::max(span.from, now_), span.to, {{i, span.count}}, kReserved, span.by->name});
  }
  // What jobs in the reservation have of the node then is theirs, and closed to nobody a second time.
  Amounts left_of_part(const Held& closure, Time t) const {
    Amounts left = closure.what;
    for (const auto& held : held_)
      if (!held.closes() && held.node == closure.node && held.reservation == closure.reservation && held.from <= t &&
          t < held.to)
        left.add(held.what, -1);
    return left;
  }
  void close_for(const Held& closure, Time t, Amounts& free) const {
    const auto* by = model::find_reservation(view_, closure.reservation);
    Amounts left = left_of_part(closure, t);
    if (!Reservations::matters(*by, entry_)) return;
    left.at_least_nothing();
    free.cpu -= left.cpu;
    free.mem -= left.mem;
    for (const auto& [key, n] : closure.what.socket) free.socket[key] -= left.socket[key];
    for (const auto& [key, n] : closure.what.device) free.device[key] -= left.device[key];
    for (const auto& [key, n] : closure.what.gres) free.gres[key] -= left.gres[key];
    for (const auto& [key, n] : closure.what.partition_cpu) free.partition_cpu[key] -= left.partition_cpu[key];
  }
  void confine(const Held& closure, Amounts left, Amounts& free) const {
    const auto* part = Reservations::reserved_part(entry_, NodeIndex(closure.node));
    if (part->whole()) return;
    if (!part->cores.empty()) {
      free.cpu = std::min(free.cpu, left.cpu);
      for (auto& [key, n] : free.socket) n = std::min(n, left.socket[key]);
    }
    for (const auto& devices : part->devices)
      for (auto& [key, n] : free.device)
        if (key.first == devices.gres) n = std::min(n, left.device[key]);
  }
  // ---- what there is
  void add_node(const model::Node& record) {
    Node node;
    node.record = &record;
    const auto& hw = record.hardware;
    if (view_.config->cores_whole && hw.threads_per_core > 1 &&
        hw.sockets * hw.cores_per_socket * hw.threads_per_core <= hw.cpus)
      node.unit = hw.threads_per_core;
    node.total.mem = static_cast<Amount>(hw.memory_mib) - static_cast<Amount>(hw.spec_memory_mib);
    if (hw.sockets > 1 && hw.cores_per_socket > 1 && hw.cpus % hw.sockets == 0)
      node.cpus_per_socket = hw.cpus / hw.sockets;
    const std::set<int> kept = kept_for_the_system(hw);
    for (int cpu = 0; cpu < static_cast<int>(hw.cpus); ++cpu) {
      if (kept.contains(cpu)) continue;
      ++node.total.cpu;
      if (node.cpus_per_socket) ++node.total.socket[cpu / static_cast<int>(node.cpus_per_socket)];
      if (!in_use(record.cpus_in_use, static_cast<std::size_t>(cpu))) node.cpus_free.insert(cpu);
    }
    add_gres(record, node);
    for (const auto& partition : *view_.partitions)
      if (partition.config.max_cpus_per_node)
        node.total.partition_cpu[partition.config.name] = *partition.config.max_cpus_per_node;
    nodes_.push_back(std::move(node));
  }
  static std::set<int> kept_for_the_system(const model::NodeHardware& hw) {
    return kept_for_the_system(hw, static_cast<int>(hw.spec_cores), 1);
  }
  // So many cores, of which `leave` at least are for jobs.
  static std::set<int> kept_for_the_system(const model::NodeHardware& hw, int spec_cores, int leave) {
    std::set<int> kept;
    const int threads =
        hw.cpus == hw.sockets * hw.cores_per_socket * hw.threads_per_core ? static_cast<int>(hw.threads_per_core) : 1;
    const int cores = static_cast<int>(hw.cpus) / threads, each = cores / static_cast<int>(hw.sockets);
    // The last core of every socket, from the last socket on; then the last but one of each.
    for (int n = 0; n < spec_cores && n < cores - leave; ++n) {
      const int sockets = static_cast<int>(hw.sockets);
      const int core = (sockets - 1 - n % sockets) * each + each - 1 - n / sockets;
      for (int thread = 0; thread < threads; ++thread) kept.insert(core * threads + thread);
    }
    return kept;
  }
  static std::vector<int> numbers(const std::string& list) {
    std::vector<int> all;
    std::stringstream parts(list);
    for (std::string part; std::getline(parts, part, ',');) {
      const auto dash = part.find('-', 1);
      const int first = std::stoi(part), last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
      for (int n = first; n <= last; ++n) all.push_back(n);
    }
    return all;
  }
  void add_gres(const model::Node& record, Node& node) {
    const auto& hw = record.hardware;
    std::map<std::string, std::uint32_t> next;
    Amount gpus = 0;
    for (const auto& gres : hw.gres) {
      if (gres.name == "shard" && gpus > 0) {  // they come behind the GPUs
        node.shares = gres.name;
        std::vector<DeviceName> shared;
        for (const auto& [name, device] : node.devices)
          if (device.type == gres.type || gres.type.empty()) shared.push_back(name);
        for (std::uint64_t i = 0; i < gres.count; ++i) {
          Amount& shares = node.total.device[shared[i % shared.size()]];
          if (i >= shared.size()) ++shares;
        }
        continue;
      }
      for (std::uint64_t i = 0; i < gres.count; ++i) {
        const std::uint32_t number = next[gres.name]++;
        if (gres.name == "gpu" || !gres.file.empty()) {
          gpus += gres.name == "gpu";
          // One line of links for each device of the row.
          std::stringstream lines(gres.links);
          std::string links;
          for (std::uint64_t k = 0; k <= i; ++k)
            if (!std::getline(lines, links, ';')) links.clear();
          Device device{gres.type, {}, {}, numbers(links)};
          for (const int core : numbers(gres.cores)) {
            if (core >= static_cast<int>(hw.sockets * hw.cores_per_socket)) continue;  // there is no such core
            const int threads = static_cast<int>(hw.cpus / (hw.sockets * hw.cores_per_socket));
            for (int thread = 0; thread < threads; ++thread) {
              device.near_cpus.insert(core * threads + thread);
              device.sockets.insert((core * threads + thread) / static_cast<int>(hw.cpus / hw.sockets));
            }
          }
          node.devices[{gres.name, number}] = device;
          node.total.device[{gres.name, number}] = 1;
          continue;
        }
        ++node.total.gres[{gres.name, gres.type}];
        bool used = false;
        for (const auto& books : record.devices_in_use)
          if (books.gres == gres.name) used = in_use(books.bits, number);
        if (!used) node.numbers_free[{gres.name, gres.type}].insert(number);
      }
    }
  }
  static bool in_use(const std::vector<std::uint64_t>& bits, std::size_t i) {
    return i / 64 < bits.size() && (bits[i / 64] >> (i % 64) & 1);
  }

  void add_running(const model::Job& job) {
    Time end = kNever;
    if (job.flags & model::kCompleting)
      end = now_ + seconds(1);
    else if (job.state == model::JobState::Running && job.time_limit.is_finite())
      end = job.started + job.time_limit.duration() + job.suspended_total;
    if (is_set(job.preempt_at) && job.preempt_how != model::PreemptHow::Suspend && !(job.flags & model::kCompleting))
      end = std::min(end, job.preempt_at);
    end = std::max(end, now_ + seconds(1));
    if (is_set(job.preempt_at) && job.preempt_how != model::PreemptHow::Suspend) leaving_.insert(job.preempted_for);
    for (const auto& grant : job.allocation->nodes) {
      const auto& jobs = nodes_[grant.node.value].record->jobs;
      if (std::ranges::find(jobs, job.id) == jobs.end()) continue;
      held_.push_back({grant.node.value,
                       now_,
                       end,
                       of_grant(job, grant),
                       {},
                       job.allocation->reservation,
                       job.spec->uid,
                       is_alone(job)});
      if ((job.flags & model::kSharesCores) && !is_set(job.suspended_at))
        sharers_.push_back({grant.node.value,
                            job.allocation->partition,
                            job.allocation->reservation,
                            {grant.cpus.begin(), grant.cpus.end()},
                            end,
                            job.id,
                            held_.size() - 1});
    }
    HeldLicenses licenses{now_, end, {}, {}};
    for (const auto& license : job.spec->licenses)
      for (std::size_t i = 0; i < view_.config->licenses.size(); ++i)
        if (view_.config->licenses[i].name == license.name) licenses.what[i] += license.count;
    held_licenses_.push_back(licenses);
    if (job.array_job && model::is_active(job.state) && !(job.flags & model::kCompleting))
      ++array_running_[job.array_job];
  }
  bool is_alone(const model::Job& job) const {
    const auto* partition = model::find_partition(view_, job.allocation->partition);
    if (job.spec->exclusive == model::Exclusive::Node) return false;
    if (partition && partition->config.oversubscribe == model::OverSubscribe::Exclusive) return false;
    return job.spec->exclusive == model::Exclusive::User || (partition && partition->config.exclusive_user);
  }
  // Somebody else is there who wants to be alone, or must not be there because the request does.
  bool taken_by_others(const Request& request, std::uint32_t n, Time from, Time to) const {
    return std::ranges::any_of(held_, [&](const Held& held) {
      return held.node == n && !held.closes() && held.from < to && from < held.to && held.user != request.user &&
             (request.user_alone || held.user_alone);
    });
  }
  Amounts of_grant(const model::Job& job, const model::NodeGrant& grant) {
    const Node& node = nodes_[grant.node.value];
    Amounts amounts;
    if (!is_set(job.suspended_at)) {
      std::set<Amount> cores;
      const auto own = kept_for_the_system(node.record->hardware);
      for (const auto& cpus : {grant.cpus, grant.kept_cpus})
        for (const auto cpu : cpus)
          if (!own.contains(cpu)) cores.insert(cpu / node.unit);
      amounts.cpu = static_cast<Amount>(cores.size()) * node.unit;
      for (const Amount core : cores)
        if (node.cpus_per_socket)
          amounts.socket[static_cast<int>(core * node.unit / node.cpus_per_socket)] += node.unit;
      if (node.total.partition_cpu.contains(job.allocation->partition))
        amounts.partition_cpu[job.allocation->partition] = static_cast<Amount>(grant.cpus.size());
    }
    if (consumable()) amounts.mem = static_cast<Amount>(grant.memory_mib);
    for (const auto& devices : grant.devices)
      for (std::size_t i = 0; i < devices.indices.size(); ++i) {
        const DeviceName name{devices.shares.empty() ? devices.gres : "gpu", devices.indices[i]};
        if (node.devices.contains(name))
          amounts.device[name] += devices.shares.empty() ? node.total.device.at(name) : Amount{devices.shares[i]};
        else
          ++amounts.gres[{devices.gres, devices.type}];
      }
    return amounts;
  }
  bool consumable() const { return view_.config->memory_as == model::MemoryAs::Consumable; }

  Amounts free_at(std::uint32_t n, Time t) const {
    Amounts free = nodes_[n].total;
    for (const auto& held : held_)
      if (held.node == n && !held.closes() && held.from <= t && t < held.to) free.add(held.what, -1);
    for (const auto& held : held_)
      if (held.node == n && held.closes() && held.from <= t && t < held.to) close_for(held, t, free);
    // Who is confined to a part is so for as long as it runs.
    for (const auto& held : held_)
      if (held.node == n && held.closes() && Reservations::confined(entry_) && entry_->name == held.reservation)
        confine(held, left_of_part(held, t), free);
    return free;
  }
  // What nobody uses now, whoever may have been promised it.
  Amounts unused_now(std::uint32_t n) const {
    Amounts free = nodes_[n].total;
    for (const auto& held : held_)
      if (held.node == n && !held.planned_for && held.from <= now_ && now_ < held.to) free.add(held.what, -1);
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
  bool is_own(const HeldLicenses& held) const {
    return held.planned_for == kReserved && entry_ && entry_->name == held.reservation;
  }
  bool licensed(const Request& request, Time from, Time to) const {
    const auto enough_at = [&](Time t) {
      for (const auto& [license, count] : request.licenses) {
        Amount free = view_.config->licenses[license].count;
        for (const auto& held : held_licenses_)
          if (held.from <= t && t < held.to && held.what.contains(license) && !is_own(held))
            free -= held.what.at(license);
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
  NaiveLimits limits_;
  std::vector<Node> nodes_;
  std::vector<Held> held_;
  std::vector<HeldLicenses> held_licenses_;
  std::vector<Sharer> sharers_;
  std::map<JobId, std::uint32_t> array_running_;
  const model::Reservation* entry_ = nullptr;  // the eyes through which all this is seen
  std::set<JobId> leaving_;                    // beneficiaries of jobs that have to go and are still there
};

}  // namespace spur::sched
