// SPDX-License-Identifier: Apache-2.0
// Which tasks of a job are on which of its nodes (-m). How many is settled by placement.h.
#pragma once

#include <vector>

#include "model/allocation.h"
#include "sched/request.h"

namespace spur::sched {

// Fills NodeGrant::task_ids where the numbers do not simply follow each other from node to node.
void number_tasks(const Request& request, std::vector<model::NodeGrant>& nodes);

}  // namespace spur::sched
