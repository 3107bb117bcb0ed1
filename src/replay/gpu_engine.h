// SPDX-License-Identifier: Apache-2.0
// Pods of a GPU trace as jobs of a cluster, placed one by one by the engine itself (sched/engine.h): what a site's
// own GPU jobs would meet. A pod that does not start at once is turned away.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replay/gpu_cluster.h"
#include "replay/openb.h"
#include "sched/engine.h"
#include "sched/world.h"

namespace spur::replay {

class GpuEngine {
 public:
  // CPUs are counted in the largest unit that all nodes and pods are multiples of (or nearly, so that no node has
  // more of them than a grant can number).
  GpuEngine(const std::vector<OpenbNode>& nodes, const std::vector<OpenbPod>& pods);

  std::optional<GpuCluster::Place> place(const OpenbPod& pod);

 private:
  std::shared_ptr<const model::JobSpec> spec_of(const OpenbPod& pod);

  std::uint32_t cpu_unit_;
  sched::World world_;
  sched::Engine engine_;
  std::map<std::string, std::shared_ptr<const model::JobSpec>> specs_;
  std::uint32_t next_id_ = 1;
};

}  // namespace spur::replay
