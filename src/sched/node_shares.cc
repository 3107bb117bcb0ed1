// SPDX-License-Identifier: Apache-2.0
#include "sched/node_shares.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "sched/device_choice.h"

namespace spur::sched {
namespace {

// Calls each(column) for the single devices that the need may use as shares.
template <class Each>
void for_shared(const GresNeed& need, const NodeLayout& layout, Each each) {
  for (const GresId id : need.gres) {
    const auto& span = layout.spans[id];
    if (span.columns == 0 || span.counted || layout.groups[span.group].shared_as != need.shares_of) continue;
    for (std::size_t c = span.first; c < span.first + span.columns; ++c) each(c);
  }
}

Amount whole_free(const GresNeed& need, const NodeLayout& layout, const Amount* total, const Amount* row) {
  Amount found = 0;
  for (const GresId id : need.gres) {
    const auto& span = layout.spans[id];
    if (span.counted) {
      found += row[span.first];
      continue;
    }
    for (std::size_t c = span.first; c < span.first + span.columns; ++c) found += row[c] >= total[c];
  }
  return found;
}

// The device that has room for `count` shares and the least beyond (`spread`: the most); 0: none.
std::size_t best_device(const GresNeed& need, const NodeLayout& layout, Amount count, const Amount* row,
                        const Amount* take, bool apart, bool spread) {
  std::size_t best = 0;
  for_shared(need, layout, [&](std::size_t c) {
    const Amount left = row[c] - take[c];
    if (left < count || (apart && take[c] > 0)) return;
    const Amount of_best = best == 0 ? 0 : row[best] - take[best];
    if (best == 0 || (spread ? left > of_best : left < of_best)) best = c;
  });
  return best;
}

// From one device if one has them all, else, where that is allowed, from those that have most.
void take_shares(const Request& request, const GresNeed& need, const NodeLayout& layout, Amount count, bool apart,
                 const Amount* row, Amount* take) {
  if (count == 0) return;
  if (const std::size_t device = best_device(need, layout, count, row, take, apart, request.spread_shares)) {
    take[device] += count;
    return;
  }
  while (request.shares_of_several && count > 0) {
    const std::size_t device = best_device(need, layout, 1, row, take, apart, true);
    if (device == 0) break;
    const Amount here = std::min(count, row[device] - take[device]);
    take[device] += here;
    count -= here;
  }
  SPUR_CHECK_MSG(count == 0, "a share fits into the row it was made for");
}

std::uint64_t wholly_free(const DeviceGroup& group, const Amount* total, const Amount* row) {
  std::uint64_t mask = 0;
  for (std::size_t d = 0; d < group.devices.size(); ++d)
    if (row[group.devices[d].column] >= total[group.devices[d].column]) mask |= std::uint64_t{1} << d;
  return mask;
}

// All wishes of a share for whole devices, by the group that serves them.
class WholeDevices {
 public:
  WholeDevices(const NodeLayout& layout, const Amount* total, const Amount* row, Amount* take)
      : layout_(layout), total_(total), row_(row), take_(take) {}

  void add(const GresNeed& need, Amount count) {
    for (const GresId id : need.gres) {
      const auto& span = layout_.spans[id];
      if (!span.counted) continue;
      const Amount here = std::min(count, row_[span.first] - take_[span.first]);
      if (here <= 0) continue;
      take_[span.first] += here;
      count -= here;
    }
    if (count == 0) return;
    for (std::uint32_t g = 0; g < layout_.groups.size(); ++g) {
      const std::uint64_t allowed = mask_of(need, g);
      if (allowed == 0) continue;
      SPUR_CHECK(wishes_ < wish_.size());
      group_[wishes_] = g;
      wish_[wishes_++] = {allowed, static_cast<std::uint32_t>(count)};
      return;
    }
    SPUR_CHECK_MSG(false, "a share fits into the row it was made for");
  }

  // Chooses for all groups; returns the sockets near what was chosen.
  std::uint64_t take(std::uint64_t rails) {
    std::uint64_t near = 0;
    for (std::uint32_t g = 0; g < layout_.groups.size(); ++g) {
      std::array<DeviceWish, kMostWishes> wishes;
      std::size_t count = 0;
      for (std::size_t w = 0; w < wishes_; ++w)
        if (group_[w] == g) wishes[count++] = wish_[w];
      if (count == 0) continue;
      const DeviceGroup& group = layout_.groups[g];
      std::uint64_t chosen = choose_devices(group, wholly_free(group, total_, row_), {wishes.data(), count},
                                            group.name == "gpu" ? rails : kAllRails);
      SPUR_CHECK_MSG(chosen != 0, "a share fits into the row it was made for");
      for (; chosen != 0; chosen &= chosen - 1) {
        const Device& device = group.devices[static_cast<std::size_t>(std::countr_zero(chosen))];
        take_[device.column] += device.capacity;
        near |= device.sockets;
      }
    }
    return near;
  }

 private:
  static constexpr std::size_t kMostWishes = 16;

