// SPDX-License-Identifier: Apache-2.0
// Which CPUs a node's GPUs are near to (Cores of gres.conf, or what the agent found), from the agent to step daemons:
// for --gpu-bind=closest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/node.h"
#include "os/cpu_map.h"

namespace spur::os {

// The cores of each GPU in the order in which grants number them: "0-3;0-3;;4-7". Nothing: near to all. Empty if
// that is so for all of them.
std::string encode_gpu_cores(const std::vector<model::NodeGres>& in_force);
// The same as the kernel's numbers of CPUs, ascending. A GPU with cores that the machine does not have is near to all.
std::vector<std::vector<std::uint32_t>> decode_gpu_cpus(std::string_view text, const CpuMap& map);

}  // namespace spur::os
