// SPDX-License-Identifier: Apache-2.0
// What GPU jobs usually ask for, and how much worse a node becomes for them: the measure of fragmentation.h on the
// engine's rows. The mix is that of all jobs that wait or run, so it depends on the view alone; engine.cc keeps the
// counts up to date. Jobs that ask for GPUs in several ways, or for none, are not part of it; but they, too, are
// placed by it: CPUs and memory that they take away make GPUs useless. (On openb that is worth 1.8 % of all GPUs.)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "model/view.h"
#include "sched/fragmentation.h"
#include "sched/node_layout.h"
#include "sched/request.h"

namespace spur::sched {

// At most so many shapes, the most popular ones: every choice of a node looks at all of them.
inline constexpr std::size_t kMostPopular = 32;

// What a job asks of one of its nodes; nothing if it has no GPUs or has them in several ways. `share_unit`: shares
// that a whole device has (share_unit_of).
std::optional<GpuShape> gpu_shape(const model::ClusterConfig& config, const Columns& columns,
                                  const model::JobSpec& spec, Amount share_unit);
// Shares of the first GPU that is shared; 0: none is.
Amount share_unit_of(const model::View& view);

// How many jobs ask for what.
class PopularGpus {
 public:
  PopularGpus(const model::View& view, const Columns& columns);

  // A job came (1) or went (-1); an array that waits counts for all its tasks.
  void count(const model::Job& job, int sign);
  // True if the mix is another one than at the last call.
  bool take_changed() { return std::exchange(changed_, false); }
  std::vector<GpuShape> shapes() const;

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, std::uint32_t, std::uint32_t, std::uint64_t>;
  const model::ClusterConfig& config_;
  const Columns& columns_;
  Amount share_unit_;
  bool changed_ = true;
  std::map<Key, std::uint64_t> jobs_;
};

// A node as the measure sees it; nothing if it has no GPUs.
std::optional<GpuNode> gpu_node(const NodeLayout& layout, bool memory_counts, const Amount* row);

// What the measure says of giving the node so much of the job: less is better.
struct GpuPart {
  Amount cpus = 0, memory = 0;
  std::uint32_t whole = 0;            // devices
  std::vector<std::uint32_t> shares;  // of a device each, in thousandths: from the one with the least beyond
};
std::int64_t growth(const GpuNode& node, const GpuPart& part, const std::vector<GpuShape>& popular);

}  // namespace spur::sched
