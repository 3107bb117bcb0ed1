// SPDX-License-Identifier: Apache-2.0
// Pods of a trace at the times they came, on GPU nodes: each is placed at once where it fits, or waits and is tried
// again, in the order of arrival, whenever one has left. A pod that waits does not keep others from passing it: the
// trace does not say how long pods were meant to run.
#pragma once

#include <vector>

#include "replay/gpu_cluster.h"
#include "replay/outcome.h"
#include "replay/workload.h"

namespace spur::replay {

struct GpuReplay {
  // Beside each other, as for `measure` and `draw`: "processors" are thousandths of a GPU. Users are numbers of
  // `qos`.
  Workload work;
  Outcome outcome;
  std::vector<std::string> qos;
  std::size_t without_time = 0;                    // pods that never ran
  double allocated_mean = 0, fragmented_mean = 0;  // GPUs, over time
  double idle_gpus_mean = 0, idle_node_gpus_mean = 0;
  std::uint32_t idle_node_gpus_least = 0;
};

GpuReplay replay_gpus(const std::vector<OpenbNode>& nodes, const std::vector<OpenbPod>& pods, GpuScore score,
                      const Progress& progress = {});

}  // namespace spur::replay
