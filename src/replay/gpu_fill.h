// SPDX-License-Identifier: Apache-2.0
// How full of GPU work a cluster can be made: pods of a trace arrive in random order, stay, and are turned away where
// they do not fit, until the GPUs asked for reach a multiple of what there is. The measure by which GPU schedulers
// are published.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/gpu_cluster.h"
#include "replay/outcome.h"

namespace spur::replay {

struct GpuFillOptions {
  std::uint64_t seed = 1;
  std::uint32_t percent = 130;  // of the GPUs there are; the trace is sampled again where it has too few
  GpuScore score = GpuScore::Fragmentation;
};

struct GpuFill {
  std::size_t arrived = 0, turned_away = 0;
  double requested = 0, capacity = 0, allocated = 0;  // GPUs
  double fragmented = 0, fragmented_fgd = 0;          // GPUs, of those not allocated; as published
  std::uint32_t idle_gpus = 0, idle_node_gpus = 0;
  double allocated_percent() const { return capacity > 0 ? 100 * allocated / capacity : 0; }
  struct Point {
    double requested = 0, allocated = 0;  // GPUs, so far
  };
  std::vector<Point> curve;
};

GpuFill fill_gpus(const std::vector<OpenbNode>& nodes, const std::vector<OpenbPod>& pods,
                  const GpuFillOptions& options, const Progress& progress = {});

}  // namespace spur::replay
