// SPDX-License-Identifier: Apache-2.0
#include "sched/fragmentation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <numeric>
#include <tuple>

#include "base/check.h"

namespace spur::sched {
namespace {

// All that the measure needs to know of a node's GPUs: they are alike, so their order does not matter.
struct Shares {
  std::array<std::uint32_t, kMostGpus> sorted;  // ascending
  std::size_t count = 0;
  std::uint64_t idle = 0;  // sum

  explicit Shares(const std::vector<std::uint32_t>& free) : count(free.size()) {
    SPUR_CHECK(count <= kMostGpus);
    std::ranges::copy(free, sorted.begin());
    std::sort(sorted.begin(), sorted.begin() + count);
    for (std::size_t i = 0; i < count; ++i) idle += sorted[i];
  }
  // Takes `share` from one GPU that has `from` left.
  void take(std::uint32_t from, std::uint32_t share) {
    auto at = std::lower_bound(sorted.begin(), sorted.begin() + count, from);
    const auto left = std::lower_bound(sorted.begin(), at, from - share);
    std::move_backward(left, at, at + 1);
    *left = from - share;
    idle -= share;
  }
};

struct Left {
  std::int64_t cpu, memory;
  std::uint64_t model_bit;
  const Shares& shares;
};

// A shape's part of the fragmentation, without its weight.
std::uint64_t fragment_for(const GpuShape& shape, const Left& left, Measure measure) {
  const Shares& shares = left.shares;
  if (shape.gpus == 0 || shape.cpu > left.cpu || shape.memory > left.memory || !(shape.models & left.model_bit))
    return shares.idle;
  const std::uint32_t* const end = shares.sorted.data() + shares.count;
  const std::uint32_t* usable = std::lower_bound(shares.sorted.data(), end, shape.share);
  std::int64_t copies = (end - usable) / shape.gpus;
  if (copies == 0) return shares.idle;
  if (measure == Measure::AllCopies) {
    if (shape.cpu > 0) copies = std::min(copies, left.cpu / shape.cpu);
    if (shape.memory > 0) copies = std::min(copies, left.memory / shape.memory);
    usable = end - copies * shape.gpus;  // those with most left
  }
  return std::accumulate(shares.sorted.data(), usable, std::uint64_t{0});
}

std::int64_t sum(std::span<const GpuShape> popular, const Left& left, Measure measure) {
  std::uint64_t total = 0;
  for (const GpuShape& shape : popular) total += shape.weight * fragment_for(shape, left, measure);
  return static_cast<std::int64_t>(total);
}

std::uint64_t bit_of(std::uint32_t model) {
  return std::uint64_t{1} << (model % 64);
}

bool same(const GpuShape& a, const GpuShape& b) {
  return std::tie(a.cpu, a.memory, a.gpus, a.share, a.models) == std::tie(b.cpu, b.memory, b.gpus, b.share, b.models);
}

}  // namespace

bool fits(const GpuNode& node, const GpuShape& shape) {
  if (shape.cpu > node.cpu || shape.memory > node.memory) return false;
  if (shape.gpus == 0) return true;
  if (!(shape.models & bit_of(node.model))) return false;
  const auto enough = [&](std::uint32_t free) { return free >= shape.share; };
  return std::ranges::count_if(node.free, enough) >= static_cast<std::ptrdiff_t>(shape.gpus);
}

std::int64_t fragmentation(const GpuNode& node, std::span<const GpuShape> popular, Measure measure) {
  const Shares shares(node.free);
  return sum(popular, {node.cpu, node.memory, bit_of(node.model), shares}, measure);
}

std::optional<GpuChoice> choose_devices(const GpuNode& node, const GpuShape& shape, std::span<const GpuShape> popular,
                                        Measure measure) {
  if (!fits(node, shape)) return std::nullopt;
  const Shares before(node.free);
  const std::uint64_t model_bit = bit_of(node.model);
  const std::int64_t was = sum(popular, {node.cpu, node.memory, model_bit, before}, measure);
  const auto growth_of = [&](const Shares& after) {
    return sum(popular, {node.cpu - shape.cpu, node.memory - shape.memory, model_bit, after}, measure) - was;
  };
  GpuChoice best;
  if (shape.gpus == 0) {
    best.growth = growth_of(before);
    return best;
  }
  if (shape.gpus == 1) {
    // One device of each amount left is enough to look at: the fullest first, of equal ones the lowest number.
    std::uint32_t last = ~std::uint32_t{0};
    for (std::size_t i = 0; i < before.count; ++i) {
      const std::uint32_t free = before.sorted[i];
      if (free < shape.share || free == last) continue;
      last = free;
      Shares after = before;
      after.take(free, shape.share);
      const std::int64_t growth = growth_of(after);
      if (best.devices != 0 && growth >= best.growth) continue;
      best.devices = std::uint64_t{1} << (std::ranges::find(node.free, free) - node.free.begin());
      best.growth = growth;
    }
    return best;
  }
  // Several devices: those that have least left beyond what is needed, so that whole ones stay whole.
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < node.free.size(); ++i)
    if (node.free[i] >= shape.share) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return node.free[i]; });
  Shares after = before;
  for (std::uint32_t i = 0; i < shape.gpus; ++i) {
    best.devices |= std::uint64_t{1} << order[i];
    after.take(node.free[order[i]], shape.share);
  }
  best.growth = growth_of(after);
  return best;
}

