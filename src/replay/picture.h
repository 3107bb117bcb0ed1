// SPDX-License-Identifier: Apache-2.0
// A schedule as a picture: jobs as boxes over time and processors, below it how busy the machine is and how many
// wait. Plain SVG without scripts or fonts of its own; any browser shows it.
#pragma once

#include <string>

#include "replay/gpu_fill.h"
#include "replay/outcome.h"
#include "replay/workload.h"

namespace spur::replay {

std::string draw(const Workload& workload, const Outcome& outcome);
// GPUs in use over GPUs asked for.
std::string draw(const GpuFill& fill);

}  // namespace spur::replay
