// SPDX-License-Identifier: Apache-2.0
// What a job takes of one node's devices and sockets: how much of a GRES is free in a row, which devices are chosen,
// and from which sockets the CPUs come. feasibility.cc asks; the answers depend on the layout and the row alone.
#pragma once

#include <cstdint>

#include "sched/capacity.h"
#include "sched/request.h"

namespace spur::sched {

// One node's part of a placed job.
struct Share {
  NodeNumber node = 0;
  std::uint32_t tasks = 0;
  JobGres job_gres{};
  friend bool operator==(const Share&, const Share&) = default;
};

// How often `need.count` is there. Shares of one lot come from one device; `apart`: and no two lots from the same.
Amount lots_free(const Request& request, const GresNeed& need, const NodeLayout& layout, const Amount* total,
                 const Amount* row, bool apart);
// Of a need per job: the most the node can give. Shares come from one device, unless the site lets them come from
// several.
Amount most_on_node(const Request& request, const GresNeed& need, const NodeLayout& layout, const Amount* total,
                    const Amount* row);
// Devices that are wholly free, and what is free of counted GRES.
Amount free_gres(const NodeLayout& layout, const Amount* total, const Amount* row);
// Whole devices that the shares per node would begin: 1 if no device in use has them, else 0.
Amount devices_to_break(const Request& request, const NodeLayout& layout, const Amount* total, const Amount* row);

// Takes all GRES of the share and returns the sockets near the devices, a bit each (all, if no device says). Of GPUs
// those on `rails` first (device_choice.h).
std::uint64_t take_gres(const Request& request, const NodeLayout& layout, const Amount* total, const Share& share,
                        std::uint64_t rails, const Amount* row, Amount* take);
// The GPUs that are wholly free, a bit each.
std::uint64_t free_gpus(const NodeLayout& layout, const Amount* total, const Amount* row);

// CPUs of the cores that so many tasks need, where a core takes only so many threads or tasks. With a limit per
// socket every task has cores of its own, so that it does not matter which socket it is on.
Amount cpus_in_cores(const Request& request, Amount unit, Amount tasks);
// Tasks that the cores and sockets in `row` take, out of `cpus`.
Amount tasks_by_cores(const Request& request, const NodeLayout& layout, const Amount* row, Amount cpus);

// Splits take[kCpu] over the sockets: those near first, there the one that fits best, else the emptiest first.
// `row` is the least that is free during the run. A socket may have less then than the node as a whole has, because
// plans for later name sockets that can still be changed; so what is missing comes from what is free now, and, for
// plans about later, from what the socket has.
struct SocketRows {
  const Amount* free_now;
  const Amount* total;
  const Amount* row;
};
void take_sockets(const NodeLayout& layout, const SocketRows& rows, std::uint64_t near, Amount* take);
// The same with -m *:cyclic: a core of each socket in turn, near ones first. Where tasks need several cores (`each`
// CPUs), those sockets come first that hold a whole task, one after the other.
void take_sockets_in_turn(const NodeLayout& layout, const SocketRows& rows, std::uint64_t near, Amount each,
                          Amount* take);
// Before that: the tasks of a request with a limit per socket, near sockets first, then in order.
void take_tasks_by_socket(const Request& request, const NodeLayout& layout, const SocketRows& rows,
                          std::uint32_t tasks, std::uint64_t near, Amount* take);

}  // namespace spur::sched
