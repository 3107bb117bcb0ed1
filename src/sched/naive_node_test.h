// SPDX-License-Identifier: Apache-2.0
// The naive scheduler's view of one node: what it can do for a request, counted up one by one, and what a job takes
// of it, found by looking at every choice.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sched/naive_sockets_test.h"

namespace spur::sched {

class NaiveNode : protected NaiveSockets {
 protected:
  NaiveNode(const model::View& view, Time now)
      : NaiveSockets(view, now), may_split_(view.config->shares_of_several) {}

  struct Offer {
    std::uint32_t node = 0;
    Amount tasks = 0;
    Amounts free;
    Amounts judged;  // what best fit is judged by
  };
  struct Part {
    std::uint32_t node;
    Amount tasks;
    std::vector<Amount> job_gres;
  };
  // ---- one node
  bool allowed(const Request& request, std::uint32_t n) const {
    const auto& node = *nodes_[n].record;
    if (std::ranges::find(request.excluded, n) != request.excluded.end()) return false;
    if (static_cast<Amount>(node.hardware.tmp_disk_mib) < request.tmp_disk_mib) return false;
    if (node.hardware.sockets < request.min_sockets || node.hardware.cores_per_socket < request.min_cores ||
        node.hardware.threads_per_core < request.min_threads)
      return false;
    for (const auto term : request.features.all)
      if (!holds(request.features, term, n)) return false;
    bool any = request.features.one_of.empty();
    for (const auto term : request.features.one_of) any = any || holds(request.features, term, n);
    return any;
  }
  bool holds(const FeatureRequest& features, std::uint32_t at, std::uint32_t n) const {
    const auto& has = nodes_[n].record->active_features;
    const auto& term = features.terms[at];
    if (term.op == FeatureTerm::Op::Name) return std::ranges::count(has, term.name) > 0;
    if (term.op == FeatureTerm::Op::Not) return !holds(features, term.left, n);
    const bool left = holds(features, term.left, n), right = holds(features, term.right, n);
    return term.op == FeatureTerm::Op::And ? left && right : left || right;
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
        sum = may_split_ ? sum + std::max<Amount>(0, free.device.at(name)) : std::max(sum, free.device.at(name));
    }
    return sum;
  }
  // Shares for one task after the other.
  bool shares_fit(const Request& request, const GresNeed& need, const Node& node, Amounts free, Amount tasks) const {
    if (may_split_ && !request.one_task_per_device) return gres_of(need, node, free) >= need.count * tasks;
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
  // Where most tasks fit, then most of the job's first GRES, with a core for each socket; nothing if none fits.
  Amounts best_cut(const Request& request, const Node& node, const Amounts& free) const {
    if (!is_bound(request, node)) return free;
    Amounts best = free;
    best.cpu = 0;
    std::pair<Amount, Amount> most{0, 0};
    for (const auto& [sockets, cut] : cuts(request, node, free)) {
      const auto size = static_cast<Amount>(sockets.size());
      const Amount tasks = most_tasks_in(request, node, cut);
      if (tasks == 0) continue;
      std::vector<Amount> job_gres(request.gres_per_job.size());
      const Amount first = job_gres.empty() ? 0 : gres_of(request.gres_per_job[0], node, cut);
      if (!job_gres.empty()) job_gres[0] = std::min(first, request.gres_per_job[0].count);
      if (request.bind_to_gres && cpus_needed(request, node, tasks, job_gres) < size * node.unit) continue;
      if (!covered(request, node, sockets, gpus_wanted(request, tasks, job_gres), cut)) continue;
      if (std::pair(tasks, first) <= most) continue;
      most = {tasks, first};
      best = cut;
    }
    return best;
  }
  // The fewest sockets that have the part, with a core for each if there is such a choice.
  Amounts fewest_cut(const Request& request, const Part& part, const Amounts& free) const {
    const Node& node = nodes_[part.node];
    if (!is_bound(request, node)) return free;
    const Amount cpus = cpus_needed(request, node, part.tasks, part.job_gres);
    std::optional<Amounts> first;
    const Amount gpus = gpus_wanted(request, part.tasks, part.job_gres);
    for (const auto& [sockets, cut] : cuts(request, node, free)) {
      const auto size = static_cast<Amount>(sockets.size());
      bool has = most_tasks_in(request, node, cut) >= part.tasks && cut.cpu >= cpus;
      for (std::size_t i = 0; i < part.job_gres.size(); ++i)
        has = has && gres_of(request.gres_per_job[i], node, cut) >= part.job_gres[i];
      if (!has) continue;
      const auto exact = covered(request, node, sockets, gpus, cut);
      if (exact && (!request.bind_to_gres || cpus >= size * node.unit)) return *exact;
      if (!first) first = cut;
    }
    return first.value_or(free);
  }
  // What an offer has for the i-th need per job, with CPUs and memory for it.
  Amount job_gres_of(const Request& request, std::size_t i, const Node& node, const Amounts& all) const {
    return job_gres_in(request, i, node, best_cut(request, node, all));
  }
  Amount job_gres_in(const Request& request, std::size_t i, const Node& node, const Amounts& free) const {
    Amount most = gres_of(request.gres_per_job[i], node, free);
    std::vector<Amount> job_gres(request.gres_per_job.size());
    for (; most > 0 && request.gres_per_job[i].is_gpu; --most) {
      job_gres[i] = most;
      const bool memory = request.memory != MemoryNeed::PerGpu || free.mem >= request.memory_mib * most;
      const Amount cpus = cpus_needed(request, node, 1, job_gres);
      if (memory && cpus_fit(request, node, usable_of(request, node, free), cpus)) break;
    }
    return most;
  }
  // Fills core after core; each takes so many threads and tasks.
  Amount cores_for(const Request& request, const Node& node, Amount tasks) const {
    const Amount threads = request.threads ? std::min(request.threads, node.unit) : node.unit;
    Amount cores = 0;
    if (request.tasks_per_core == 1)  // each has its own
      for (Amount task = 0; task < tasks; ++task)
        for (Amount cpus = 0; cpus < request.cpus_per_task; cpus += threads) ++cores;
    while (cores * threads < tasks * request.cpus_per_task) ++cores;
    while (request.tasks_per_core && cores * request.tasks_per_core < tasks) ++cores;
    return cores;
  }
  // Where sockets are limited, tasks share no cores.
  Amount cpus_of_task(const Request& request, const Node& node) const {
    Request one = request;
    one.tasks_per_core = 0;
    return cores_for(one, node, 1) * node.unit;
  }
  // Tasks that the sockets take, one after the other.
  Amount tasks_on_sockets(const Request& request, const Node& node, const Amounts& free) const {
    const Amount each = cpus_of_task(request, node);
    std::vector<Amount> sockets;
    for (const auto& [s, cpus] : free.socket) sockets.push_back(cpus);
    if (sockets.empty() && node.record->hardware.sockets > 1)
      sockets.assign(static_cast<std::size_t>(std::max<Amount>(0, free.cpu / node.unit)), node.unit);
    else if (sockets.empty())
      sockets.push_back(free.cpu);
    Amount all = 0;
    for (Amount left : sockets)
      for (Amount tasks = 0; tasks < request.tasks_per_socket && left >= each; ++tasks, ++all)
        left -= request.overcommit ? 0 : each;
    return all;
  }
  Amount cpus_needed(const Request& request, const Node& node, Amount tasks,
                     const std::vector<Amount>& job_gres = {}) const {
    const Amount running = request.overcommit ? 1 : std::max<Amount>(tasks, 1);
    Amount cpus = std::max(request.tasks_per_socket > 0 ? running * cpus_of_task(request, node)
                                                        : cores_for(request, node, running) * node.unit,
                           request.min_cpus);
    cpus = std::max(cpus, request.cpus_per_gpu * gpus_of(request, job_gres));
    while (cpus % node.unit != 0) ++cpus;
    return cpus;
  }
  static std::set<int> kept_by(const Request& request, const Node& node) {
    const auto& hw = node.record->hardware;
    const int each =
        hw.cpus == hw.sockets * hw.cores_per_socket * hw.threads_per_core ? static_cast<int>(hw.threads_per_core) : 1;
    const int count = static_cast<int>(request.core_spec->count);
    if (!request.core_spec->threads) return kept_for_the_system(hw, count, 0);
    auto kept = kept_for_the_system(hw, count / each, 0);
    // Of the next core the last threads, where cores may be shared.
    const auto more = kept_for_the_system(hw, count / each + 1, 0);
    for (int left = node.unit == 1 ? count % each : 0; left > 0; --left)
      for (auto cpu = more.rbegin(); cpu != more.rend(); ++cpu)
        if (!kept.contains(*cpu)) {
          kept.insert(*cpu);
          break;
        }
    return kept;
  }
  // Without the cores that -S keeps, which may be others than the node's own.
  Amounts usable_of(const Request& request, const Node& node, const Amounts& free) const {
    Amounts usable = free;
    if (request.core_spec)
      usable.cpu =
          (node.record->hardware.cpus - static_cast<Amount>(kept_by(request, node).size())) / node.unit * node.unit;
    return usable;
  }
  // Counts upwards: do so many tasks fit, and one more?
  bool tasks_fit(const Request& request, const Node& node, const Amounts& free, Amount tasks) const {
    const Amount cpus = cpus_needed(request, node, tasks);
    if (!cpus_fit(request, node, usable_of(request, node, free), cpus)) return false;
    if (request.tasks_per_socket && tasks > tasks_on_sockets(request, node, free)) return false;
    if (request.exclusive && (!in_limit(request, free, node.total.cpu) || free.cpu != node.total.cpu ||
                              free.gres != node.total.gres || free.device != node.total.device))
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
      if (job_gres_in(request, i, node, free) < 1) return false;
    return true;
  }
  bool in_limit(const Request& request, const Amounts& free, Amount cpus) const {
    const std::string& partition = (*view_.partitions)[request.partition].config.name;
    return !free.partition_cpu.contains(partition) || cpus <= free.partition_cpu.at(partition);
  }
  // Of each core only the threads that tasks may use count.
  static Amount memory_for(const Request& request, const Node& node, Amount cpus) {
    const Amount threads = request.threads ? std::min(request.threads, node.unit) : node.unit;
    return request.memory_mib * threads * (cpus / node.unit);
  }
  bool cpus_fit(const Request& request, const Node& node, const Amounts& free, Amount cpus) const {
    if (cpus > free.cpu) return false;
    if (!request.exclusive && !in_limit(request, free, cpus)) return false;
    return request.memory != MemoryNeed::PerCpu || free.mem >= memory_for(request, node, cpus);
  }
  Amount most_tasks(const Request& request, const Node& node, const Amounts& all) const {
    return most_tasks_in(request, node, best_cut(request, node, all));
  }
  Amount most_tasks_in(const Request& request, const Node& node, const Amounts& free) const {
    if (!request.task_nodes.empty()) {
      Amount listed = 0;
      for (const auto n : request.task_nodes) listed += nodes_[n].record == node.record;
      if (request.tasks_per_node && listed > request.tasks_per_node) return 0;
      return listed > 0 && tasks_fit(request, node, free, listed) ? listed : 0;
    }
    if (!request.tasks_fixed)
      return tasks_fit(request, node, free, request.tasks_per_node) ? request.tasks_per_node : 0;
    Amount most = request.tasks;
    if (request.tasks_per_node) most = std::min<Amount>(most, request.tasks_per_node);
    Amount tasks = 0;
    while (tasks < most && tasks_fit(request, node, free, tasks + 1)) ++tasks;
    return tasks;
  }

  // Of a job of several nodes: the numbers of GPUs that all of them can give.
  using Rails = std::optional<std::set<std::uint32_t>>;
  template <class FreeOn>
  Rails rails_of(const std::vector<Part>& parts, FreeOn free_on) const {
    if (parts.size() < 2) return {};
    std::map<std::uint32_t, std::size_t> nodes;  // that have it
    for (const Part& part : parts) {
      const Amounts free = free_on(part.node);
      for (const auto& [name, left] : free.device)
        nodes[name.second] += name.first == "gpu" && left == nodes_[part.node].total.device.at(name);
    }
    Rails rails = std::set<std::uint32_t>{};
    for (const auto& [number, count] : nodes)
      if (count == parts.size()) rails->insert(number);
    return rails;
  }
  // What a part takes out of `free`.
  Amounts amounts_of(const Request& request, const Part& part, const Rails& rails, const Amounts& all) {
    const Node& node = nodes_[part.node];
    const Amounts free = fewest_cut(request, part, all);
    Amounts take;
    const Amount cpus = cpus_needed(request, node, part.tasks, part.job_gres);
    take.cpu = request.exclusive ? node.total.cpu : cpus;
    const std::string& partition = (*view_.partitions)[request.partition].config.name;
    if (node.total.partition_cpu.contains(partition)) take.partition_cpu[partition] = take.cpu;
    const Amount tasks = std::max<Amount>(part.tasks, 1);
    if (consumable()) {
      if (request.memory == MemoryNeed::PerNode) take.mem = request.memory_mib;
      if (request.memory == MemoryNeed::WholeNode) take.mem = node.total.mem;
      if (request.memory == MemoryNeed::PerCpu)
        take.mem = std::min(free.mem, request.exclusive ? request.memory_mib * take.cpu
                                                        : memory_for(request, node, cpus));
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
    for (const auto& [name, wishes] : whole) take_devices(name, wishes, node, rails, free, take);
    take_sockets(request, node, part, free, take);
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
      const std::tuple candidate{request.spread_shares ? count - left : left - count, device.type, name};
      if (!best || candidate < *best) best = candidate;
    }
    if (best) {
      take.device[std::get<2>(*best)] += count;
      return;
    }
    // From one after the other, the emptiest first.
    for (; count > 0; best.reset()) {
      for (const auto& [name, device] : node.devices) {
        if (node.shares != need.shares_of || !wanted(need, name.first, device.type)) continue;
        const Amount left = free.device.at(name) - (take.device.contains(name) ? take.device.at(name) : 0);
        const std::tuple candidate{-left, device.type, name};
        if (left > 0 && !(apart && take.device.contains(name)) && (!best || candidate < *best)) best = candidate;
      }
      const Amount here = std::min(count, -std::get<0>(*best));
      take.device[std::get<2>(*best)] += here;
      count -= here;
    }
  }
  // Every choice of so many devices, and the best of them; what is counted comes first.
  void take_devices(const std::string& name, const std::vector<std::pair<const GresNeed*, Amount>>& wishes,
                    const Node& node, const Rails& rails, const Amounts& free, Amounts& take) const {
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
    using Score = std::tuple<int, std::size_t, std::ptrdiff_t, int, std::vector<std::uint32_t>>;
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
      const auto on_rails =
          std::ranges::count_if(in, [&](std::uint32_t d) { return name == "gpu" && rails && rails->contains(d); });
      const Score score{-links(name, node, in), sockets.size(), -on_rails, -links(name, node, out), in};
      if (!best || score < *best) best = score;
    }
    if (best)
      for (const auto d : std::get<4>(*best)) take.device[{name, d}] = node.total.device.at({name, d});
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
  void take_sockets(const Request& request, const Node& node, const Part& part, const Amounts& free,
                    Amounts& take) const {
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
    const Amount each = cpus_of_task(request, node);
    Amount tasks = request.tasks_per_socket == 0 ? 0 : request.overcommit ? 1 : std::max<Amount>(part.tasks, 1);
    for (const bool far : {false, true})
      for (const auto& [s, room] : free.socket)
        for (Amount here = 0;
             tasks > 0 && near.contains(s) != far && here < request.tasks_per_socket && room - take.socket[s] >= each;
             ++here, --tasks, left -= each)
          take.socket[s] += each;
    const bool in_turn = request.sockets_in_turn || request.bind_to_gres;
    if (in_turn) take_in_turn(request, node, near, free, left, take);
    // All that is left from the fullest socket that has it; else all of the emptiest.
    while (left > 0 && !in_turn) {
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
    for (const auto& most : {unused_now(part.node).socket, node.total.socket})
      for (const auto& [s, has] : most) {
        const Amount here = std::max<Amount>(0, std::min(left, has - take.socket[s]));
        take.socket[s] += here;
        left -= here;
      }
  }

  // Whole tasks of several cores first, socket by socket; then a core of each in turn.
  void take_in_turn(const Request& request, const Node& node, const std::set<int>& near, const Amounts& free,
                    Amount& left, Amounts& take) const {
    const Amount each = cores_for(request, node, 1) * node.unit;
    for (const bool far : {false, true}) {
      std::vector<int> order;  // the socket of every core that there is, as they are taken
      std::map<int, Amount> room;
      for (const auto& [s, has] : free.socket)
        if (near.contains(s) != far) room[s] = has - take.socket[s];
      for (auto& [s, has] : room)
        for (; each > node.unit && free.socket.at(s) - take.socket[s] >= each && has > 0; has -= node.unit)
          order.push_back(s);
      for (bool some = true; some;) {
        some = false;
        for (auto& [s, has] : room)
          if (has > 0) some = true, order.push_back(s), has -= node.unit;
      }
      for (std::size_t i = 0; i < order.size() && left > 0; ++i) {
        const Amount here = std::min({left, node.unit, free.socket.at(order[i]) - take.socket[order[i]]});
        if (here <= 0) continue;
        take.socket[order[i]] += here;
        left -= here;
      }
    }
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
    if (request.core_spec) {
      const auto kept = kept_by(request, node), own = kept_for_the_system(node.record->hardware);
      for (int cpu = 0; cpu < static_cast<int>(all); ++cpu)
        if (!kept.contains(cpu))
          grant.cpus.push_back(cpu);
        else if (!own.contains(cpu))
          grant.kept_cpus.push_back(cpu);
      node.cpus_free.clear();
    } else if (node.cpus_per_socket)
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
                         std::vector<model::CpuNumber>& cpus) {
    for (const bool far : {false, true})
      for (Amount core = first; core < last && count > 0; core += node.unit) {
        if (!far && !near.empty() && !near.contains(static_cast<int>(core))) continue;
        bool free = true;
        for (Amount cpu = core; cpu < core + node.unit; ++cpu)
          free = free && node.cpus_free.contains(static_cast<int>(cpu));
        for (Amount cpu = core; free && cpu < core + node.unit; ++cpu, --count) {
          cpus.push_back(cpu);
          node.cpus_free.erase(static_cast<int>(cpu));
        }
      }
  }

  bool may_split_ = false;  // shares of several devices serve one need
};

}  // namespace spur::sched
