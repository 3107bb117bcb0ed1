// SPDX-License-Identifier: Apache-2.0
// The naive scheduler's view of jobs that are bound to sockets: every set of sockets of a node, with what it has.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sched/naive_world_test.h"

namespace spur::sched {

class NaiveSockets : protected NaiveWorld {
 protected:
  NaiveSockets(const model::View& view, Time now) : NaiveWorld(view, now), columns_(view) {}

  bool wanted(const GresNeed& need, const std::string& name, const std::string& type) const {
    for (const auto id : need.gres)
      if (columns_.gres_name(id) == name && columns_.gres_type(id) == type) return true;
    return false;
  }
  // Whether it matters which sockets the job is on.
  bool is_bound(const Request& request, const Node& node) const {
    if (!node.cpus_per_socket || node.devices.empty() || request.exclusive) return false;
    bool per_socket = false;
    for (const auto& need : request.gres_per_node) per_socket = per_socket || need.per_socket > 0;
    return per_socket || (request.bind_to_gres && request.wants_gres());
  }
  static bool is_near(const Device& device, const std::set<int>& sockets) {
    return device.sockets.empty() ||
           std::ranges::any_of(device.sockets, [&](int s) { return sockets.contains(s); });
  }
  // What these sockets have, and the devices near them; nothing if one lacks what each has to give.
  std::optional<Amounts> cut_to(const Request& request, const Node& node, const std::set<int>& sockets,
                                Amounts free) const {
    Amount cpus = 0;
    for (auto& [s, left] : free.socket) cpus += std::max<Amount>(0, left = sockets.contains(s) ? left : 0);
    free.cpu = std::min(free.cpu, cpus);
    for (auto& [name, left] : free.device)
      if (request.bind_to_gres && !is_near(node.devices.at(name), sockets)) left = 0;
    for (const auto& need : request.gres_per_node) {
      if (need.per_socket == 0) continue;
      std::set<DeviceName> kept;
      std::map<int, Amount> missing;
      for (const int s : sockets) missing[s] = need.per_socket;
      for (const bool of_one : {true, false})
        for (const int s : sockets)
          for (const auto& [name, device] : node.devices) {
            const std::size_t near = device.sockets.empty() ? node.total.socket.size() : device.sockets.size();
            if (missing[s] == 0 || !wanted(need, name.first, device.type) || !is_near(device, {s})) continue;
            if ((near == 1) != of_one || free.device.at(name) < node.total.device.at(name)) continue;
            if (kept.insert(name).second) --missing[s];
          }
      for (const auto& [s, count] : missing)
        if (count > 0) return {};
      for (auto& [name, left] : free.device)
        if (wanted(need, name.first, node.devices.at(name).type) && !kept.contains(name)) left = 0;
    }
    return free;
  }
  Amount gpus_wanted(const Request& request, Amount tasks, const std::vector<Amount>& job_gres) const {
    Amount gpus = 0;
    const auto add = [&](const GresNeed& need, Amount count, Amount lots) {
      gpus += need.is_shares() ? (count > 0 ? lots : 0) : need.is_gpu ? count * lots : 0;
    };
    for (const auto& need : request.gres_per_node) add(need, need.count, 1);
    for (const auto& need : request.gres_per_task) add(need, need.count, std::max<Amount>(1, tasks));
    for (std::size_t i = 0; i < job_gres.size(); ++i) add(request.gres_per_job[i], job_gres[i], 1);
    return gpus;
  }
  // Just so many GPUs, of each socket one at least; nothing if that cannot be.
  std::optional<Amounts> covered(const Request& request, const Node& node, const std::set<int>& sockets, Amount gpus,
                                 Amounts free) const {
    if (!request.bind_to_gres || sockets.size() == 1) return free;
    if (gpus < static_cast<Amount>(sockets.size())) return {};
    std::vector<const GresNeed*> needs;
    for (const auto* list : {&request.gres_per_node, &request.gres_per_task, &request.gres_per_job})
      for (const auto& need : *list)
        if (need.is_gpu || need.is_shares()) needs.push_back(&need);
    if (needs.size() != 1 || needs[0]->is_shares()) return free;
    std::set<DeviceName> kept;
    const auto keep_one = [&](const std::set<int>& near) {
      for (const auto& [name, device] : node.devices)
        if (wanted(*needs[0], name.first, device.type) && is_near(device, near) &&
            free.device.at(name) >= node.total.device.at(name) && kept.insert(name).second)
          return true;
      return false;
    };
    for (const int s : sockets)
      if (!keep_one({s})) return {};
    while (static_cast<Amount>(kept.size()) < gpus)
      if (!keep_one(sockets)) return {};
    for (auto& [name, left] : free.device)
      if (wanted(*needs[0], name.first, node.devices.at(name).type) && !kept.contains(name)) left = 0;
    return free;
  }
  // All sets of sockets that may do, few first, with what they have.
  using Cuts = std::vector<std::pair<std::set<int>, Amounts>>;
  Cuts cuts(const Request& request, const Node& node, const Amounts& free) const {
    Cuts out;
    const auto count = static_cast<unsigned>(node.total.socket.size());
    for (unsigned size = 1; size <= count; ++size)
      for (unsigned mask = 1; mask < 1u << count; ++mask) {
        std::set<int> sockets;
        for (unsigned s = 0; s < count; ++s)
          if (mask >> s & 1) sockets.insert(static_cast<int>(s));
        bool right = sockets.size() == size;
        for (const auto& need : request.gres_per_node)
          right = right && (need.per_socket == 0 || need.count == need.per_socket * static_cast<Amount>(size));
        if (!right) continue;
        if (auto cut = cut_to(request, node, sockets, free)) out.emplace_back(sockets, *std::move(cut));
      }
    return out;
  }

  Columns columns_;
};

}  // namespace spur::sched