std::optional<GpuChoice> GpuScorer::choose(const GpuNode& node, const GpuShape& shape) {
  if (!fits(node, shape)) return std::nullopt;
  const auto add = [&](const auto& value) { key_.append(reinterpret_cast<const char*>(&value), sizeof value); };
  key_.clear();
  add(node.cpu), add(node.memory), add(node.model);
  add(shape.cpu), add(shape.memory), add(shape.gpus), add(shape.share), add(shape.models);
  for (const std::uint32_t free : node.free) add(free);
  if (const auto at = known_.find(key_); at != known_.end()) return at->second;
  if (known_.size() >= kMostRemembered) known_.clear();
  ++worked_out_;
  return known_.emplace(key_, *choose_devices(node, shape, popular_, measure_)).first->second;
}

void take(GpuNode& node, const GpuShape& shape, std::uint64_t devices) {
  SPUR_CHECK(node.cpu >= shape.cpu && node.memory >= shape.memory);
  node.cpu -= shape.cpu;
  node.memory -= shape.memory;
  for (std::uint64_t left = devices; left != 0; left &= left - 1) {
    std::uint32_t& free = node.free[static_cast<std::size_t>(std::countr_zero(left))];
    SPUR_CHECK(free >= shape.share);
    free -= shape.share;
  }
}

void give_back(GpuNode& node, const GpuShape& shape, std::uint64_t devices) {
  node.cpu += shape.cpu;
  node.memory += shape.memory;
  for (std::uint64_t left = devices; left != 0; left &= left - 1)
    node.free[static_cast<std::size_t>(std::countr_zero(left))] += shape.share;
}

std::vector<GpuShape> popular_shapes(std::vector<GpuShape> requests, std::uint32_t percent) {
  const auto key = [](const GpuShape& s) { return std::tie(s.gpus, s.share, s.cpu, s.memory, s.models); };
  std::ranges::sort(requests, [&](const GpuShape& a, const GpuShape& b) { return key(a) < key(b); });
  std::vector<GpuShape> shapes;
  std::uint64_t all = 0;
  for (const GpuShape& request : requests) {
    all += request.weight;
    if (!shapes.empty() && same(shapes.back(), request))
      shapes.back().weight += request.weight;
    else
      shapes.push_back(request);
  }
  std::ranges::stable_sort(shapes, std::greater<>(), &GpuShape::weight);
  std::uint64_t covered = 0;
  std::size_t keep = 0;
  while (keep < shapes.size() && covered * 100 < all * percent) covered += shapes[keep++].weight;
  shapes.resize(keep);
  return shapes;
}

}  // namespace spur::sched
