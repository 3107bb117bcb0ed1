// SPDX-License-Identifier: Apache-2.0
#include "agent/step_ledger.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "model/distribution.h"

namespace spur::agent {
namespace {

using Per = model::GresRequest::Per;
constexpr std::uint64_t kPlenty = std::numeric_limits<std::uint32_t>::max();

bool matches(const model::GresRequest& wish, const model::DeviceGrant& have) {
  return wish.name == have.gres && (wish.type.empty() || wish.type == have.type);
}

}  // namespace

// What one node has for the step, and how it is taken.
struct StepLedger::Look {
  const Node& node;
  const StepAsk& ask;
  bool as_if_idle;

  bool free(std::size_t cpu) const { return as_if_idle || !node.used[cpu]; }

  // CPUs that the step may have, whole cores only: two steps do not share a core.
  std::vector<model::CpuNumber> free_cpus() const {
    std::vector<model::CpuNumber> out;
    for (std::size_t i = 0; i < node.cpus.size();) {
      const std::uint32_t core = node.cpus[i] / node.threads_per_core;
      std::size_t end = i;
      bool all_free = true;
      for (; end < node.cpus.size() && node.cpus[end] / node.threads_per_core == core; ++end)
        all_free = all_free && free(end);
      if (all_free)
        out.insert(out.end(), node.cpus.begin() + static_cast<std::ptrdiff_t>(i),
                   node.cpus.begin() + static_cast<std::ptrdiff_t>(end));
      i = end;
    }
    if (!ask.exact && out.size() < node.cpus.size()) out.clear();  // all or nothing
    return out;
  }

  std::uint64_t devices_free(const model::GresRequest& wish) const {
    std::uint64_t sum = 0;
    for (const Device& d : node.pool)
      if (matches(wish, node.devices[d.grant])) sum += as_if_idle ? d.all : d.left;
    return sum;
  }

  bool all_devices_free() const {
    return as_if_idle || std::ranges::all_of(node.pool, [](const Device& d) { return d.left == d.all; });
  }

  // Where memory is not handed out to jobs it is not to steps, either.
  std::uint64_t memory_free() const {
    return node.memory_mib == 0 ? kPlenty : as_if_idle ? node.memory_mib : node.memory_left;
  }

  // How many tasks find room; 0: the step cannot use the node.
  std::uint32_t room() const {
    const std::uint64_t cpus = free_cpus().size();
    std::uint64_t tasks = ask.overcommit ? (cpus > 0 ? kPlenty : 0) : cpus / ask.cpus_per_task;
    if (ask.max_tasks_per_node > 0) tasks = std::min<std::uint64_t>(tasks, ask.max_tasks_per_node);
    if (ask.memory_per_node_mib > memory_free()) return 0;
    if (ask.memory_per_cpu_mib > 0)
      tasks = std::min(tasks, memory_free() / (ask.memory_per_cpu_mib * std::max(1u, ask.cpus_per_task)));
    if (!ask.gres) return all_devices_free() ? static_cast<std::uint32_t>(tasks) : 0;
    for (const auto& wish : *ask.gres) {
      const std::uint64_t have = devices_free(wish);
      if (wish.per == Per::Task && wish.count > 0) tasks = std::min(tasks, have / wish.count);
      const bool some = wish.per == Per::Job || wish.per == Per::Socket;  // any will do
      if ((wish.per == Per::Node && have < wish.count) || (some && wish.count > 0 && have == 0)) return 0;
    }
    return static_cast<std::uint32_t>(tasks);
  }

  // `count` of what is free, from the lowest numbers on; false if there is less. What is taken of which device is
  // added up in `taken`, which is beside the pool.
  bool take(const model::GresRequest& wish, std::uint64_t count, std::vector<std::uint32_t>& taken) const {
    for (std::size_t i = 0; i < node.pool.size() && count > 0; ++i) {
      const Device& d = node.pool[i];
      if (!matches(wish, node.devices[d.grant])) continue;
      const std::uint32_t left = (as_if_idle ? d.all : d.left) - taken[i];
      const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, count));
      taken[i] += part;
      count -= part;
    }
    return count == 0;
  }

  // Of the CPUs that are free, as many as the tasks need, in whole cores.
  bool cut_cpus(std::uint32_t tasks, std::uint64_t gpus, std::vector<model::CpuNumber>& cpus) const {
    std::uint64_t need = ask.overcommit ? 1 : std::uint64_t{tasks} * ask.cpus_per_task;
    need = std::max(need, ask.cpus_per_gpu * gpus);
    if (need > cpus.size()) return false;
    while (need < cpus.size() && cpus[need] / node.threads_per_core == cpus[need - 1] / node.threads_per_core) ++need;
    cpus.resize(need);
    return true;
  }

  std::vector<model::DeviceGrant> devices_of(const std::vector<std::uint32_t>& taken) const {
    std::vector<model::DeviceGrant> out;
    std::vector<std::size_t> of_grant(node.devices.size(), SIZE_MAX);
    for (std::size_t i = 0; i < node.pool.size(); ++i) {
      if (taken[i] == 0) continue;
      const Device& d = node.pool[i];
      if (of_grant[d.grant] == SIZE_MAX) {
        of_grant[d.grant] = out.size();
        out.push_back({node.devices[d.grant].gres, node.devices[d.grant].type, {}, {}});
      }
      auto& grant = out[of_grant[d.grant]];
      grant.indices.push_back(d.index);
      if (!node.devices[d.grant].shares.empty()) grant.shares.push_back(taken[i]);
    }
    return out;
  }
};