  std::uint64_t mask_of(const GresNeed& need, std::uint32_t group) const {
    std::uint64_t mask = 0;
    const auto& devices = layout_.groups[group].devices;
    for (std::size_t d = 0; d < devices.size(); ++d)
      if (std::ranges::find(need.gres, devices[d].gres) != need.gres.end()) mask |= std::uint64_t{1} << d;
    return mask;
  }

  const NodeLayout& layout_;
  const Amount* total_;
  const Amount* row_;
  Amount* take_;
  std::array<DeviceWish, kMostWishes> wish_;
  std::array<std::uint32_t, kMostWishes> group_{};
  std::size_t wishes_ = 0;
};

}  // namespace

Amount lots_free(const Request& request, const GresNeed& need, const NodeLayout& layout, const Amount* total,
                 const Amount* row, bool apart) {
  if (!need.is_shares()) return whole_free(need, layout, total, row) / need.count;
  Amount lots = 0;
  if (request.shares_of_several && !apart) {
    for_shared(need, layout, [&](std::size_t c) { lots += std::max<Amount>(0, row[c]); });
    return lots / need.count;
  }
  for_shared(need, layout, [&](std::size_t c) {
    const Amount here = std::max<Amount>(0, row[c]) / need.count;
    lots += apart ? std::min<Amount>(here, 1) : here;
  });
  return lots;
}

Amount most_on_node(const Request& request, const GresNeed& need, const NodeLayout& layout, const Amount* total,
                    const Amount* row) {
  if (!need.is_shares()) return whole_free(need, layout, total, row);
  Amount most = 0;
  for_shared(need, layout, [&](std::size_t c) {
    most = request.shares_of_several ? most + std::max<Amount>(0, row[c]) : std::max(most, row[c]);
  });
  return most;
}

Amount free_gres(const NodeLayout& layout, const Amount* total, const Amount* row) {
  Amount free = 0;
  for (const auto& group : layout.groups)
    for (const auto& device : group.devices) free += row[device.column] >= total[device.column];
  for (const auto& counted : layout.counted) free += row[counted.column];
  return free;
}

Amount devices_to_break(const Request& request, const NodeLayout& layout, const Amount* total, const Amount* row) {
  Amount broken = 0;
  for (const auto& need : request.gres_per_node) {
    if (!need.is_shares()) continue;
    bool begun = false;
    for_shared(need, layout, [&](std::size_t c) { begun |= row[c] < total[c] && row[c] >= need.count; });
    broken += begun ? 0 : 1;
  }
  return broken;
}

std::uint64_t free_gpus(const NodeLayout& layout, const Amount* total, const Amount* row) {
  const DeviceGroup* group = layout.group("gpu");
  return group ? wholly_free(*group, total, row) : 0;
}

std::uint64_t take_gres(const Request& request, const NodeLayout& layout, const Amount* total, const Share& share,
                        std::uint64_t rails, const Amount* row, Amount* take) {
  const auto tasks = std::max<Amount>(1, share.tasks);
  WholeDevices whole(layout, total, row, take);
  std::uint64_t near = 0;
  const auto note_near = [&](const GresNeed& need) {
    for (const GresId id : need.gres)
      for (const auto& group : layout.groups)
        for (const auto& device : group.devices)
          if (device.gres == id && take[device.column] > 0) near |= device.sockets;
  };
  for (const auto& need : request.gres_per_node)
    need.is_shares() ? take_shares(request, need, layout, need.count, false, row, take)
                     : whole.add(need, need.count);
  for (const auto& need : request.gres_per_task) {
    if (!need.is_shares()) whole.add(need, need.count * tasks);
    for (Amount t = 0; t < tasks && need.is_shares(); ++t)
      take_shares(request, need, layout, need.count, request.one_task_per_device, row, take);
  }
  for (std::size_t i = 0; i < request.gres_per_job.size(); ++i) {
    const auto& need = request.gres_per_job[i];
    if (need.is_shares())
      take_shares(request, need, layout, share.job_gres[i], false, row, take);
    else if (share.job_gres[i] > 0)
      whole.add(need, share.job_gres[i]);
  }
  for (const auto* needs : {&request.gres_per_node, &request.gres_per_task, &request.gres_per_job})
    for (const auto& need : *needs)
      if (need.is_shares()) note_near(need);
  near |= whole.take(rails);
  return near == 0 ? ~std::uint64_t{0} : near;
}

Amount cpus_in_cores(const Request& request, Amount unit, Amount tasks) {
  const Amount threads = request.threads > 0 ? std::min(request.threads, unit) : unit;
  const auto cores = [&](Amount cpus) { return (cpus + threads - 1) / threads; };
  if (request.tasks_per_socket > 0) return tasks * cores(request.cpus_per_task) * unit;
  Amount needed = cores(tasks * request.cpus_per_task);
  if (request.tasks_per_core == 1) needed = tasks * cores(request.cpus_per_task);
  if (request.tasks_per_core > 0)
    needed = std::max(needed, (tasks + request.tasks_per_core - 1) / request.tasks_per_core);
  return needed * unit;
}

Amount tasks_by_cores(const Request& request, const NodeLayout& layout, const Amount* row, Amount cpus) {
  const Amount each = cpus_in_cores(request, layout.unit, 1);
  if (request.overcommit && request.tasks_per_socket == 0) return cpus >= each ? kNoLimit : 0;
  if (request.tasks_per_socket == 0) {
    const Amount cores = cpus / layout.unit;
    const Amount threads = request.threads > 0 ? std::min(request.threads, layout.unit) : layout.unit;
    const Amount tasks = request.tasks_per_core == 1 ? cpus / each : cores * threads / request.cpus_per_task;
    return request.tasks_per_core > 0 ? std::min(tasks, cores * request.tasks_per_core) : tasks;
  }
  const auto on_socket = [&](Amount free) {
    if (free < each) return Amount{0};
    return request.overcommit ? request.tasks_per_socket : std::min(request.tasks_per_socket, free / each);
  };
  Amount tasks = 0;
  if (layout.first_socket)
    for (std::uint32_t s = 0; s < layout.sockets; ++s) tasks += on_socket(row[layout.first_socket + s]);
  else if (layout.sockets > 1)  // a core each
    tasks = row[Columns::kCpu] / layout.unit * on_socket(layout.unit);
  else
    tasks = on_socket(row[Columns::kCpu]);
  // Fewer than the sockets have where the partition or the memory bounds them.
  if (request.overcommit) return cpus >= each ? tasks : 0;
  return std::min(tasks, cpus / each);
}

void take_tasks_by_socket(const Request& request, const NodeLayout& layout, const SocketRows& rows,
                          std::uint32_t tasks, std::uint64_t near, Amount* take) {
  const Amount each = cpus_in_cores(request, layout.unit, 1);
  Amount left = request.overcommit ? 1 : std::max<Amount>(1, tasks);
  for (const bool of_near : {true, false})
    for (std::uint32_t s = 0; s < layout.sockets && left > 0; ++s) {
      if (((near >> s & 1) != 0) != of_near) continue;
      const std::size_t c = layout.first_socket + s;
      const Amount here =
          std::min({left, request.tasks_per_socket, std::max<Amount>(0, rows.row[c] - take[c]) / each});
      take[c] += here * each;
      left -= here;
    }
}

namespace {

Amount cpus_left(const NodeLayout& layout, const Amount* take) {
  Amount left = take[Columns::kCpu];
  for (std::uint32_t s = 0; s < layout.sockets; ++s) left -= take[layout.first_socket + s];
  return left;
}

// What the row does not have of single sockets though it has it in all.
void take_missing(const NodeLayout& layout, const SocketRows& rows, Amount left, Amount* take) {
  for (const Amount* most : {rows.free_now, rows.total})
    for (std::uint32_t s = 0; s < layout.sockets && left > 0; ++s) {
      const std::size_t c = layout.first_socket + s;
      const Amount here = std::clamp<Amount>(most[c] - take[c], 0, left);
      take[c] += here;
      left -= here;
    }
}

}  // namespace

void take_sockets(const NodeLayout& layout, const SocketRows& rows, std::uint64_t near, Amount* take) {
  Amount left = cpus_left(layout, take);
  const auto at = [&](std::uint32_t socket) { return layout.first_socket + socket; };
  for (const bool of_near : {true, false}) {
    while (left > 0) {
      std::size_t best = 0;
      const auto room = [&](std::size_t c) { return rows.row[c] - take[c]; };
      for (std::uint32_t s = 0; s < layout.sockets; ++s) {
        const std::size_t c = at(s);
        if (((near >> s & 1) != 0) != of_near || room(c) <= 0) continue;
        if (best == 0) {
          best = c;
          continue;
        }
        const bool fits = room(c) >= left, best_fits = room(best) >= left;
        if (fits != best_fits ? fits : fits ? room(c) < room(best) : room(c) > room(best)) best = c;
      }
      if (best == 0) break;
      const Amount here = std::min(left, room(best));
      take[best] += here;
      left -= here;
    }
  }
  take_missing(layout, rows, left, take);
}

void take_sockets_in_turn(const NodeLayout& layout, const SocketRows& rows, std::uint64_t near, Amount each,
                          Amount* take) {
  Amount left = cpus_left(layout, take);
  const auto room = [&](std::uint32_t s) {
    return rows.row[layout.first_socket + s] - take[layout.first_socket + s];
  };
  const auto give = [&](std::uint32_t s, Amount most) {
    const Amount here = std::min({left, most, room(s)});
    if (here <= 0) return false;
    take[layout.first_socket + s] += here;
    left -= here;
    return true;
  };
  for (const bool of_near : {true, false}) {
    const auto here = [&](std::uint32_t s) { return ((near >> s & 1) != 0) == of_near; };
    for (std::uint32_t s = 0; s < layout.sockets && each > layout.unit && left > 0; ++s)
      if (here(s) && room(s) >= each) give(s, left);
    for (bool some = true; left > 0 && some;) {
      some = false;
      for (std::uint32_t s = 0; s < layout.sockets && left > 0; ++s) some |= here(s) && give(s, layout.unit);
    }
  }
  take_missing(layout, rows, left, take);
}

}  // namespace spur::sched
