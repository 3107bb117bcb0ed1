// SPDX-License-Identifier: Apache-2.0
// All that a job says about GRES, and what follows from it for tasks, nodes, CPUs and memory: GPUs per job, node,
// task or socket say something about each other, and so do tasks, CPUs and memory per GPU. request.cc calls it once
// the plain sizes are set.
#pragma once

#include "base/result.h"
#include "model/view.h"
#include "sched/request.h"

namespace spur::sched {

// Fills the GRES part of the request. InvalidGres names what does not exist or contradicts itself.
Status add_gres(const model::View& view, const Columns& columns, const model::JobSpec& spec, Request& request);

}  // namespace spur::sched