StepLedger::StepLedger(const std::vector<model::LaunchPart>& parts) {
  for (const model::LaunchPart& part : parts) {
    Node node;
    node.cpus = part.cpus;
    std::ranges::sort(node.cpus);
    node.used.resize(node.cpus.size());
    node.threads_per_core = std::max(1u, part.threads_per_core);
    node.memory_mib = node.memory_left = part.memory_mib;
    node.devices = part.devices;
    for (std::size_t g = 0; g < part.devices.size(); ++g)
      for (std::size_t i = 0; i < part.devices[g].indices.size(); ++i) {
        const std::uint32_t all = part.devices[g].shares.empty() ? 1 : part.devices[g].shares[i];
        node.pool.push_back({g, part.devices[g].indices[i], all, all});
      }
    nodes_.push_back(std::move(node));
  }
}

namespace {

// Which of the candidates: those that must be, then the first with room; if they have not enough together, those that
// have the most.
std::vector<std::size_t> choose(const StepAsk& ask, const std::vector<std::uint32_t>& room) {
  std::vector<std::size_t> chosen, rest;
  for (std::size_t i = 0; i < ask.nodes.size(); ++i)
    if (i < ask.required)
      chosen.push_back(i);
    else if (room[i] > 0)
      rest.push_back(i);
  const std::size_t more = ask.node_count - chosen.size();
  if (rest.size() < more) return {};
  const auto sum = [&](std::size_t count) {
    std::uint64_t out = 0;
    for (const std::size_t i : chosen) out += room[i];
    for (std::size_t k = 0; k < count; ++k) out += room[rest[k]];
    return out;
  };
  if (sum(more) < ask.tasks)
    std::ranges::stable_sort(rest, [&](std::size_t a, std::size_t b) { return room[a] > room[b]; });
  chosen.insert(chosen.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(more));
  std::ranges::sort(chosen, {}, [&](std::size_t i) { return ask.nodes[i]; });
  return chosen;
}

// The tasks of each of the chosen, or nothing if they do not fit.
std::vector<std::uint32_t> deal(const StepAsk& ask, const std::vector<std::size_t>& chosen,
                                const std::vector<std::uint32_t>& room) {
  std::vector<std::uint32_t> of_chosen;
  for (const std::size_t i : chosen) of_chosen.push_back(room[i]);
  if (!ask.tasks_per_node.empty()) {
    std::vector<std::uint32_t> out;
    for (const std::size_t i : chosen) {
      if (ask.tasks_per_node[i] > room[i]) return {};
      out.push_back(ask.tasks_per_node[i]);
    }
    return out;
  }
  const auto fits = std::accumulate(of_chosen.begin(), of_chosen.end(), std::uint64_t{0});
  if (fits < ask.tasks || std::ranges::find(of_chosen, 0u) != of_chosen.end()) return {};
  // Where anything fits, rather evenly than all on the first.
  const auto even = static_cast<std::uint32_t>((ask.tasks + chosen.size() - 1) / chosen.size());
  if (ask.overcommit && ask.distribution.pack.value_or(false) == false)
    for (auto& r : of_chosen) r = std::min(r, even);
  return model::deal_tasks(ask.distribution, ask.tasks, of_chosen);
}

}  // namespace

// The devices of a node's share, out of `left` (beside ask.gres: of numbers for the whole step, what nodes before
// have not taken). False: they are not there. `gpus`: how many of the devices are GPUs.
bool StepLedger::take_devices(const Look& look, std::uint32_t tasks, std::size_t nodes_after,
                              std::vector<std::uint64_t>& left, StepShare& share, std::uint64_t& gpus) {
  std::vector<std::uint32_t> taken(look.node.pool.size());
  const StepAsk& ask = look.ask;
  if (!ask.gres)
    for (std::size_t i = 0; i < taken.size(); ++i) taken[i] = look.node.pool[i].all;
  for (std::size_t g = 0; ask.gres && g < ask.gres->size(); ++g) {
    const auto& wish = (*ask.gres)[g];
    std::uint64_t count = wish.count;
    if (wish.per == Per::Task) count *= tasks;
    if (wish.per == Per::Socket) count = look.devices_free(wish);  // a step is on all sockets that the job has
    if (wish.per == Per::Job) {
      // Every node gets one at least, and as many as its tasks are of all.
      const std::uint64_t even = std::max<std::uint64_t>(1, wish.count * tasks / ask.tasks);
      const std::uint64_t most = left[g] > nodes_after ? left[g] - nodes_after : 0;
      count = nodes_after == 0 ? left[g] : std::min({even, most, look.devices_free(wish)});
      left[g] -= count;
    }
    if (!look.take(wish, count, taken)) return false;
    if (wish.name == "gpu") gpus += count;
  }
  share.devices = look.devices_of(taken);
  return true;
}

