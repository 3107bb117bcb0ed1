// SPDX-License-Identifier: Apache-2.0
// A GPU cluster that pods are placed in one by one, each where fragmentation grows least (sched/fragmentation.h).
// Scores are kept per shape and node and made anew only for nodes that changed, so that a pod costs one look at each
// node's score.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "replay/openb.h"
#include "sched/fragmentation.h"

namespace spur::replay {

enum class GpuScore : std::uint8_t {
  Fragmentation,  // the default
  OneCopy,        // the measure as published (FGD)
  BestFit,        // the node with the least left over, CPUs and GPUs alike
  Engine,         // as the engine decides (gpu_engine.h)
};

class GpuCluster {
 public:
  GpuCluster(const std::vector<OpenbNode>& nodes, const std::vector<OpenbPod>& typical, GpuScore score);

  struct Place {
    std::uint32_t node = 0;
    std::uint64_t devices = 0;
  };
  using ShapeNumber = std::uint32_t;
  ShapeNumber shape_of(const OpenbPod& pod);
  // Nothing: it fits nowhere now.
  std::optional<Place> place(ShapeNumber shape);
  // Where somebody else has decided.
  void put(ShapeNumber shape, const Place& place);
  void remove(ShapeNumber shape, const Place& place);

  std::uint64_t gpu_capacity() const { return capacity_; }  // in shares, as the next two
  std::uint64_t gpu_allocated() const { return allocated_; }
  // Idle share that popular requests cannot use, on average over them.
  double fragmented(sched::Measure measure) const;
  // The largest gang of jobs with whole GPUs that could start: idle whole GPUs, and those on wholly idle nodes.
  std::uint32_t idle_gpus() const;
  std::uint32_t idle_node_gpus() const;
  std::size_t node_count() const { return nodes_.size(); }
  std::size_t popular_count() const { return scorer_.popular().size(); }

 private:
  struct Score {
    std::uint32_t seen = ~std::uint32_t{0};  // version of the node
    bool fits = false;
    std::int64_t key = 0;  // less is better
    std::uint64_t devices = 0;
  };

  std::vector<sched::GpuShape> shapes_of(const std::vector<OpenbPod>& pods);
  sched::GpuShape make_shape(const OpenbPod& pod);
  std::uint32_t model_number(const std::string& model);
  void look(const sched::GpuShape& shape, std::uint32_t node, Score& score);

  GpuScore kind_;
  std::map<std::string, std::uint32_t, std::less<>> models_;
  std::vector<sched::GpuNode> nodes_;
  std::vector<std::uint32_t> version_;  // beside nodes_
  std::vector<std::uint32_t> whole_;    // beside nodes_: GPUs of it
  std::vector<sched::GpuShape> shapes_;
  sched::GpuScorer scorer_;
  std::map<std::vector<std::uint64_t>, ShapeNumber> shape_numbers_;
  std::vector<std::vector<Score>> scores_;  // by shape and node
  std::uint64_t capacity_ = 0, allocated_ = 0;
};

}  // namespace spur::replay
