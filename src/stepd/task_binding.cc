// SPDX-License-Identifier: Apache-2.0
#include "stepd/task_binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "text/decimal.h"

namespace spur::stepd {
namespace {

using Kind = text::CpuBind::Kind;
using Within = model::Distribution::Within;
using Places = std::vector<os::CpuPlace>;

// The step's CPUs, and whether they are known one by one.
std::pair<Places, bool> places_of(const BindingSource& source) {
  Places out;
  for (const auto cpu : source.cpus) {
    if (cpu >= source.map.cpus.size()) return {source.map.cpus, false};
    out.push_back(source.map.cpus[cpu]);
  }
  return {out, !out.empty()};
}

std::vector<std::uint32_t> numbers(const Places& places) {
  std::vector<std::uint32_t> out;
  for (const auto& place : places) out.push_back(place.os);
  std::ranges::sort(out);
  return out;
}

template <class Key>
std::size_t count_different(const Places& places, Key key) {
  std::set<decltype(key(places[0]))> seen;
  for (const auto& place : places) seen.insert(key(place));
  return seen.size();
}
auto core_of(const os::CpuPlace& p) {
  return std::pair(p.socket, p.core);
}
auto socket_of(const os::CpuPlace& p) {
  return p.socket;
}
auto numa_of(const os::CpuPlace& p) {
  return p.numa;
}

// A socket's CPUs in the order in which tasks take them: a thread of each core first, unless cores are filled one
// after the other (-m *:*:block) or every task takes whole cores.
Places ordered(Places places, Within cores, std::uint32_t per_task) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> seen;
  std::vector<std::pair<std::uint32_t, os::CpuPlace>> by_thread;
  std::uint32_t threads = 1;
  for (const auto& place : places) {
    by_thread.emplace_back(seen[core_of(place)]++, place);
    threads = std::max(threads, by_thread.back().first + 1);
  }
  if (cores == Within::Block || (per_task >= threads && cores != Within::FullCyclic)) return places;
  std::ranges::stable_sort(by_thread, {}, [](const auto& t) { return t.first; });
  Places out;
  for (const auto& [thread, place] : by_thread) out.push_back(place);
  return out;
}

// The CPUs of each task; nothing if there are not enough.
std::vector<Places> deal(const Places& places, const BindingSource& source, std::uint32_t per_task) {
  const bool spread = source.distribution.sockets == Within::FullCyclic;
  if (std::uint64_t{source.tasks} * per_task > places.size()) return {};
  std::vector<Places> sockets;
  std::map<std::uint32_t, std::size_t> at;
  for (const auto& place : places) {
    const auto [it, fresh] = at.emplace(place.socket, sockets.size());
    if (fresh) sockets.emplace_back();
    sockets[it->second].push_back(place);
  }
  for (Places& socket : sockets) {
    socket = ordered(std::move(socket), source.distribution.cores, spread ? 1 : per_task);
    std::ranges::reverse(socket);  // taken from the end
  }
  std::vector<Places> out(source.tasks);
  std::size_t next = 0;
  const auto seek = [&](std::size_t room) {
    for (std::size_t i = 0; i < sockets.size() && sockets[next].size() < room; ++i)
      next = (next + 1) % sockets.size();
    return sockets[next].size() >= room;
  };
  for (Places& task : out) {
    if (!spread) seek(per_task);
    while (task.size() < per_task) {
      seek(1);
      task.push_back(sockets[next].back());
      sockets[next].pop_back();
      if (spread) next = (next + 1) % sockets.size();
    }
    if (source.distribution.sockets != Within::Block && !spread) next = (next + 1) % sockets.size();
  }
  return out;
}

// All of the step's CPUs that share a socket, core or NUMA node with one of these.
template <class Key>
Places widen(const Places& places, const Places& all, Key key) {
  std::set<decltype(key(all[0]))> touched;
  for (const auto& place : places) touched.insert(key(place));
  Places out;
  for (const auto& place : all)
    if (touched.contains(key(place))) out.push_back(place);
  return out;
}

// The first of each core (or socket).
template <class Key>
Places one_of_each(const Places& places, Key key) {
  std::set<decltype(key(places[0]))> seen;
  Places out;
  for (const auto& place : places)
    if (seen.insert(key(place)).second) out.push_back(place);
  return out;
}

// What tasks are bound to is dealt out as a whole where there is enough of it, so that no two share it.
std::vector<Places> deal_entities(Kind entity, const Places& all, const BindingSource& source) {
  const std::uint32_t per_task = std::max(1u, source.cpus_per_task);
  const bool by_itself = source.cpu.kind == Kind::Auto;
  if (by_itself && entity == Kind::Sockets) return deal(one_of_each(all, socket_of), source, per_task);
  if (entity == Kind::Cores) {
    const Places cores = one_of_each(all, core_of);
    const auto threads = static_cast<std::uint32_t>(all.size() / cores.size());
    auto dealt = deal(cores, source, by_itself ? per_task : (per_task + threads - 1) / threads);
    if (!dealt.empty()) return dealt;
  }
  return deal(all, source, per_task);
}

Kind entity_of(const BindingSource& source, const Places& all) {
  if (source.cpu.kind != Kind::Auto) return source.cpu.kind;
  const std::uint64_t need = std::uint64_t{source.tasks} * std::max(1u, source.cpus_per_task);
  if (need == count_different(all, socket_of)) return Kind::Sockets;
  if (need == count_different(all, core_of)) return Kind::Cores;
  if (need == all.size()) return Kind::Threads;
  return Kind::Auto;
}

// Masks that follow from the layout.
std::vector<std::vector<std::uint32_t>> made_masks(const BindingSource& source, const Places& all) {
  const Kind entity = entity_of(source, all);
  const auto dealt = entity == Kind::Auto ? std::vector<Places>() : deal_entities(entity, all, source);
  std::vector<std::vector<std::uint32_t>> out;
  for (const Places& task : dealt) {
    if (entity == Kind::Sockets) out.push_back(numbers(widen(task, all, socket_of)));
    if (entity == Kind::Cores) out.push_back(numbers(widen(task, all, core_of)));
    if (entity == Kind::Ldoms) out.push_back(numbers(widen(task, all, numa_of)));
    if (entity == Kind::Threads) out.push_back(numbers(task));
  }
  if (out.empty()) out.push_back(numbers(all));
  return out;
}

// What the user listed, for a task.
std::vector<std::uint32_t> listed_mask(const BindingSource& source, const Places& all, std::uint32_t task) {
  const auto& bind = source.cpu;
  const auto item = [&]() -> const std::string& { return bind.list[task % bind.list.size()]; };
  const auto of_nodes = [&](const std::vector<std::uint32_t>& nodes) {
    Places out;
    for (const auto& place : all)
      if (std::ranges::find(nodes, place.numa) != nodes.end()) out.push_back(place);
    return numbers(out);
  };
  switch (bind.kind) {
    case Kind::Rank:
      return {all[task % all.size()].os};
    case Kind::MapCpu:
      return {text::parse_decimal32(item()).value_or(0)};
    case Kind::MaskCpu:
      return text::mask_bits(item());
    case Kind::MapLdom:
      return of_nodes({text::parse_decimal32(item()).value_or(0)});
    case Kind::MaskLdom:
      return of_nodes(text::mask_bits(item()));
    case Kind::RankLdom: {
      std::set<std::uint32_t> nodes;
      for (const auto& place : all) nodes.insert(place.numa);
      return of_nodes({*std::next(nodes.begin(), task % static_cast<std::uint32_t>(nodes.size()))});
    }
    default:
      return {};
  }
}

void tell(std::vector<std::string>& out, std::string_view name, bool verbose, std::string_view flags,
          std::string_view type, const std::string& list) {
  const std::string_view loud = verbose ? "verbose" : "quiet";
  out.push_back(fmt::format("SLURM_{}_BIND={},{}{}{}", name, loud, flags, type, list));
  out.push_back(fmt::format("SLURM_{}_BIND_VERBOSE={}", name, loud));
  out.push_back(fmt::format("SLURM_{}_BIND_TYPE={}", name, type));
  out.push_back(fmt::format("SLURM_{}_BIND_LIST={}", name, list));
}

std::string_view word_of(Kind kind) {
  switch (kind) {
    case Kind::None:
      return "NONE";
    case Kind::Rank:
      return "RANK";
    case Kind::MapCpu:
      return "MAP ";
    case Kind::RankLdom:
      return "LDRANK";
    case Kind::MapLdom:
      return "LDMAP ";
    case Kind::MaskLdom:
      return "LDMASK";
    default:
      return "MASK";
  }
}

Status bind_cpus(const BindingSource& source, StepBinding& out) {
  const auto [all, known] = places_of(source);
  const Kind kind = source.cpu.kind;
  if (source.cpu.verbose) out.cpu_word = word_of(kind);
  if (kind == Kind::None) {
    tell(out.environment, "CPU", source.cpu.verbose, "", "none", "");
    return {};
  }
  const std::string_view type = text::type_text(kind);
  if (type.empty()) {
    if (!known || all.empty()) return {};
    const auto masks = made_masks(source, all);
    std::string list;
    for (const auto& mask : masks) list += (list.empty() ? "" : ",") + text::mask_text(mask);
    tell(out.environment, "CPU", source.cpu.verbose, "", "mask_cpu:", list);
    for (std::size_t i = 0; i < out.tasks.size(); ++i) out.tasks[i].cpus = masks[i % masks.size()];
    return {};
  }
  if (all.empty()) return {};
  const auto allowed = numbers(all);
  for (std::uint32_t i = 0; i < out.tasks.size(); ++i) {
    out.tasks[i].cpus = listed_mask(source, all, i);
    if (out.tasks[i].cpus.empty() || !std::ranges::includes(allowed, out.tasks[i].cpus))
      return fail(ErrorCode::StepTooLarge,
                  fmt::format("CPU binding outside of job step allocation, allocated CPUs are: {}.",
                              text::mask_text(allowed)));
  }
  tell(out.environment, "CPU", source.cpu.verbose, "", type, fmt::format("{}", fmt::join(source.cpu.list, ",")));
  return {};
}

void bind_memory(const BindingSource& source, StepBinding& out) {
  using MemKind = text::MemBind::Kind;
  const auto& bind = source.mem;
  if (bind.sort) out.environment.push_back("SLURM_MEM_BIND_SORT=sort");
  if (bind.kind == MemKind::Unset) {
    if (!bind.prefer && !bind.sort) return;
    const std::string_view loud = bind.verbose ? "verbose" : "quiet";
    out.environment.push_back(fmt::format("SLURM_MEM_BIND={}{}", loud, bind.prefer ? ",prefer" : ""));
    out.environment.push_back(fmt::format("SLURM_MEM_BIND_VERBOSE={}", loud));
    for (const char* name : {"TYPE", "LIST"}) out.environment.push_back(fmt::format("SLURM_MEM_BIND_{}=", name));
    if (bind.prefer) out.environment.push_back("SLURM_MEM_BIND_PREFER=prefer");
    return;
  }
  std::set<std::uint32_t> nodes;
  for (const auto& place : source.map.cpus) nodes.insert(place.numa);
  for (std::uint32_t i = 0; i < out.tasks.size(); ++i) {
    TaskBinding& task = out.tasks[i];
    if (bind.kind == MemKind::Rank && !nodes.empty())
      task.memory_nodes = {*std::next(nodes.begin(), i % static_cast<std::uint32_t>(nodes.size()))};
    if (bind.kind == MemKind::MapMem)
      task.memory_nodes = {text::parse_decimal32(bind.list[i % bind.list.size()]).value_or(0)};
    if (bind.kind == MemKind::MaskMem) task.memory_nodes = text::mask_bits(bind.list[i % bind.list.size()]);
    if (bind.kind == MemKind::Local) {
      std::set<std::uint32_t> near;
      for (const auto& place : source.map.cpus)
        if (task.cpus.empty() || std::ranges::binary_search(task.cpus, place.os)) near.insert(place.numa);
      task.memory_nodes.assign(near.begin(), near.end());
    }
  }
  if (bind.verbose)
    out.mem_word = bind.kind == MemKind::None     ? "NONE"
                   : bind.kind == MemKind::Local  ? "LOC"
                   : bind.kind == MemKind::Rank   ? "RANK"
                   : bind.kind == MemKind::MapMem ? "MAP "
                                                  : "MASK";
  tell(out.environment, "MEM", bind.verbose, bind.prefer ? "prefer," : "", text::type_text(bind.kind),
       fmt::format("{}", fmt::join(bind.list, ",")));
  if (bind.prefer) out.environment.push_back("SLURM_MEM_BIND_PREFER=prefer");
}

// Positions of the GPUs that share a CPU with the task; both lists of CPUs are ascending.
std::vector<std::uint32_t> close_gpus(std::uint32_t count, const std::vector<std::vector<std::uint32_t>>& near,
                                      const std::vector<std::uint32_t>& cpus) {
  std::vector<std::uint32_t> all, out;
  for (std::uint32_t i = 0; i < count; ++i) {
    all.push_back(i);
    const bool anywhere = cpus.empty() || i >= near.size() || near[i].empty();
    const auto is_near = [&](std::uint32_t cpu) { return std::ranges::binary_search(near[i], cpu); };
    if (anywhere || std::ranges::any_of(cpus, is_near)) out.push_back(i);
  }
  return out.empty() ? all : out;
}

}  // namespace