Result<std::vector<StepShare>> StepLedger::try_grant(const StepAsk& ask, bool as_if_idle) const {
  const auto busy = [] { return fail(ErrorCode::NodesBusy, "Requested nodes are busy"); };
  std::vector<std::uint32_t> room;
  for (const std::size_t n : ask.nodes) room.push_back(Look{nodes_[n], ask, as_if_idle}.room());
  const auto chosen = choose(ask, room);
  if (chosen.empty()) return busy();
  const auto tasks = deal(ask, chosen, room);
  if (tasks.empty()) return busy();
  std::vector<std::uint64_t> left;
  if (ask.gres)
    for (const auto& wish : *ask.gres) left.push_back(wish.count);
  std::vector<StepShare> out;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    if (tasks[k] == 0) continue;  // packed: the node is not needed
    const Look look{nodes_[ask.nodes[chosen[k]]], ask, as_if_idle};
    StepShare share{
        .node = ask.nodes[chosen[k]], .tasks = tasks[k], .cpus = look.free_cpus(), .memory_mib = 0, .devices = {}};
    std::uint64_t gpus = 0;
    if (!take_devices(look, tasks[k], chosen.size() - k - 1, left, share, gpus)) return busy();
    if (ask.exact && !look.cut_cpus(tasks[k], gpus, share.cpus)) return busy();
    share.memory_mib = ask.memory_per_node_mib;
    if (ask.memory_per_cpu_mib > 0)
      share.memory_mib = std::min(ask.memory_per_cpu_mib * share.cpus.size(), look.memory_free());
    out.push_back(std::move(share));
  }
  return out;
}

void StepLedger::book(Node& node, const StepShare& share, bool take) {
  for (const auto cpu : share.cpus) {
    const auto at = static_cast<std::size_t>(std::ranges::lower_bound(node.cpus, cpu) - node.cpus.begin());
    SPUR_CHECK(node.used[at] != take);
    node.used[at] = take;
  }
  if (node.memory_mib > 0) {
    SPUR_CHECK(!take || share.memory_mib <= node.memory_left);
    node.memory_left += take ? -share.memory_mib : share.memory_mib;
  }
  for (const auto& grant : share.devices)
    for (std::size_t i = 0; i < grant.indices.size(); ++i)
      for (Device& d : node.pool) {
        const auto& of_job = node.devices[d.grant];
        if (of_job.gres != grant.gres || of_job.type != grant.type || d.index != grant.indices[i]) continue;
        const std::uint32_t amount = grant.shares.empty() ? 1 : grant.shares[i];
        SPUR_CHECK(take ? amount <= d.left : d.left + amount <= d.all);
        d.left += take ? -amount : amount;
      }
}

Result<std::vector<StepShare>> StepLedger::grant(std::uint32_t step, const StepAsk& ask) {
  SPUR_CHECK(!ask.nodes.empty() && ask.required <= ask.node_count && ask.node_count <= ask.nodes.size());
  SPUR_CHECK(ask.tasks >= ask.node_count && ask.node_count > 0 && ask.cpus_per_task > 0);
  for (const std::size_t n : ask.nodes) {
    SPUR_CHECK(n < nodes_.size());
    if (nodes_[n].memory_mib > 0 && ask.memory_per_node_mib > nodes_[n].memory_mib)
      return fail(ErrorCode::InvalidMemory, "Memory required by task is not available");
  }
  auto alone = try_grant(ask, true);
  if (!alone) {
    StepAsk bare = ask;
    bare.gres.emplace();
    return ask.gres && try_grant(bare, true)
               ? fail(ErrorCode::InvalidGres, "Invalid generic resource (gres) specification")
               : fail(ErrorCode::StepTooLarge, "More processors requested than permitted");
  }
  if (ask.overlap) return alone;
  auto out = try_grant(ask, false);
  if (!out) return out;
  hold(step, *out);
  return out;
}

void StepLedger::hold(std::uint32_t step, std::vector<StepShare> shares) {
  for (const StepShare& share : shares) book(nodes_[share.node], share, true);
  SPUR_CHECK(held_.emplace(step, std::move(shares)).second);
}

void StepLedger::give_back(std::uint32_t step) {
  const auto it = held_.find(step);
  if (it == held_.end()) return;
  for (const StepShare& share : it->second) book(nodes_[share.node], share, false);
  held_.erase(it);
}

}  // namespace spur::agent
