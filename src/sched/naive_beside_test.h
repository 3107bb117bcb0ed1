// SPDX-License-Identifier: Apache-2.0
// The naive scheduler's view of cores that several jobs have: who shares which, and what a job finds beside the others.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "model/core_sharing.h"
#include "sched/naive_choice_test.h"

namespace spur::sched {

class NaiveBeside : protected NaiveChoice {
 protected:
  using NaiveChoice::NaiveChoice;

  struct Core {
    std::size_t jobs = 0;
    Time until{};
  };
  // By the first CPU: cores of which all CPUs belong to those that share with the job.
  std::map<Amount, Core> cores_beside(const Sharer& who) const {
    std::map<Amount, Core> cores;
    const Node& node = nodes_[who.node];
    const auto kept = kept_for_the_system(node.record->hardware);
    for (Amount first = 0; first + node.unit <= Amount{node.record->hardware.cpus}; first += node.unit) {
      Core core;
      bool whole = true;
      for (Amount cpu = first; cpu < first + node.unit; ++cpu) {
        std::size_t jobs = 0;
        for (const Sharer& other : sharers_)
          if (other.shares_with(who) && other.cpus.contains(static_cast<model::CpuNumber>(cpu)))
            ++jobs, core.until = std::max(core.until, other.until);
        whole = whole && jobs > 0 && !kept.contains(static_cast<int>(cpu));
        core.jobs = std::max(core.jobs, jobs);
      }
      if (whole) cores[first] = core;
    }
    return cores;
  }
  bool promised(std::uint32_t n, Time to) const {
    return std::ranges::any_of(held_, [&](const Held& held) {
      if (held.node != n || !held.planned_for || held.from >= to || held.to <= now_) return false;
      return !held.closes() || Reservations::matters(*model::find_reservation(view_, held.reservation), entry_);
    });
  }
  // Those that one more job may have until then, if no core is to have more than `most`.
  std::map<Amount, Core> open_cores(const Sharer& who, Time to, std::size_t most) const {
    auto cores = cores_beside(who);
    const bool last_long = promised(who.node, to);
    std::erase_if(cores, [&](const auto& core) {
      return core.second.jobs >= most || (last_long && core.second.until < to);
    });
    return cores;
  }
  Amounts idle_beside(const Sharer& who, Time to, std::size_t most) const {
    Amounts free = free_during(who.node, now_, to);
    if (!nodes_[who.node].cpus_per_socket || open_cores(who, to, most).empty()) return free;
    Amount sum = 0;
    for (const auto& [s, cpus] : free.socket) sum += cpus;
    for (auto socket = free.socket.rbegin(); socket != free.socket.rend(); ++socket)
      while (sum > free.cpu && socket->second > 0) --sum, --socket->second;
    free.cpu = sum;
    return free;
  }
  Amounts free_beside(const Sharer& who, Time to, std::size_t most) const {
    const Node& node = nodes_[who.node];
    Amounts free = idle_beside(who, to, most);
    for (const auto& [first, core] : open_cores(who, to, most)) {
      free.cpu += node.unit;
      if (node.cpus_per_socket) free.socket[static_cast<int>(first / node.cpus_per_socket)] += node.unit;
    }
    return free;
  }
  // What of `take` is not idle comes from others: the cores with the fewest jobs first. `take` is left with the rest.
  std::map<Amount, Core> take_beside(const Sharer& who, Time to, std::size_t most, Amounts& take) const {
    const Node& node = nodes_[who.node];
    const Amounts idle = idle_beside(who, to, most);
    std::vector<std::tuple<std::size_t, Amount, Core>> order;
    for (const auto& [first, core] : open_cores(who, to, most)) order.emplace_back(core.jobs, first, core);
    std::ranges::sort(order, {}, [](const auto& one) { return std::pair(std::get<0>(one), std::get<1>(one)); });
    std::map<Amount, Core> taken;
    for (const auto& [jobs, first, core] : order) {
      const int socket = node.cpus_per_socket ? static_cast<int>(first / node.cpus_per_socket) : 0;
      Amount& here = node.cpus_per_socket ? take.socket[socket] : take.cpu;
      const Amount has = !node.cpus_per_socket ? idle.cpu : idle.socket.contains(socket) ? idle.socket.at(socket) : 0;
      if (here <= has) continue;
      here -= node.unit;
      if (node.cpus_per_socket) take.cpu -= node.unit;
      taken[first] = core;
    }
    return taken;
  }
};

}  // namespace spur::sched