Result<StepBinding> bind_tasks(const BindingSource& source) {
  StepBinding out;
  out.tasks.resize(source.tasks);
  SPUR_TRY(bind_cpus(source, out));
  bind_memory(source, out);
  return out;
}

Result<std::vector<std::vector<std::uint32_t>>> bind_gpus(const text::GpuBind& bind, std::uint32_t per_task,
                                                          const std::vector<std::uint32_t>& gpus, std::uint32_t tasks,
                                                          const std::vector<std::vector<std::uint32_t>>& near,
                                                          const std::vector<TaskBinding>& bound) {
  using GpuKind = text::GpuBind::Kind;
  std::vector<std::vector<std::uint32_t>> out;
  const auto count = static_cast<std::uint32_t>(gpus.size());
  const GpuKind kind = bind.kind == GpuKind::Unset && per_task > 0 ? GpuKind::PerTask : bind.kind;
  if (kind == GpuKind::Unset || kind == GpuKind::None || count == 0) return out;
  const std::uint32_t each = bind.kind == GpuKind::PerTask ? bind.count : per_task;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    std::vector<std::uint32_t> chosen;  // positions in gpus
    const auto close = close_gpus(count, near, i < bound.size() ? bound[i].cpus : std::vector<std::uint32_t>{});
    if (kind == GpuKind::Closest) chosen = close;
    if (kind == GpuKind::Single) chosen.push_back(close[i / bind.count % close.size()]);
    for (std::uint32_t k = 0; kind == GpuKind::PerTask && k < std::min(each, count); ++k)
      chosen.push_back((i * each + k) % count);
    if (kind == GpuKind::MapGpu)
      chosen.push_back(text::parse_decimal32(bind.list[i % bind.list.size()]).value_or(count));
    if (kind == GpuKind::MaskGpu) chosen = text::mask_bits(bind.list[i % bind.list.size()]);
    auto& task = out.emplace_back();
    for (const std::uint32_t position : chosen) {
      if (position >= count)
        return fail(ErrorCode::InvalidGres,
                    fmt::format("--gpu-bind names GPU {}, but the step has {} here", position, count));
      task.push_back(gpus[position]);
    }
    std::ranges::sort(task);
  }
  return out;
}

}  // namespace spur::stepd
