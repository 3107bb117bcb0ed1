// SPDX-License-Identifier: Apache-2.0
// How much of a node's idle GPU capacity popular requests cannot use, and by how much a placement makes that worse.
// Placing each job where this grows least keeps GPUs usable for the jobs that usually come ("fragmentation gradient
// descent"). Pure; integers only, so that no rounding makes ties: equal states compare equal on every machine.
//
// For a node and a popular shape: if the shape needs no GPU or cannot run there, all idle GPU capacity of the node is
// a fragment; else what is idle on GPUs that it cannot use. Published as FGD, a GPU is of use if it has as much left
// as the shape needs of each (Measure::OneCopy). That does not see CPUs and memory run out: four idle GPUs with CPUs
// for one more job count as four. Measure::AllCopies asks how many GPUs are in use when as many copies of the shape
// as CPUs, memory and devices allow have come, each on devices of its own. It fills clusters further
// (docs/decisions/0006). A node's fragmentation is the sum over the shapes, each times its weight.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace spur::sched {

// Units are the caller's (CPUs or thousandths of them, MiB), as long as nodes and shapes agree. A GPU is
// kWholeGpu shares.
inline constexpr std::uint32_t kWholeGpu = 1000;
inline constexpr std::size_t kMostGpus = 64;  // of one node

// What a job asks of one node.
struct GpuShape {
  std::int64_t cpu = 0, memory = 0;
  std::uint32_t gpus = 0;        // devices
  std::uint32_t share = 0;       // of each; kWholeGpu or less
  std::uint64_t models = ~0ull;  // bit per GPU model that will do
  std::uint64_t weight = 1;      // popularity: how many ask for it
};

// What is free on one node.
struct GpuNode {
  std::int64_t cpu = 0, memory = 0;
  std::uint32_t model = 0;          // number of its GPUs' model, below 64
  std::vector<std::uint32_t> free;  // per GPU, in shares
};

bool fits(const GpuNode& node, const GpuShape& shape);

enum class Measure : std::uint8_t { AllCopies, OneCopy };
std::int64_t fragmentation(const GpuNode& node, std::span<const GpuShape> popular,
                           Measure measure = Measure::AllCopies);

// Where on a node a shape goes, and what that does to its fragmentation (less is better; may be negative).
struct GpuChoice {
  std::uint64_t devices = 0;  // a bit each
  std::int64_t growth = 0;
};
// The devices with the least growth; of equal ones the fullest, then the lowest number. Nothing if it does not fit.
std::optional<GpuChoice> choose_devices(const GpuNode& node, const GpuShape& shape, std::span<const GpuShape> popular,
                                        Measure measure = Measure::AllCopies);

// The same with a memory. Nodes of a cluster are mostly in few states (idle, full, one of the usual mixtures), so
// even with 100,000 of them few choices have to be worked out.
class GpuScorer {
 public:
  explicit GpuScorer(std::vector<GpuShape> popular, Measure measure = Measure::AllCopies)
      : popular_(std::move(popular)), measure_(measure) {}

  std::optional<GpuChoice> choose(const GpuNode& node, const GpuShape& shape);
  std::span<const GpuShape> popular() const { return popular_; }
  std::uint64_t worked_out() const { return worked_out_; }  // how often nothing was remembered

 private:
  static constexpr std::size_t kMostRemembered = 1u << 20;  // then all is forgotten: memory stays bounded
  std::vector<GpuShape> popular_;
  Measure measure_;
  std::unordered_map<std::string, GpuChoice> known_;  // look-up only; by what a choice depends on
  std::string key_;
  std::uint64_t worked_out_ = 0;
};

void take(GpuNode& node, const GpuShape& shape, std::uint64_t devices);
void give_back(GpuNode& node, const GpuShape& shape, std::uint64_t devices);

// The shapes that make up `percent` of all requests, the most popular first; equal shapes are joined. Order of the
// input does not matter.
std::vector<GpuShape> popular_shapes(std::vector<GpuShape> requests, std::uint32_t percent = 95);

}  // namespace spur::sched
