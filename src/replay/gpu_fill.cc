// SPDX-License-Identifier: Apache-2.0
#include "replay/gpu_fill.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "replay/gpu_engine.h"

namespace spur::replay {
namespace {

// Which pods come, in which order: all of the trace in random order, then more of them at random.
class Arrivals {
 public:
  Arrivals(std::size_t pods, std::uint64_t seed) : random_(seed), order_(pods) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t left = pods; left > 1; --left) std::swap(order_[left - 1], order_[below(left)]);
  }
  std::size_t next() { return at_ < order_.size() ? order_[at_++] : below(order_.size()); }

 private:
  // The bias of a remainder is below 2^-40 here, and it is the same everywhere, which a library's choice is not.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  std::mt19937_64 random_;
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
};

double in_gpus(std::uint64_t shares) {
  return static_cast<double>(shares) / sched::kWholeGpu;
}

}  // namespace

GpuFill fill_gpus(const std::vector<OpenbNode>& nodes, const std::vector<OpenbPod>& pods,
                  const GpuFillOptions& options, const Progress& progress) {
  GpuFill fill;
  GpuCluster cluster(nodes, pods, options.score);
  fill.capacity = in_gpus(cluster.gpu_capacity());
  const bool any = std::ranges::any_of(pods, [](const OpenbPod& pod) { return pod.gpus > 0; });
  const std::uint64_t wanted = any ? cluster.gpu_capacity() / 100 * options.percent : 0;
  std::uint64_t requested = 0;
  Arrivals arrivals(pods.size(), options.seed);
  std::optional<GpuEngine> engine;
  if (options.score == GpuScore::Engine) engine.emplace(nodes, pods);
  const auto place = [&](const OpenbPod& pod) {
    if (!engine) return cluster.place(cluster.shape_of(pod)).has_value();
    const auto placed = engine->place(pod);
    if (placed) cluster.put(cluster.shape_of(pod), *placed);
    return placed.has_value();
  };
  while (requested < wanted) {
    const OpenbPod& pod = pods[arrivals.next()];
    requested += std::uint64_t{pod.gpus} * pod.gpu_milli;
    ++fill.arrived;
    if (!place(pod)) ++fill.turned_away;
    if (fill.arrived % 32 == 0) {
      fill.curve.push_back({in_gpus(requested), in_gpus(cluster.gpu_allocated())});
      if (progress) progress(static_cast<double>(requested) / static_cast<double>(wanted));
    }
  }
  fill.requested = in_gpus(requested);
  fill.allocated = in_gpus(cluster.gpu_allocated());
  fill.curve.push_back({fill.requested, fill.allocated});
  fill.fragmented = cluster.fragmented(sched::Measure::AllCopies) / sched::kWholeGpu;
  fill.fragmented_fgd = cluster.fragmented(sched::Measure::OneCopy) / sched::kWholeGpu;
  fill.idle_gpus = cluster.idle_gpus();
  fill.idle_node_gpus = cluster.idle_node_gpus();
  return fill;
}

}  // namespace spur::replay
