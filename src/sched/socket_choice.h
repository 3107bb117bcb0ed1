// SPDX-License-Identifier: Apache-2.0
// Requests that are bound to sockets: with --gres-flags=enforce-binding CPUs come only from sockets near the GPUs,
// with --gpus-per-socket every socket of the job gives that many. A set of sockets is chosen, and the node's row is
// cut down to what these have; feasibility.cc then goes on as always. On nodes where sockets have no columns
// (node_layout.h) every CPU is near every device.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/capacity.h"
#include "sched/node_shares.h"
#include "sched/request.h"

namespace spur::sched {

bool is_bound_to_sockets(const Request& request, const NodeLayout& layout);

// The row with nothing left of other sockets and of what is near them alone; false: the sockets do not have what
// each has to give.
bool cut_to_sockets(const Request& request, const NodeLayout& layout, std::uint64_t sockets, const Amount* total,
                    std::vector<Amount>& row);

// GPUs, whole ones or those that shares come from, of so much of the job.
Amount gpus_wanted(const Request& request, Amount tasks, const JobGres& job_gres);

// Of a job that is bound to its GPUs, on these sockets with so many of them: leaves just those in the row, of each
// socket one at least; false: a socket has none, or there would be more sockets than GPUs.
bool cover_sockets(const Request& request, const NodeLayout& layout, std::uint64_t sockets, Amount gpus,
                   const Amount* total, std::vector<Amount>& row);

// Sets of sockets that may do, those with few first. Some, if there are very many.
std::vector<std::uint64_t> socket_sets(const Request& request, const NodeLayout& layout);

}  // namespace spur::sched
